"""The value of a property: whether its text has the property's type, and how Connect shows it (``ConfigDef.parseType``)."""

from __future__ import annotations

from connector.configdef.checks import java_int, java_long
from connector.configdef.key import Key


def unreadable(key: Key, value: str | None) -> str | None:
    """Return Kafka's words for a trimmed text that does not have the property's type; None where it does."""
    if value is None:
        return None
    match key.type:
        case "INT" if java_int(value) is None:
            return "Not a number of type INT"
        case "LONG" if java_long(value) is None:
            return "Not a number of type LONG"
        case "BOOLEAN" if value.lower() not in ("true", "false"):
            return "Expected value to be either true or false"
    return None


def shown_value(key: Key, raw: str | None) -> str | None:
    """Return the text that Connect shows for the text ``raw``; None for one that does not have the property's type."""
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
