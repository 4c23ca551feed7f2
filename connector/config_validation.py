"""Validation of a connector's configuration as ``PUT /connector-plugins/{p}/config/validate`` and POST do it.

Pure: the look at the database is the caller's, who adds what it finds with :meth:`Validation.with_error`. The texts are those of
Kafka Connect 4.3 and of the Debezium version that is played; refusals of what is not played yet are this project's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from connector.config_keys import (
    ALIASES,
    BY_NAME,
    CONNECTOR_CLASS,
    CURRENT,
    FORMER,
    FORMER_VALUES,
    KEYS,
    BadVersionError,
    Key,
    groups,
    keys_in,
    select_version,
)
from connector.config_keys.checks import java_int, java_long
from connector.config_keys.client_keys import override_keys
from connector.config_keys.converter_keys import converter_class, converter_keys, converter_mismatch
from connector.config_keys.kafka_checks import NULL_VALUE
from connector.config_keys.key import Alias
from connector.config_keys.plugin_classes import class_version, is_there
from connector.config_keys.step_keys import step_keys

CONNECTION_KEY: Final = "database.hostname"
"""The property that errors of the look at the database belong to (Debezium attaches them there)."""


_CONNECTION_NEEDS: Final = frozenset(
    {"topic.prefix", "plugin.name", "slot.name", *(f"database.{name}" for name in ("hostname", "port", "user", "password", "dbname"))}
)


_STRICT_UNLISTED: Final = tuple(key for key in KEYS if key.strict and key.read_only)


@dataclass(frozen=True, slots=True)
class FieldValidation:
    """What validation says of one property. ``key`` is None for an unknown one with a null value.

    ``value`` is what Connect shows: the text that was read for its own properties, None for all of the connector's.
    """

    name: str
    key: Key | None
    value: str | None
    errors: tuple[str, ...]
    recommended: tuple[str, ...]
    visible: bool
    warnings: tuple[str, ...] = ()
    """What would hurt and refuses nothing; Connect's own answers have no place for it."""


@dataclass(frozen=True, slots=True)
class Validation:
    """Validation of one configuration: fields in Connect's order, groups in theirs, the version that is played.

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
        """Whether the database is to be looked at, by Debezium's own conditions; what is wrong with Connect's properties is none.

        3.6.3 wants all of the connector's properties free of errors, 2.3.4 those that a connection needs.
        """
        known = any(field.key and not field.key.framework for field in self.fields)
        return known and not (self.wrong & _CONNECTION_NEEDS if self.version == FORMER else self.wrong)

    @property
    def wrong(self) -> frozenset[str]:
        """The connector's own properties that have errors."""
        # That a value is null Connect says, after Debezium has looked at the database with the default.
        own = (field for field in self.fields if field.key and not field.key.framework)
        return frozenset(field.name for field in own if set(field.errors) - {NULL_VALUE})

    def readable(self, config: Mapping[str, str | None]) -> dict[str, str]:
        """Return what of ``config`` the connector can read for that look: with a name, without steps, and without what is wrong."""
        wrong = {field.name for field in self.fields if field.errors or field.warnings} | {"transforms", "predicates"}
        stands_in = {"name": "validation", "connector.class": CONNECTOR_CLASS}
        return stands_in | {name: value for name, value in config.items() if value is not None and name not in wrong}

    def with_error(self, name: str, text: str) -> Validation:
        """Return the same with ``text`` added to the errors of ``name``, which is told of from now on if it was not."""
        fields = tuple(replace(field, errors=(*field.errors, text)) if field.name == name else field for field in self.fields)
        if all(field.name != name for field in fields):
            fields += (FieldValidation(name, BY_NAME.get(name), None, (text,), (), True),)
        return replace(self, fields=fields)

    def with_warning(self, name: str, text: str) -> Validation:
        """Return the same with ``text`` added to the warnings of ``name``, or of the connection where ``name`` is not told of."""
        told = name if any(field.name == name for field in self.fields) else CONNECTION_KEY
        fields = tuple(replace(field, warnings=(*field.warnings, text)) if field.name == told else field for field in self.fields)
        return replace(self, fields=fields)

    def strictly(self) -> Validation:
        """Return the same with each warning as an error."""
        fields = (replace(field, errors=(*field.errors, *field.warnings), warnings=()) for field in self.fields)
        return replace(self, fields=tuple(fields))


