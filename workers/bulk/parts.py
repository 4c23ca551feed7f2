"""Divides the tables of a bulk snapshot into parts, and groups the parts into tasks. Pure.

A part is a range of pages (ctid) of one heap. A table with partitions or children is read member by member if this gives the same rows:
no member has row security, and the role may read each one. A foreign member is one part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from connector.snapshot.parts import Part
from connector.snapshot.plan import Extent, page_extents

_MOST_BYTES: Final = 32 * 1024 * 1024
"""The largest part. Reading it takes some seconds, so the loss of an executor costs little, and progress shows."""
_LEAST_BYTES: Final = 512 * 1024
"""The smallest part. Smaller ones would cost more to distribute than they gain."""
_ROUNDS: Final = 4
"""The least number of parts for each reader, if they are large enough, so that faster readers can read more of them."""
_MOST_TOGETHER: Final = 200
"""The most small parts in one task."""


@dataclass(frozen=True, slots=True)
class Member:
    """A table with rows of its own. ``pages`` is None if it cannot be read in ranges of pages; ``weight`` is in bytes, with TOAST."""

    schema: str
    table: str
    pages: int | None
    weight: int


@dataclass(frozen=True, slots=True)
class DiskLayout:
    """The members of a table and their size. A table without ``members`` must be read as one part."""

    members: tuple[Member, ...]
    weight: int
    plain: bool
    """The only member is the table itself."""


def part_bytes(layouts: Sequence[DiskLayout], readers: int) -> int:
    """The size of a part in bytes, for this number of concurrent readers."""
    total = sum(layout.weight for layout in layouts)
    return max(_LEAST_BYTES, min(_MOST_BYTES, total // (readers * _ROUNDS)))


def parts_of(table: int, layout: DiskLayout, size: int) -> list[Part]:
    """The parts of table number ``table``, each of about ``size`` bytes."""
    extents = [extent for member in layout.members for extent in _extents(member, size, plain=layout.plain)] or [Extent()]
    return [Part(table, number, len(extents), extent) for number, extent in enumerate(extents)]


def _extents(member: Member, size: int, *, plain: bool) -> Iterator[Extent]:
    wanted = 1 if member.pages is None else min(-(-member.weight // size), member.pages)
    for extent in page_extents(member.pages or 1, wanted):
        yield extent if plain else replace(extent, member=(member.schema, member.table))


def of_one_heap(part: Part, layout: DiskLayout) -> bool:
    """Whether a ctid identifies each row of the part."""
    if part.extent.member is None:
        return layout.plain and layout.members[0].pages is not None
    return any((member.schema, member.table) == part.extent.member and member.pages is not None for member in layout.members)


def tasks(weights: Sequence[int], size: int) -> list[list[int]]:
    """The tasks for parts of these ``weights``, as indices of the parts. Small parts share a task, in their order."""
    made: list[list[int]] = []
    together: list[int] = []
    gathered = 0
    for place, weight in enumerate(weights):
        if weight >= size // 2:
            made.append([place])
            continue
        if together and (gathered + weight > size or len(together) == _MOST_TOGETHER):
            made.append(together)
            together, gathered = [], 0
        together.append(place)
        gathered += weight
    return [*made, together] if together else made
