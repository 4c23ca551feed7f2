"""The present names, in the source, of columns that earlier events name. Pure.

PostgreSQL keeps a column's place in the catalog when it renames the column, keeps the places of dropped columns, and adds columns at the
end (PostgreSQL manual, "pg_attribute": ``attnum``, ``attisdropped``). So the columns between two others are those that were there earlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from pyspark.sql.types import DataType

from workers.spark.tables.table import Column


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the catalog: a column's name and the type of its values. ``name`` is None if the column was dropped."""

    name: str | None
    type: DataType | None = None


def present_names(columns: Sequence[Column], places: Sequence[Place]) -> dict[str, str]:
    """The present name of each of ``columns`` (those of an event, in their order) that ``places`` have. Others are absent.

    A column that has its former name is the same one. A column that was renamed is found if no dropped one can be meant, and if the types
    are of the same class: the events may lack columns that the source has (``column.exclude.list``).
    """
    at = {place.name: number for number, place in enumerate(places) if place.name is not None}
    found = {column.name: column.name for column in columns if column.name in at}
    there = [at[name] for name in found]
    if there != sorted(there):
        # A column was added again at the end, or a transform has changed the order.
        return found
    gap: list[Column] = []
    begin = 0
    for column in columns:
        if column.name in at:
            found |= _pairs(gap, places[begin : at[column.name]], closed=True)
            gap, begin = [], at[column.name] + 1
        else:
            gap.append(column)
    return found | _pairs(gap, places[begin:], closed=False)


def _pairs(gap: Sequence[Column], places: Sequence[Place], *, closed: bool) -> dict[str, str]:
    """The names of the columns of a gap. It is ``closed`` if no place in it can belong to a column that was added later."""
    live = [place for place in places if place.name is not None]
    if not (closed and len(live) == len(gap)):
        # A place before the first dropped one is the first column's or nobody's: it was there when any later place was.
        live = list(takewhile(lambda place: place.name is not None, places))
    pairs = zip(gap, live, strict=False)
    return {column.name: place.name for column, place in pairs if place.name is not None and type(place.type) is type(column.kind.type)}
