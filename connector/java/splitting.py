"""How ``String.split`` splits a text at a character."""

from __future__ import annotations

from connector.java.trim import trim


def java_split(text: str, sign: str) -> list[str]:
    """Return the parts between the signs, without the empty ones at the end. A text without the sign is one part, also if it is empty."""
    parts = text.split(sign)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return [] if sign in text and parts == [""] else parts


def java_path(text: str, sign: str) -> list[str]:
    """Return the same parts; for a text of signs only, one that is empty, so that there always is a first part."""
    return java_split(text, sign) or [""]


def java_list(text: str) -> list[str]:
    """Return the entries between commas, trimmed, as Debezium reads lists: only entries at the end without any character are left out."""
    return [trim(entry) for entry in java_split(text, ",")]
