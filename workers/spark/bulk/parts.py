"""Which parts the tables of a bulk snapshot are read in, and which of them make a task. Pure.

A part is a range of pages (ctid) of one heap. A partitioned table, and one with children, is read member by member, where that gives
the same rows: nobody's row security is in the way, and the role may read each member. A foreign member is one part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from connector.chunks import Part
from connector.snapshot import Chunk, page_chunks

_MOST_BYTES: Final = 32 * 1024 * 1024
"""Of a part: some seconds of work, so that what one executor loses is soon read by another, and progress shows."""
_LEAST_BYTES: Final = 512 * 1024
"""Below it, handing a part over costs more than it gains."""
_ROUNDS: Final = 4
"""Parts for each reader at least, while they are large enough: readers that are quicker read more of them."""
_MOST_TOGETHER: Final = 200
"""Small parts in one task."""


@dataclass(frozen=True, slots=True)
class Member:
    """A table that holds rows: ``pages`` of a heap, None where there are no ranges of pages; ``weight`` with TOAST, in bytes."""

    schema: str
    table: str
    pages: int | None
    weight: int


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table lies on disk. Without ``members`` it must be read in one piece."""

    members: tuple[Member, ...]
    weight: int
    plain: bool
    """The only member is the table itself."""


def part_bytes(layouts: Sequence[Layout], readers: int) -> int:
    """How large a part is to be when so many read at once."""
    total = sum(layout.weight for layout in layouts)
    return max(_LEAST_BYTES, min(_MOST_BYTES, total // (readers * _ROUNDS)))


def parts_of(table: int, layout: Layout, size: int) -> list[Part]:
    """The parts of table number ``table``, each of about ``size`` bytes."""
    chunks = [chunk for member in layout.members for chunk in _chunks(member, size, plain=layout.plain)] or [Chunk()]
    return [Part(table, number, len(chunks), chunk) for number, chunk in enumerate(chunks)]


def _chunks(member: Member, size: int, *, plain: bool) -> Iterator[Chunk]:
    wanted = 1 if member.pages is None else min(-(-member.weight // size), member.pages)
    for chunk in page_chunks(member.pages or 1, wanted):
        yield chunk if plain else replace(chunk, member=(member.schema, member.table))


def of_one_heap(part: Part, layout: Layout) -> bool:
    """Whether the part's rows have a ctid that tells them apart."""
    if part.chunk.member is None:
        return layout.plain and layout.members[0].pages is not None
    return any((member.schema, member.table) == part.chunk.member and member.pages is not None for member in layout.members)


def tasks(weights: Sequence[int], size: int) -> list[list[int]]:
    """Parts of these ``weights``, by their places, that are read one after the other: small ones together, in their order."""
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
