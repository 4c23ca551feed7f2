"""The form of a connector's configuration, made from the property table, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connect_api.herder import ConfigKey, HerderError
from connector.java.properties import parse_properties
from workers.telemetry.logging import HIDDEN, is_secret, redact

PREFIX: Final = "p."
"""A form's field of the property ``slot.name`` has the name ``p.slot.name``."""
OTHERS: Final = "others"
RAW: Final = "raw"
_NOT_IN_FORM: Final = frozenset({"name", "connector.class"})
_OWN_GROUP: Final = "Other"
_IN_VALUE: Final = {code: f"\\u{code:04x}" for code in (*range(32), 127)} | str.maketrans(
    {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f"}
)
_IN_NAME: Final = _IN_VALUE | str.maketrans({separator: f"\\{separator}" for separator in " =:#!"})
"""What ends a name in a line of properties, or makes the line a comment."""


@dataclass(frozen=True, slots=True)
class Field:
    """One property of the form. ``value`` is empty for a secret, whose stored value never leaves the worker."""

    key: ConfigKey
    value: str
    stored: bool
    secret: bool
    choices: Sequence[str]

    @property
    def multiline(self) -> bool:
        """Whether the value has line breaks, which only a text area keeps."""
        return "\n" in self.value or "\r" in self.value

    @property
    def id(self) -> str:
        """The element's id."""
        return "f-" + self.key.name.replace(".", "-")


@dataclass(frozen=True, slots=True)
class Group:
    """A group of the property table. ``rare`` are the fields that are neither set nor important."""

    name: str
    main: Sequence[Field]
    rare: Sequence[Field]


@dataclass(frozen=True, slots=True)
class Change:
    """One property that differs. None: not set. Secrets are hidden."""

    name: str
    before: str | None
    after: str | None


def groups(keys: Sequence[ConfigKey], config: Mapping[str, str], choices: Mapping[str, Sequence[str]]) -> list[Group]:
    """The form for ``config``. ``choices``: property → recommended values."""
    by_group: dict[str, list[Field]] = {}
    for key in keys:
        if key.name not in _NOT_IN_FORM:
            secret, stored = hides(key, config.get(key.name)), key.name in config
            options = ("true", "false") if key.type == "BOOLEAN" else choices.get(key.name, ())
            value = "" if secret else config.get(key.name, "")
            by_group.setdefault(key.group or _OWN_GROUP, []).append(Field(key, value, stored, secret, options))
    return [Group(name, [f for f in each if _main(f)], [f for f in each if not _main(f)]) for name, each in by_group.items()]


def hides(key: ConfigKey, value: str | None) -> bool:
    """Whether the value must not be shown: of a password, unless it is a reference."""
    if value is None:
        return key.type == "PASSWORD"
    return (key.type == "PASSWORD" or is_secret(key.name)) and redact({"password": value})["password"] == HIDDEN


def others(keys: Iterable[ConfigKey], config: Mapping[str, str]) -> str:
    """The properties that the table does not have, such as those of transforms, as lines ``name=value``."""
    known = {key.name for key in keys} | _NOT_IN_FORM
    left = {name: value for name, value in public(config).items() if name not in known}
    return "".join(f"{name.translate(_IN_NAME)}={_escaped(value)}\n" for name, value in left.items())


def public(config: Mapping[str, str]) -> dict[str, str]:
    """``config`` as it may be shown: :data:`HIDDEN` in place of secrets; references stay."""
    return {name: value or "" for name, value in redact(config).items()}


def raw(config: Mapping[str, str]) -> str:
    """``config`` as JSON that may be shown."""
    return json.dumps(public(config), indent=2, ensure_ascii=False)


def submitted(form: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """The configuration that a form asks for, as JSON or by its fields. A hidden value means the stored one.

    Raises HerderError(400) for JSON that is not an object of strings, and for malformed lines.
    """
    given = _of_json(form[RAW]) if RAW in form else _of_fields(form, stored)
    unknown = [name for name, value in given.items() if value == HIDDEN and name not in stored]
    if unknown:
        raise HerderError(400, f"The property {unknown[0]} has no stored value that {HIDDEN} could stand for. Enter its value.")
    return {name: stored[name] if value == HIDDEN else value for name, value in given.items()}


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[Change]:
    """The properties that differ, in the order of their names."""
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    shown_before, shown_after = redact(before), redact(after)
    return [Change(name, shown_before.get(name), shown_after.get(name)) for name in names]


def _main(field: Field) -> bool:
    return field.stored or field.key.required or field.key.importance == "HIGH"


def _of_fields(form: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    config = {name: stored[name] for name in _NOT_IN_FORM if name in stored}
    config |= {name: form[name] for name in _NOT_IN_FORM if form.get(name)}
    for field, value in form.items():
        name = field.removeprefix(PREFIX)
        if field.startswith(PREFIX) and (value or f"keep.{name}" in form):
            config[name] = _entered(value, stored.get(name, ""))
    try:
        return config | parse_properties(form.get(OTHERS, "").replace("\r\n", "\n"))
    except ValueError as problem:
        raise HerderError(400, f"The lines of the other properties cannot be read: {problem}") from None


def _of_json(text: str) -> dict[str, str]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise HerderError(400, f"The configuration is not valid JSON: {problem}") from None
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise HerderError(400, 'The configuration must be a JSON object whose values are texts, such as {"tasks.max": "1"}.')
    return given


def _entered(value: str, stored: str) -> str:
    """The value of a field. A browser sends each line break as CRLF, so that a value that differs in nothing else is the stored one."""
    lines = _lines(value)
    return stored if not lines or lines == _lines(stored) else lines


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _escaped(value: str) -> str:
    escaped = value.translate(_IN_VALUE)
    return f"\\{escaped}" if escaped.startswith(" ") else escaped