@dataclass(frozen=True, slots=True)
class Renamed:
    """A configuration under present names."""

    settings: Mapping[str, str | None]
    notices: tuple[str, ...]


def rename(config: Mapping[str, str | None]) -> Renamed:
    """Give former names and values their present ones, with one notice for each.

    Where both names are set the present one counts. A former one whose value the present one would refuse has no effect: the
    reference takes such a configuration, because it does not know the former name.
    """
    settings = dict(config)
    notices: list[str] = []
    version = _version_or_current(settings)
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
            # Its own check reports that.
            continue
        if malformed or (not alias.known and _refused_with(alias.new, present, settings, version)):
            notices.append(f"Property {alias.old} is a former name of {alias.new}, which refuses its value: it has no effect.")
            continue
        settings[alias.new] = present
        notices.append(_renamed_notice(alias, present))
    version = _version_or_current(settings)
    for name, former in FORMER_VALUES.items():
        value = settings.get(name)
        present_value = former.get((value or "").strip().lower())
        if present_value and (value or "").strip().lower() not in BY_NAME[name].choices_in(version):
            settings[name] = present_value
            notices.append(f"Value {(value or '').strip()} of {name} is a former name of {present_value}; write {name}={present_value}.")
    return Renamed(settings, tuple(notices))


def _refused_with(name: str, value: str, settings: Mapping[str, str | None], version: str) -> bool:
    """Whether the configuration has a problem with ``name=value`` that it does not have without."""
    without = {other: text for other, text in settings.items() if text is not None}
    with_it = {**without, name: value}
    for key in (BY_NAME[other] for other in with_it if other in BY_NAME):
        before = connector_problems(key, without.get(key.name, key.default), without, version)
        after = connector_problems(key, with_it[key.name], with_it, version)
        if key.name == name and before:
            # Without it a value is missing: what is wrong with this one helps more.
            continue
        if set(after) - set(before) or (key.name == name and refusals(key, value)):
            return True
    return False


def _renamed_notice(alias: Alias, present: str) -> str:
    # The value is only shown where it is one of a few words.
    hint = f"{alias.new}={present}" if alias.values else alias.new
    return f"Property {alias.old} is a former name; write {hint} instead."


def _version_or_current(settings: Mapping[str, str | None]) -> str:
    try:
        return select_version(settings.get("connector.plugin.version"))
    except BadVersionError:
        return CURRENT


def validate(config: Mapping[str, str | None]) -> Validation:
    """Check every property, and what properties demand of each other. Never raises; never looks at anything but ``config``."""
    renamed = rename(config)
    settings = renamed.settings
    present = {name: value for name, value in settings.items() if value is not None}
    nulls = [name for name, value in settings.items() if value is None]
    unknown = [FieldValidation(name, None, None, (NULL_VALUE,), (), True) for name in nulls if name not in BY_NAME]
    try:
        version = select_version(settings.get("connector.plugin.version"))
    except BadVersionError as error:
        return _without_plugin(unknown, settings, present, renamed.notices, error)
    steps = step_keys(settings, version)
    framework = [key for key in keys_in(version) if key.framework]
    named = list(dict.fromkeys([*(key.group for key in framework), *(row.key.group for row in steps), *groups(version)]))
    fields = [field for field in unknown if all(field.name != row.key.name for row in steps)]
    fields += [_framework_field(key, settings, present, version) for key in framework]
    for row in steps:
        errors = row.errors or tuple(refusals(row.key, present.get(row.key.name, "")))
        fields.append(FieldValidation(row.key.name, row.key, row.value, errors, row.key.choices, True))
    fields += [_connector_field(key, present, version) for key in keys_in(version) if not key.framework]
    for key, value, name in converter_keys(settings, version):
        # Kafka's text has the short name, the field the full one.
        fields.append(FieldValidation(name, key, _shown(key, value), _framework_errors(key, value, present, version), (), True))
        named += [key.group] if key.group and key.group not in named else []
    for overridden, value, name in override_keys(settings):
        # Of a setting that no client has, the value is shown as it is.
        problems = () if overridden is None else _framework_errors(overridden, value, present, version)
        fields.append(FieldValidation(name, overridden, value if overridden is None else _shown(overridden, value), problems, (), True))
    return Validation(tuple(fields), tuple(named), version, renamed.notices)


