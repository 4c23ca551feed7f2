"""The part of a value that a request's ``path`` names, down to its ``maxDepth``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from connector.java.floats import java_double

ABSENT: Final = object()
"""The value has no part with this path."""


def part_of(value: object, path: Sequence[str | None], depth: int, level: int = 0) -> object:
    """Return the part of a value, or :data:`ABSENT`.

    None in ``path`` is every member of a map or list; members without the rest of the path are left out. ``level`` is the depth of the
    value itself. What is as deep as ``depth`` is a text; with 0 nothing is.
    """
    if value is None:
        return ABSENT if path else None
    if depth and level >= depth:
        return java_text(value)
    if not path and not depth:
        return value
    members: Iterable[tuple[object, object]]
    match value:
        case Mapping():
            members = value.items()
        case str():
            return ABSENT if path else value
        case Sequence():
            members = ((str(at), member) for at, member in enumerate(value))
        case _:
            return ABSENT if path else value
    if path and path[0] is not None:
        return next((part_of(member, path[1:], depth, level + 1) for key, member in members if key == path[0]), ABSENT)
    parts = ((key, part_of(member, path[1:], depth, level + 1)) for key, member in members)
    found = {key: part for key, part in parts if part is not ABSENT}
    if value and not found:
        return ABSENT
    return found if isinstance(value, Mapping) else list(found.values())


def java_text(value: object) -> str:
    """Return the text of a value, as Java's ``toString`` has it for scalars, for maps and for collections."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case float():
            return java_double(value).decode().strip('"')
        case Mapping():
            return f"{{{', '.join(f'{key}={java_text(member)}' for key, member in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(java_text, value))}]"
    return str(value)
