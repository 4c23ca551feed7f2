"""The value of a property: whether its text has the property's type, and how Connect shows it (``ConfigDef.parseType``)."""

from __future__ import annotations

from typing import Final

from connector.configdef.key import Key
from connector.configdef.validators import java_int, java_long, java_short
from connector.java.floats import java_double
from connector.java.numbers import NumberError, parse_double
from connector.java.trim import trim

_NUMBERS: Final = ("SHORT", "INT", "LONG", "DOUBLE")


def unreadable(key: Key, value: str | None) -> str | None:
    """Return Kafka's words for a trimmed text that does not have the property's type; None where it does."""
    if value is None:
        return None
    if key.type in _NUMBERS and _number(key, value) is None:
        return f"Not a number of type {key.type}"
    if key.type == "BOOLEAN" and value.lower() not in ("true", "false"):
        return "Expected value to be either true or false"
    return None


def shown_value(key: Key, raw: str | None) -> str | None:
    """Return the text that Connect shows for the text ``raw``; None for one that does not have the property's type."""
    if raw is None:
        return None
    if key.type == "PASSWORD":
        return "[hidden]"
    value = trim(raw)
    if key.type in _NUMBERS:
        return _number(key, value)
    if key.type == "BOOLEAN":
        return value.lower() if value.lower() in ("true", "false") else None
    if key.type == "LIST":
        return ",".join(trim(entry) for entry in value.split(","))
    return value


def _number(key: Key, text: str) -> str | None:
    """Return the number as Java writes it; None where ``text`` is none of the property's type."""
    match key.type:
        case "DOUBLE":
            try:
                return java_double(parse_double(text)).decode().strip('"')
            except NumberError:
                return None
        case "SHORT":
            number = java_short(text)
        case "INT":
            number = java_int(text)
        case _:
            number = java_long(text)
    return None if number is None else str(number)