def strict_problems(config: Mapping[str, str | None], version: str) -> list[tuple[str, str]]:
    """Return (property, whole line) for what the reference does not list and yet breaks on when it begins to look at the database."""
    present = {name: value for name, value in config.items() if value is not None}
    found: list[tuple[str, str]] = []
    for key in _STRICT_UNLISTED:
        if key.name in present:
            problems = connector_problems(key, present[key.name], present, version)
            lines = [f"The '{key.name}' value is invalid: {problem}" for problem in problems] or unplayed_problems(key, present)
            found += [(key.name, line) for line in lines]
    return found


def error_lines(validation: Validation) -> list[str]:
    """Return all errors in the order in which POST's message lists them."""
    return [error for field in validation.fields for error in field.errors]


def warning_lines(validation: Validation) -> list[str]:
    """Return all warnings in the order of their properties."""
    return [warning for field in validation.fields for warning in field.warnings]


def _without_plugin(
    fields: list[FieldValidation],
    settings: Mapping[str, str | None],
    present: Mapping[str, str],
    notices: tuple[str, ...],
    error: BadVersionError,
) -> Validation:
    """Tell what Connect tells when the version it was asked for does not exist: its general properties only.

    It files the error under the class too. A range that cannot be read it answers without any validation; one error says it here.
    """
    blamed = ("connector.plugin.version",) if error.unreadable else ("connector.class", "connector.plugin.version")
    shown = [key for key in keys_in(CURRENT) if key.framework and key.group in ("Common", "Transforms", "Predicates", "Error Handling")]
    for key in shown:
        field = _framework_field(key, settings, present, CURRENT)
        fields.append(replace(field, errors=(*field.errors, str(error))) if key.name in blamed else field)
    return Validation(tuple(fields), tuple(dict.fromkeys(key.group for key in shown)), CURRENT, notices)


def _framework_field(key: Key, settings: Mapping[str, str | None], present: Mapping[str, str], version: str) -> FieldValidation:
    null = key.name in settings and settings[key.name] is None
    raw = settings.get(key.name) if key.name in settings else key.default
    if key.required and key.name not in settings:
        errors: tuple[str, ...] = (f'Missing required configuration "{key.name}" which has no default value.',)
    else:
        errors = _framework_errors(key, raw, present, version)
    if null:
        errors += (NULL_VALUE,)
    shown = _shown(key, raw)
    if key.type == "CLASS" and key.choices:
        shown = _converter_shown(key, raw, version)
    # Each transformation is refused at its own type.
    if not errors and key.name in present and key.name != "transforms":
        errors = tuple(refusals(key, shown or present[key.name]))
    if key.name.endswith("converter.plugin.version"):
        return _converter_version(key, settings, present, errors, version)
    return FieldValidation(key.name, key, shown, errors, key.choices, True)


def _converter_version(
    key: Key, settings: Mapping[str, str | None], present: Mapping[str, str], errors: tuple[str, ...], version: str
) -> FieldValidation:
    """Tell of a converter's version: the class decides which there is, and of one that is not there none can be the default."""
    side = key.name.removesuffix(".converter.plugin.version")
    converter = BY_NAME[f"{side}.converter"]
    wanted = present.get(converter.name, converter.default or "")
    found = converter_class(side, wanted.strip())
    choices = () if found is None else (class_version(found, version),)
    default = choices[0] if choices and wanted == wanted.strip() else None
    shown = _shown(key, settings.get(key.name) if key.name in settings else default)
    mismatch = converter_mismatch(side, present, version)
    visible = found is not None or is_there(wanted.strip(), version)
    return FieldValidation(key.name, replace(key, default=default), shown, (*errors, *([mismatch] if mismatch else [])), choices, visible)


def _converter_shown(key: Key, raw: str | None, version: str) -> str | None:
    value = (raw or "").strip()
    return converter_class(key.name.removesuffix(".converter"), value) or (value if is_there(value, version) else None)


