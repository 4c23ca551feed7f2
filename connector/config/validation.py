"""Validation of a connector's configuration as ``PUT /connector-plugins/{p}/config/validate`` and POST do it.

This module does no I/O: the caller runs the preflight and adds its findings with :meth:`Validation.with_error`. The texts are those of
Kafka Connect 4.3 and of the emulated Debezium version. Refusals of unsupported values have texts of this project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from connector.config.keys import (
    ALIASES,
    BY_NAME,
    CONNECTOR_CLASS,
    DEFAULT_VERSION,
    FORMER_VALUES,
    KEYS,
    BadVersionError,
    Key,
    groups,
    keys_in,
    select_version,
)
from connector.config.keys.clients import override_keys
from connector.config.keys.converters import SIDES, converter_class, converter_keys, converter_mismatch
from connector.config.keys.plugin_classes import class_version, find_any_class
from connector.config.keys.transforms import step_keys
from connector.configdef.kafka_validators import NULL_VALUE
from connector.configdef.key import Alias
from connector.configdef.value import shown_value, unreadable
from connector.emulation import emulation_of
from connector.java.trim import trim

CONNECTION_KEY: Final = "database.hostname"
"""The property to which errors of the preflight belong, as in Debezium."""


_CONNECTION_NEEDS: Final = frozenset(
    {"topic.prefix", "plugin.name", "slot.name", *(f"database.{name}" for name in ("hostname", "port", "user", "password", "dbname"))}
)


_STRICT_UNLISTED: Final = tuple(key for key in KEYS if key.strict and key.read_only)


@dataclass(frozen=True, slots=True)
class FieldValidation:
    """The validation of one property. ``key`` is None for an unknown property with a null value.

    ``value`` is the value that Connect shows: the text that was read for its own properties, None for all of the connector's.
    """

    name: str
    key: Key | None
    value: str | None
    errors: tuple[str, ...]
    recommended: tuple[str, ...]
    visible: bool
    warnings: tuple[str, ...] = ()
    """Problems that do not refuse the configuration; Connect's answers have no field for them."""


@dataclass(frozen=True, slots=True)
class Validation:
    """The validation of one configuration: fields and groups in Connect's order, and the emulated version.

    ``notices`` are lines for the log about former names in use.
    """

    fields: tuple[FieldValidation, ...]
    groups: tuple[str, ...]
    version: str
    notices: tuple[str, ...] = ()

    @property
    def error_count(self) -> int:
        """The number of errors; a property may have several."""
        return sum(len(field.errors) for field in self.fields)

    @property
    def may_connect(self) -> bool:
        """Whether to connect to the database, by Debezium's rules. Errors of Connect's own properties do not matter.

        In 3.6.3 no property of the connector may have errors, in 2.3.4 none that a connection needs.
        """
        known = any(field.key and not field.key.framework for field in self.fields)
        return known and not (self.wrong & _CONNECTION_NEEDS if emulation_of(self.version).connects_despite_errors else self.wrong)

    @property
    def wrong(self) -> frozenset[str]:
        """The connector's own properties with errors."""
        # Connect reports null values. Debezium connects nevertheless, with the defaults.
        own = (field for field in self.fields if field.key and not field.key.framework)
        return frozenset(field.name for field in own if set(field.errors) - {NULL_VALUE})

    def readable(self, config: Mapping[str, str | None]) -> dict[str, str]:
        """Return the part of ``config`` that the connector can read for the preflight: without steps and without invalid properties."""
        wrong = {field.name for field in self.fields if field.errors or field.warnings} | {"transforms", "predicates"}
        stands_in = {"name": "validation", "connector.class": CONNECTOR_CLASS}
        return stands_in | {name: value for name, value in config.items() if value is not None and name not in wrong}

    def with_error(self, name: str, text: str) -> Validation:
        """Return a copy with ``text`` added to the errors of ``name``, which is added to the fields if it is missing."""
        return self.with_errors([(name, text)])

    def with_errors(self, found: Sequence[tuple[str, str]]) -> Validation:
        """Return a copy with each (property, text) added as by :meth:`with_error`."""
        added = _by_name(found)
        fields = [replace(each, errors=(*each.errors, *added[each.name])) if each.name in added else each for each in self.fields]
        known = {each.name for each in fields}
        fields += [FieldValidation(name, BY_NAME.get(name), None, texts, (), True) for name, texts in added.items() if name not in known]
        return replace(self, fields=tuple(fields))

    def with_warning(self, name: str, text: str) -> Validation:
        """Return a copy with ``text`` added to the warnings of ``name``, or of the connection if ``name`` is not listed."""
        return self.with_warnings([(name, text)])

    def with_warnings(self, found: Sequence[tuple[str, str]]) -> Validation:
        """Return a copy with each (property, text) added as by :meth:`with_warning`."""
        known = {each.name for each in self.fields}
        added = _by_name([(name if name in known else CONNECTION_KEY, text) for name, text in found])
        fields = [replace(each, warnings=(*each.warnings, *added[each.name])) if each.name in added else each for each in self.fields]
        return replace(self, fields=tuple(fields))

    def strictly(self) -> Validation:
        """Return a copy in which each warning is an error."""
        fields = (replace(field, errors=(*field.errors, *field.warnings), warnings=()) for field in self.fields)
        return replace(self, fields=tuple(fields))


