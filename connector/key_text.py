"""A key's values as notifications show them: as Java prints the objects that the reference keeps of them."""

from __future__ import annotations

from typing import Final

from connector.java_float import java_double, java_float
from connector.java_objects import JavaValue, text_from_key

_UNITS: Final = ("years", "mons", "days", "hours", "mins")


def key_text(value: JavaValue | None) -> str | None:
    """``value`` in words; None for NULL. Where Java prints no more than an object's address (bytea), PostgreSQL's text."""
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
                words.append(f"{seconds + micros / 1_000_000:g} secs")
            return " ".join(words)
        case _:
            return text_from_key(value)