def _converter_errors(key: Key, raw: str, present: Mapping[str, str], version: str) -> tuple[str, ...]:
    value, side = raw.strip(), key.name.removesuffix(".converter")
    if converter_class(side, value) is None:
        if is_there(value, version):
            return (f"Class class {value} does not implement the {'HeaderConverter' if side == 'header' else 'Converter'} interface",)
        return (f"Invalid value {raw} for configuration {key.name}: Class {raw} could not be found.",)
    if value != raw:
        # Kafka finds the class without the blanks and then loads the plugin with them.
        return (f"Failed to load class {raw}: {raw}",)
    mismatch = converter_mismatch(side, present, version)
    return () if mismatch is None else (mismatch,)


def _framework_errors(key: Key, raw: str | None, present: Mapping[str, str], version: str) -> tuple[str, ...]:
    errors: list[str] = []
    value = raw if raw is None else raw.strip()
    if key.type == "CLASS" and key.choices and raw is not None:
        return _converter_errors(key, raw, present, version)
    unreadable = {
        "INT": value is not None and java_int(value) is None,
        "LONG": value is not None and java_long(value) is None,
        "BOOLEAN": value is not None and value.lower() not in ("true", "false"),
    }.get(key.type, False)
    if unreadable:
        problem = "Expected value to be either true or false" if key.type == "BOOLEAN" else f"Not a number of type {key.type}"
        errors.append(f"Invalid value {raw} for configuration {key.name}: {problem}")
        value = None
    for check in key.checks:
        errors += check(key, value, present)
    return tuple(errors)


def _shown(key: Key, raw: str | None) -> str | None:
    if raw is None:
        return None
    if key.type == "PASSWORD":
        return "[hidden]"
    value = raw.strip()
    if key.type in ("INT", "LONG"):
        number = java_long(value)
        return None if number is None or (key.type == "INT" and java_int(value) is None) else str(number)
    if key.type == "BOOLEAN":
        return value.lower() if value.lower() in ("true", "false") else None
    if key.type == "LIST":
        return ",".join(entry.strip() for entry in value.split(","))
    return value


def _connector_field(key: Key, present: Mapping[str, str], version: str) -> FieldValidation:
    value = present.get(key.name, key.default)
    errors = [f"The '{key.name}' value is invalid: {problem}" for problem in connector_problems(key, value, present, version)]
    unplayed = unplayed_problems(key, present) if not errors and key.name in present else []
    errors += unplayed if key.strict else []
    warnings = () if key.strict else tuple(unplayed)
    return FieldValidation(key.name, key, None, tuple(errors), key.choices_in(version), key.visible, warnings)


def unplayed_problems(key: Key, present: Mapping[str, str]) -> list[str]:
    """Return why a legal value of a property that is set cannot be played, if so: whole lines with the way out."""
    value = present[key.name]
    checked = [f"The '{key.name}' value is invalid: {problem}" for check in key.unplayed for problem in check(key, value, present)]
    return checked + refusals(key, value)


def connector_problems(key: Key, value: str | None, present: Mapping[str, str], version: str) -> list[str]:
    """Return what is wrong with a connector property's value, without the words that name it."""
    choices = key.choices_in(version)
    problems: list[str] = []
    legal = [choice.lower() for choice in (*choices, *key.unlisted_choices)]
    if key.enumerated and value is not None and value.strip().lower() not in legal:
        problems.append(f"Value must be one of {', '.join(choices)}")
    for check in key.checks_in(version):
        problems += check(key, value, present)
    return problems


def refusals(key: Key, value: str) -> list[str]:
    """Return the error for a legal value that is not played, if it is one. The text holds the way out."""
    if key.support == "ignored" or (key.support == "honoured" and key.allowed is None):
        return []
    allowed = {entry.strip().lower() for entry in key.allowed or ()}
    if key.default is not None and key.support == "refused":
        allowed |= {entry.strip().lower() for entry in (key.default.split(",") if key.type == "LIST" else [key.default])}
    entries = value.split(",") if key.type == "LIST" else [value]
    if all(entry.strip().lower() in allowed for entry in entries):
        return []
    named = [entry for entry in key.allowed or () if entry]
    way_out = key.mend or (f"use {' or '.join(named)}" if named else "remove the property")
    return [f"The '{key.name}' value is invalid: {key.reason}; {way_out}"]