@dataclass(frozen=True, slots=True)
class Renamed:
    """A configuration under present names."""

    settings: Mapping[str, str | None]
    notices: tuple[str, ...]


def rename(config: Mapping[str, str | None]) -> Renamed:
    """Replace former names and values by the present ones, with one notice for each.

    If both names are set, the present one takes precedence. If the present property would refuse a former one's value, the former one has
    no effect: the reference accepts such a configuration, because it does not know the former name.
    """
    settings = dict(config)
    notices: list[str] = []
    version = present_version(settings)
    for alias in ALIASES:
        value = config.get(alias.old)
        if value is None:
            continue
        if not alias.known:
            del settings[alias.old]
        if alias.new in settings:
            notices.append(f"Property {alias.old} is a former name of {alias.new}; both are set, and {alias.new} counts.")
            continue
        words = dict(alias.values)
        present = words.get(value.strip().lower(), value)
        malformed = bool(words) and value.strip().lower() not in words
        if malformed and alias.known:
            # The former name's check reports that.
            continue
        if malformed or (not alias.known and _refused_with(alias.new, present, settings, version)):
            notices.append(f"Property {alias.old} is a former name of {alias.new}, which refuses its value: it has no effect.")
            continue
        settings[alias.new] = present
        notices.append(_renamed_notice(alias, present))
    version = present_version(settings)
    for name, former in FORMER_VALUES.items():
        value = settings.get(name)
        present_value = former.get((value or "").strip().lower())
        if present_value and (value or "").strip().lower() not in BY_NAME[name].choices_in(version):
            settings[name] = present_value
            notices.append(f"Value {(value or '').strip()} of {name} is a former name of {present_value}; write {name}={present_value}.")
    return Renamed(settings, tuple(notices))


def _refused_with(name: str, value: str, settings: Mapping[str, str | None], version: str) -> bool:
    """Return whether the configuration has a problem with ``name=value`` that it does not have without it."""
    without = {other: text for other, text in settings.items() if text is not None}
    with_it = {**without, name: value}
    for key in (BY_NAME[other] for other in with_it if other in BY_NAME):
        before = connector_problems(key, without.get(key.name, key.default), without, version)
        after = connector_problems(key, with_it[key.name], with_it, version)
        if key.name == name and before:
            # Without it a required value is missing. A problem of the present value is more useful.
            continue
        if set(after) - set(before) or (key.name == name and refusals(key, value)):
            return True
    return False


