"""Validators of Kafka Connect's own properties, with Kafka's texts (``ConfigDef``): each yields whole lines.

A validator gets the trimmed value; None means that the value is unreadable or null.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Final

from connector.configdef.key import Key, Settings, Validator
from connector.configdef.patterns import regex_problem
from connector.configdef.validators import java_long
from connector.java.trim import trim

LONGEST_NAME: Final = 32_000
"""The most bytes of a connector's name. It is part of its producer's id, which Kafka's protocol limits to 32,767 bytes."""
NULL_VALUE: Final = "Null value can not be supplied as the configuration value."
_SHOWN: Final = 40
"""The letters of a longer name in the error."""


def _line(key: Key, value: object, problem: str) -> str:
    return f"Invalid value {'null' if value is None else value} for configuration {key.name}: {problem}"


def connector_name(key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Refuse an empty name, control characters, and a name that is too long for Kafka."""
    if value is None:
        return
    if not value:
        yield _line(key, value, "String may not be empty")
        return
    control = [str(ord(letter)) for letter in value if unicodedata.category(letter) == "Cc"]
    if control:
        yield _line(key, value, f"String may not contain control sequences but had the following ASCII chars: {', '.join(control)}")
    if len(value.encode(errors="replace")) > LONGEST_NAME:
        yield _line(key, f"{value[:_SHOWN]}…", f"String may not be longer than {LONGEST_NAME} bytes in UTF-8")


def at_least_one(key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require a number of 1 or more; null is refused too."""
    if value is None:
        yield _line(key, None, "Value must be non-null")
    elif (number := java_long(value) or 0) < 1:
        yield _line(key, number, "Value must be at least 1")


def not_negative(key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require a number of 0 or more, or None."""
    if value is not None and (number := java_long(value) or 0) < 0:
        yield _line(key, number, "Value must be at least 0")


def not_empty(key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require a non-empty text, or None."""
    if value is not None and not value:
        yield _line(key, value, "String must be non-empty")


def one_of(*values: str) -> Validator:
    """Require one of ``values``, in the same case."""

    def check(key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
        if value not in values:
            yield _line(key, value, f"String must be one of: {', '.join(values)}")

    return check


def one_of_any_case(*values: str) -> Validator:
    """Require one of ``values``, which are in capitals, in any case."""

    def check(key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
        if value is None or value.upper() not in values:
            yield _line(key, value, f"String must be one of (case insensitive): {', '.join(values)}")

    return check


def aliases(key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require names without duplicates."""
    if value is None:
        yield _line(key, None, "entry must be non null")
        return
    names = [trim(entry) for entry in value.split(",")] if value else []
    if len(set(names)) < len(names):
        yield _line(key, f"[{', '.join(names)}]", "Duplicate alias provided.")


def no_own_boundaries(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Refuse ``connector``: Debezium's connector defines no transaction boundaries (KIP-618)."""
    if value is not None and value.lower() == "connector":
        yield (
            "The connector does not support connector-defined transaction boundaries with the given configuration. "
            "Please reconfigure it to use a different transaction boundary definition."
        )


def valid_regex(key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require a regular expression that Java compiles (``RegexValidator``)."""
    if value is not None and (wrong := regex_problem(value)) is not None:
        yield _line(key, value, f"Invalid regex: {wrong}")
