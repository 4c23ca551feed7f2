"""Validation of a connector's configuration as ``PUT /connector-plugins/{p}/config/validate`` and POST do it.

Pure: the look at the database is the caller's, who adds what it finds with :meth:`Validation.with_error`. The texts are those of
Kafka Connect 4.3 and of the Debezium version that is played; refusals of what is not played yet are this project's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from connector.config_keys import ALIASES, BY_NAME, CURRENT, FORMER_VALUES, BadVersionError, Key, groups, keys_in, select_version
from connector.config_keys.checks import java_int, java_long
from connector.config_keys.converter_keys import converter_keys
from connector.config_keys.key import Alias
from connector.config_keys.step_keys import step_keys

NULL_VALUE: Final = "Null value can not be supplied as the configuration value."
CONNECTION_KEY: Final = "database.hostname"
"""The property that errors of the look at the database belong to (Debezium attaches them there)."""


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
        """Whether the database is to be looked at: database, slot and plugin are free of errors (Debezium's own condition)."""
        needed = ("database.dbname", "slot.name", "plugin.name")
        clean = {field.name for field in self.fields if not field.errors}
        return all(name in clean for name in needed)

    def with_error(self, name: str, text: str) -> Validation:
        """Return the same with ``text`` added to the errors of ``name``, which is told of from now on if it was not."""
        fields = tuple(replace(field, errors=(*field.errors, text)) if field.name == name else field for field in self.fields)
        if all(field.name != name for field in fields):
            fields += (FieldValidation(name, BY_NAME.get(name), None, (text,), (), True),)
        return replace(self, fields=fields)

    def with_errors(self, rewrite: Callable[[str], str]) -> Validation:
        """Return the same with each error as ``rewrite`` gives it."""
        return replace(self, fields=tuple(replace(field, errors=tuple(map(rewrite, field.errors))) for field in self.fields))


@dataclass(frozen=True, slots=True)
class Renamed:
    """A configuration under present names. ``errors`` belong to the property each is filed under."""

    settings: Mapping[str, str | None]
    notices: tuple[str, ...]
    errors: Mapping[str, str]


def rename(config: Mapping[str, str | None]) -> Renamed:
    """Give former names and values their present ones, with one notice for each.

    A former name that the played connector still knows gives way to the new one when both are set; any other is an error then.
    """
    settings = dict(config)
    notices: list[str] = []
    errors: dict[str, str] = {}
    for alias in ALIASES:
        value = config.get(alias.old)
        if value is None:
            continue
        if not alias.coexists:
            del settings[alias.old]
        if alias.new not in settings:
            words = dict(alias.values)
            if alias.coexists and words and value.strip().lower() not in words:
                # Its own check tells that it is malformed.
                continue
            present = words.get(value.strip().lower(), value)
            settings[alias.new] = present
            notices.append(_renamed_notice(alias, present))
        elif alias.coexists:
            notices.append(f"Property {alias.old} is a former name of {alias.new}; both are set, and {alias.new} counts.")
        else:
            errors[alias.new] = f"The '{alias.new}' value is invalid: {alias.old} is its former name; set only {alias.new}"
    version = _version_or_current(settings)
    for name, former in FORMER_VALUES.items():
        value = settings.get(name)
        present_value = former.get((value or "").strip().lower())
        if present_value and (value or "").strip().lower() not in BY_NAME[name].choices_in(version):
            settings[name] = present_value
            notices.append(f"Value {(value or '').strip()} of {name} is a former name of {present_value}; write {name}={present_value}.")
    return Renamed(settings, tuple(notices), errors)


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
    fields = [FieldValidation(name, None, None, (NULL_VALUE,), (), True) for name in nulls if name not in BY_NAME]
    try:
        version = select_version(settings.get("connector.plugin.version"))
    except BadVersionError as error:
        return _without_plugin(fields, settings, present, renamed.notices, error)
    steps = step_keys(present)
    framework = [key for key in keys_in(version) if key.framework]
    named = list(dict.fromkeys([*(key.group for key in framework), *(key.group for key, _ in steps), *groups(version)]))
    fields += [_framework_field(key, settings, present) for key in framework]
    for key, errors in steps:
        fields.append(FieldValidation(key.name, key, None, errors, key.choices, True))
    fields += [_connector_field(key, present, version) for key in keys_in(version) if not key.framework]
    for key, value, name in converter_keys(present):
        # Kafka's text has the short name, the field the full one.
        fields.append(FieldValidation(name, key, _shown(key, value), _framework_errors(key, value, present), (), True))
        named += [key.group] if key.group and key.group not in named else []
    result = Validation(tuple(fields), tuple(named), version, renamed.notices)
    for name, text in renamed.errors.items():
        # No ConfigDef may list the new name; the error still has to be seen.
        result = result.with_error(name, text)
    return result


def error_lines(validation: Validation) -> list[str]:
    """Return all errors in the order in which POST's message lists them."""
    return [error for field in validation.fields for error in field.errors]


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
        field = _framework_field(key, settings, present)
        fields.append(replace(field, errors=(*field.errors, str(error))) if key.name in blamed else field)
    return Validation(tuple(fields), tuple(dict.fromkeys(key.group for key in shown)), CURRENT, notices)


def _framework_field(key: Key, settings: Mapping[str, str | None], present: Mapping[str, str]) -> FieldValidation:
    null = key.name in settings and settings[key.name] is None
    raw = settings.get(key.name) if key.name in settings else key.default
    if key.required and key.name not in settings:
        errors: tuple[str, ...] = (f'Missing required configuration "{key.name}" which has no default value.',)
    else:
        errors = _framework_errors(key, raw, present)
    if null:
        errors += (NULL_VALUE,)
    if not errors and key.name in present:
        errors = tuple(refusals(key, present[key.name]))
    shown = _shown(key, raw)
    if key.name.endswith("converter.plugin.version"):
        converter = BY_NAME[key.name.removesuffix(".plugin.version")]
        wanted = present.get(converter.name, converter.default or "")
        if wanted.strip() not in converter.choices:
            # Of a class that is not there no version can be the default.
            return FieldValidation(key.name, replace(key, default=None), None if raw == key.default else shown, errors, (), False)
        if wanted != wanted.strip() and raw == key.default:
            shown = None
    return FieldValidation(key.name, key, shown, errors, key.choices, True)


def _framework_errors(key: Key, raw: str | None, present: Mapping[str, str]) -> tuple[str, ...]:
    errors: list[str] = []
    value = raw if raw is None else raw.strip()
    if key.type == "CLASS" and key.framework and key.choices and value is not None and value not in key.choices:
        return (f"Invalid value {raw} for configuration {key.name}: Class {raw} could not be found.",)
    if key.type == "CLASS" and value != raw:
        # Kafka finds the class without the blanks and then loads the plugin with them.
        return (f"Failed to load class {raw}: {raw}",)
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
    value = raw.strip()
    if key.type in ("INT", "LONG"):
        number = java_long(value)
        return None if number is None or (key.type == "INT" and java_int(value) is None) else str(number)
    if key.type == "BOOLEAN":
        return value.lower() if value.lower() in ("true", "false") else None
    if key.type == "LIST":
        return ",".join(entry.strip() for entry in value.split(","))
    if key.type == "CLASS":
        return value if not key.choices or value in key.choices else None
    return value


def _connector_field(key: Key, present: Mapping[str, str], version: str) -> FieldValidation:
    value = present.get(key.name, key.default)
    errors = [f"The '{key.name}' value is invalid: {problem}" for problem in connector_problems(key, value, present, version)]
    if not errors and key.name in present:
        errors += refusals(key, present[key.name])
    return FieldValidation(key.name, key, None, tuple(errors), key.choices_in(version), key.visible)


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
    way_out = f"use {' or '.join(named)}" if named else "remove the property"
    return [f"The '{key.name}' value is invalid: {key.reason}; {way_out}"]
