"""Remembers the highest keys of Delta tables, so that a batch of higher ones is known to be new without a look at the table.

The initial rows of a table, and the rows of one that only grows, mostly come in the order of a key of whole numbers, or of their places.
"""

from __future__ import annotations

from dataclasses import dataclass

from workers.spark.sinks.incoming import Ends, Incoming


@dataclass(frozen=True, slots=True)
class _Highest:
    """No value of a key's ``column`` is above ``value`` in this version of the table."""

    version: int
    column: str
    value: int | bytes


class HighestKeys:
    """The highest keys of the tables of one process, which is the only one that adds rows. Pure.

    A table is named by its id. What is known of it counts for one version. A commit of another process ends it, and so does a truncate:
    new keys may be below those of the rows that it removes.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Highest] = {}

    def forget(self, table: str) -> None:
        """Forget the keys of a table whose columns have changed."""
        self._known.pop(table, None)

    def lacks(self, table: str, version: int | None, batch: Incoming) -> bool | None:
        """Whether the table's version has none of the batch's keys; None if that is not known."""
        known, ends = self._known.get(table), batch.ends
        if known is None or ends is None or batch.bounds is None or (known.version, known.column) != (version, batch.bounds[0]):
            return None
        return _above(ends, known.value)

    def below(self, table: str, version: int | None, batch: Incoming) -> None:
        """Remember that all keys of the table's version are below the batch's."""
        if version is not None and batch.ends is not None and batch.bounds is not None:
            self._known[table] = _Highest(version, batch.bounds[0], batch.ends[1])

    def brought(self, table: str, before: int | None, version: int | None, batch: Incoming, commits: int = 1) -> None:
        """Remember the keys of the version after the batch, which made so many commits.

        ``before`` is the version before it; -1 if the batch created the table.
        """
        known, ends = self._known.pop(table, None), batch.ends
        if before is None or version != before + commits or ends is None or batch.bounds is None or batch.truncated is not None:
            return
        column, highest = batch.bounds[0], ends[1]
        if before >= 0:
            if known is None or (known.version, known.column) != (before, column) or type(known.value) is not type(highest):
                return
            highest = highest if _above((highest, highest), known.value) else known.value
        self._known[table] = _Highest(version, column, highest)


def _above(ends: Ends, value: int | bytes) -> bool:
    match ends[0], value:
        case (int() as low, int() as known):
            return low > known
        case (bytes() as low, bytes() as known):
            return low > known
        case _:
            return False