def _renamed_notice(alias: Alias, present: str) -> str:
    # Show the value only if it is one of a few known words.
    hint = f"{alias.new}={present}" if alias.values else alias.new
    return f"Property {alias.old} is a former name; write {hint} instead."


def present_version(settings: Mapping[str, str | None]) -> str:
    """Return the version to emulate; the default if none matches ``connector.plugin.version``."""
    try:
        return select_version(settings.get("connector.plugin.version"))
    except BadVersionError:
        return DEFAULT_VERSION


def validate(config: Mapping[str, str | None]) -> Validation:
    """Validate every property, and the dependencies between properties. Never raises, and uses only ``config``."""
    renamed = rename(config)
    settings = renamed.settings
    present = {name: value for name, value in settings.items() if value is not None}
    nulls = [name for name, value in settings.items() if value is None]
    unknown = [FieldValidation(name, None, None, (NULL_VALUE,), (), True) for name in nulls if name not in BY_NAME]
    try:
        version = select_version(settings.get("connector.plugin.version"))
    except BadVersionError as error:
        return _without_plugin(settings, present, renamed.notices, error)
    steps = step_keys(settings, version)
    framework = [key for key in keys_in(version) if key.framework]
    named = list(dict.fromkeys([*(key.group for key in framework), *(row.key.group for row in steps), *groups(version)]))
    listed = {row.key.name for row in steps}
    fields = [field for field in unknown if field.name not in listed]
    fields += [_framework_field(key, settings, present, version) for key in framework]
    for row in steps:
        fields.append(FieldValidation(row.key.name, row.key, row.value, row.errors, row.key.choices, True))
    fields += [_connector_field(key, present, version) for key in keys_in(version) if not key.framework]
    for overridden, value, name in override_keys(settings):
        # If the client does not have the setting, its value is shown unchanged.
        problems = () if overridden is None else _framework_errors(overridden, value, present, version)
        fields.append(
            FieldValidation(name, overridden, value if overridden is None else shown_value(overridden, value), problems, (), True)
        )
    for key, value, name in converter_keys(settings, version):
        # Kafka's text has the property's short name, the field the full one.
        fields.append(FieldValidation(name, key, shown_value(key, value), _framework_errors(key, value, present, version), (), True))
        named += [key.group] if key.group and key.group not in named else []
    return Validation(tuple(fields), tuple(named), version, renamed.notices)


def strict_problems(config: Mapping[str, str | None], version: str) -> list[tuple[str, str]]:
    """Return (property, line) for problems of properties that Debezium does not list, but that fail when it connects to the database."""
    present = {name: value for name, value in config.items() if value is not None}
    found: list[tuple[str, str]] = []
    for key in _STRICT_UNLISTED:
        if key.name in present:
            problems = connector_problems(key, present[key.name], present, version)
            lines = [f"The '{key.name}' value is invalid: {problem}" for problem in problems] or unsupported_problems(key, present)
            found += [(key.name, line) for line in lines]
    return found


def error_lines(validation: Validation) -> list[str]:
    """Return all errors in the order in which POST's message lists them."""
    return [error for field in validation.fields for error in field.errors]


def warning_lines(validation: Validation) -> list[str]:
    """Return all warnings in the order of their properties."""
    return [warning for field in validation.fields for warning in field.warnings]


