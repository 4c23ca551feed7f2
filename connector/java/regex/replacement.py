"""The replacement of a match, as ``Matcher.appendExpandedReplacement`` reads it: text, escapes, ``$1`` and ``${name}``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Part = str | int
"""Text, or the number of the group in its place."""


class ReplacementError(ValueError):
    """A replacement that refers to no group, or ends within an escape. The text is Java's."""


def parse_replacement(text: str, groups: int, names: Mapping[str, int]) -> tuple[Part, ...]:
    """Return the parts of a replacement for a pattern with ``groups`` groups. Raises ReplacementError."""
    parts: list[Part] = []
    plain: list[str] = []
    at = 0
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            if at + 1 == len(text):
                raise ReplacementError("character to be escaped is missing")
            plain.append(text[at + 1])
            at += 2
        elif sign == "$":
            if plain:
                parts.append("".join(plain))
                plain = []
            number, at = _reference(text, at + 1, groups, names)
            parts.append(number)
        else:
            plain.append(sign)
            at += 1
    if plain:
        parts.append("".join(plain))
    return tuple(parts)


def expand(parts: tuple[Part, ...], group: Callable[[int], str | None]) -> str:
    """Return the replacement with its references filled in. A group that took no part in the match is empty."""
    return "".join(part if isinstance(part, str) else group(part) or "" for part in parts)


def _reference(text: str, at: int, groups: int, names: Mapping[str, int]) -> tuple[int, int]:
    """The group's number that is named at ``at``, and the place behind its name."""
    if at == len(text):
        raise ReplacementError("Illegal group reference: group index is missing")
    if text[at] == "{":
        end = text.find("}", at)
        name = text[at + 1 : end]
        if end < 0 or not name:
            raise ReplacementError("named capturing group is missing trailing '}'")
        if name not in names:
            raise ReplacementError(f"No group with name {{{name}}}")
        return names[name], end + 1
    if text[at] not in "0123456789":
        raise ReplacementError("Illegal group reference")
    number = int(text[at])
    if number > groups:
        raise ReplacementError(f"No group {number}")
    at += 1
    while at < len(text) and text[at] in "0123456789" and number * 10 + int(text[at]) <= groups:
        number = number * 10 + int(text[at])
        at += 1
    return number, at
