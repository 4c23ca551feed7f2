"""A key's values as notifications show them, which is how Java prints Debezium's objects for them."""

from __future__ import annotations

from typing import Final

from connector.incremental.key_objects import JavaValue, text_from_key
from connector.java.floats import java_double, java_float

_UNITS: Final = ("years", "mons", "days", "hours", "mins")


def _seconds(micros: int) -> str:
    """Return seconds with up to six digits after the dot, and no zeros at the end."""
    whole, rest = divmod(abs(micros), 1_000_000)
    return ("-" if micros < 0 else "") + f"{whole}.{rest:06}".rstrip("0").rstrip(".")


def key_text(value: JavaValue | None) -> str | None:
    """Return the text of ``value``; None for NULL. If Java prints only an object's address (bytea), return PostgreSQL's text."""
    if value is None:
        return None
    match value.java_class:
        case "java.lang.Boolean":
            return "true" if value.value else "false"
        case "java.lang.Double":
            return java_double(value.value).decode().strip('"')
        case "java.lang.Float":
            return java_float(value.value).decode().strip('"')
        case "org.postgresql.util.PGInterval":
            *units, seconds, micros = value.value
            words = [f"{amount} {unit}" for amount, unit in zip(units, _UNITS, strict=True) if amount]
            if seconds or micros or not words:
                words.append(f"{_seconds(seconds * 1_000_000 + micros)} secs")
            return " ".join(words)
        case _:
            return text_from_key(value)