def _by_name(found: Sequence[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    texts: dict[str, list[str]] = {}
    for name, text in found:
        texts.setdefault(name, []).append(text)
    return {name: tuple(lines) for name, lines in texts.items()}


def _without_plugin(
    settings: Mapping[str, str | None],
    present: Mapping[str, str],
    notices: tuple[str, ...],
    error: BadVersionError,
) -> Validation:
    """Return the validation that Connect shows if the requested version does not exist: its general properties only.

    The class has the error too. If the range is unreadable, Connect answers without any validation; here the version has the error.
    """
    blamed = ("connector.plugin.version",) if error.unreadable else ("connector.class", "connector.plugin.version")
    shown = [
        key for key in keys_in(DEFAULT_VERSION) if key.framework and key.group in ("Common", "Transforms", "Predicates", "Error Handling")
    ]
    listed = {key.name for key in shown}
    # Connect lists the connector's own properties only if they are null.
    nulls = [name for name, value in settings.items() if value is None and name not in listed]
    fields = [FieldValidation(name, None, None, (NULL_VALUE,), (), True) for name in nulls]
    for key in shown:
        field = _unloaded(_framework_field(key, settings, present, DEFAULT_VERSION), settings)
        fields.append(replace(field, errors=(*field.errors, str(error))) if key.name in blamed else field)
    return Validation(tuple(fields), tuple(dict.fromkeys(key.group for key in shown)), DEFAULT_VERSION, notices)


def _unloaded(field: FieldValidation, settings: Mapping[str, str | None]) -> FieldValidation:
    """Return ``field`` as it is without the connector's class: Connect then lists neither the converters nor their versions."""
    side, found, rest = field.name.partition(".converter")
    if field.key is None or not found or side not in SIDES:
        return field
    key = replace(field.key, default=None, choices=())
    value = field.value if field.name in settings else None
    visible = field.visible and (not rest or settings.get(f"{side}.converter") is not None)
    return replace(field, key=key, value=value, recommended=(), visible=visible)


def _framework_field(key: Key, settings: Mapping[str, str | None], present: Mapping[str, str], version: str) -> FieldValidation:
    null = key.name in settings and settings[key.name] is None
    raw = settings.get(key.name) if key.name in settings else key.default
    if key.required and key.name not in settings:
        errors: tuple[str, ...] = (f'Missing required configuration "{key.name}" which has no default value.',)
    else:
        errors = _framework_errors(key, raw, present, version)
    if null:
        errors += (NULL_VALUE,)
    shown = shown_value(key, raw)
    if key.type == "CLASS" and key.choices:
        shown = _converter_shown(key, raw, version)
    # The type of each transformation is refused separately.
    if not errors and key.name in present and key.name != "transforms":
        errors = tuple(refusals(key, shown or present[key.name]))
    if key.name.endswith("converter.plugin.version"):
        return _converter_version(key, settings, present, errors, version)
    return FieldValidation(key.name, key, shown, errors, key.choices_in(version), True)


def _converter_version(
    key: Key, settings: Mapping[str, str | None], present: Mapping[str, str], errors: tuple[str, ...], version: str
) -> FieldValidation:
    """Return the validation of a converter's version. The class decides which version exists, and which is the default."""
    side = key.name.removesuffix(".converter.plugin.version")
    converter = BY_NAME[f"{side}.converter"]
    wanted = settings.get(converter.name, converter.default) or ""
    found = converter_class(side, trim(wanted))
    choices = () if found is None else (class_version(found, version),)
    default = choices[0] if choices and wanted == trim(wanted) else None
    if converter.name in settings and settings[converter.name] is None:
        default = class_version(converter.default or "", version)
    shown = shown_value(key, settings.get(key.name) if key.name in settings else default)
    mismatch = converter_mismatch(side, present, version, converter.default)
    visible = found is not None or find_any_class(trim(wanted), version) is not None
    return FieldValidation(
        key.name, replace(key, default=default), shown, (*errors, *([str(mismatch)] if mismatch else [])), choices, visible
    )


def _converter_shown(key: Key, raw: str | None, version: str) -> str | None:
    value = trim(raw or "")
    found = converter_class(key.name.removesuffix(".converter"), value) or find_any_class(value, version)
    return value if found is None and ":" in value else found


def _converter_errors(key: Key, raw: str, present: Mapping[str, str], version: str) -> tuple[str, ...]:
    value, side = trim(raw), key.name.removesuffix(".converter")
    if ":" in value:
        # A class of the user's own: it is loaded when the task starts.
        return ()
    if converter_class(side, value) is None:
        if (other := find_any_class(value, version)) is not None:
            return (f"Class class {other} does not implement the {'HeaderConverter' if side == 'header' else 'Converter'} interface",)
        return (f"Invalid value {raw} for configuration {key.name}: Class {raw} could not be found.",)
    if value != raw:
        # Kafka finds the class without the blanks, and then loads the plugin by the name with them.
        return (f"Failed to load class {raw}: {raw}",)
    mismatch = converter_mismatch(side, present, version)
    return () if mismatch is None or mismatch.unreadable else (str(mismatch),)


def _framework_errors(key: Key, raw: str | None, present: Mapping[str, str], version: str) -> tuple[str, ...]:
    errors: list[str] = []
    value = raw if raw is None else trim(raw)
    if key.type == "CLASS" and key.choices and raw is not None:
        return _converter_errors(key, raw, present, version)
    if (problem := unreadable(key, value)) is not None:
        errors.append(f"Invalid value {raw} for configuration {key.name}: {problem}")
        value = None
    for validator in key.validators:
        errors += validator(key, value, present)
    return tuple(errors)


def _connector_field(key: Key, present: Mapping[str, str], version: str) -> FieldValidation:
    value = present.get(key.name, key.default)
    errors = [f"The '{key.name}' value is invalid: {problem}" for problem in connector_problems(key, value, present, version)]
    unsupported = unsupported_problems(key, present) if not errors and key.name in present else []
    if not errors and not unsupported:
        return _legal_fields(version)[key.name]
    errors += unsupported if key.strict else []
    warnings = () if key.strict else tuple(unsupported)
    return FieldValidation(key.name, key, None, tuple(errors), key.choices_in(version), key.visible, warnings)


@cache
def _legal_fields(version: str) -> Mapping[str, FieldValidation]:
    """The validations of the connector's properties without problems, as most are: they do not depend on the values."""
    own = (key for key in keys_in(version) if not key.framework)
    return {key.name: FieldValidation(key.name, key, None, (), key.choices_in(version), key.visible) for key in own}


def unsupported_problems(key: Key, present: Mapping[str, str]) -> list[str]:
    """Return whole lines with the reason and the remedy if a legal value of a property that is set is not supported."""
    value = present[key.name]
    problems = [problem for validator in key.unsupported for problem in validator(key, value, present)]
    return [f"The '{key.name}' value is invalid: {problem}" for problem in problems] + refusals(key, value)


def connector_problems(key: Key, value: str | None, present: Mapping[str, str], version: str) -> list[str]:
    """Return the problems of a connector property's value, without the words that name the property."""
    problems: list[str] = []
    if key.enumerated and value is not None:
        choices = key.choices_in(version)
        if trim(value).lower() not in {choice.lower() for choice in (*choices, *key.unlisted_choices)}:
            problems.append(f"Value must be one of {', '.join(choices)}")
    for validator in key.validators_in(version):
        problems += validator(key, value, present)
    return problems


def refusals(key: Key, value: str) -> list[str]:
    """Return the error, with the remedy, if a legal value is not supported; else an empty list."""
    if key.support == "ignored" or (key.support == "honoured" and key.allowed is None):
        return []
    allowed = {entry.strip().lower() for entry in key.allowed or ()}
    if key.default is not None and key.support == "refused":
        allowed |= {entry.strip().lower() for entry in (key.default.split(",") if key.type == "LIST" else [key.default])}
    entries = value.split(",") if key.type == "LIST" else [value]
    if all(entry.strip().lower() in allowed for entry in entries):
        return []
    named = [entry for entry in key.allowed or () if entry]
    way_out = key.remedy or (f"use {' or '.join(named)}" if named else "remove the property")
    return [f"The '{key.name}' value is invalid: {key.reason}; {way_out}"]
