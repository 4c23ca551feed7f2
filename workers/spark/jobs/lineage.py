"""Where the values are that a row took along to another key. Pure.

An update of the primary key comes as a delete of the old key and a create of the new one, both with the LSN of the one change, the
*move*. PostgreSQL sends no large value that the update left alone, so the create may lack values which the row had under its old key:
then some change of the batch sent it there last, or the target has it as it was before the batch, or the row came to its old key by
another move. Of a row that left its key without having been seen at the new one yet all values are found: that may lack any of them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from workers.spark.topics.events import GONE, WHOLE


@dataclass(frozen=True, slots=True)
class Step:
    """A change of a key. ``lacking`` names the columns that were not sent; it is None where there is no row at all."""

    partition: int
    offset: int
    op: str
    came: bool
    left: bool
    lsn: int | None
    lacking: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value is.

    In the change at ``place`` (partition, offset); or, ``in_target``, in the target's row with the key of that change; or in what an
    earlier batch kept of the move ``kept``. With none of them the move that had it is still to be seen.
    """

    place: tuple[int, int] | None = None
    in_target: bool = False
    kept: int | None = None


UNSEEN: Final = Source()


@dataclass(frozen=True, slots=True)
class Pick:
    """The value of ``column`` that the move ``lsn`` took along is at ``source``."""

    lsn: int
    column: str
    source: Source


class Lineage:
    """The moves of a batch.

    ``trails`` are all changes of each key that a row left or came to, of other keys or none; ``columns`` are those that may be left
    out; ``earlier`` has the moves that earlier batches kept.
    """

    def __init__(self, trails: Iterable[Sequence[Step]], columns: Sequence[str], earlier: Container[int]) -> None:
        self._columns = columns
        self._earlier = earlier
        self._left: dict[int, tuple[Sequence[Step], int]] = {}
        """For each move all changes of the old key, oldest first, and the place of the delete among them."""
        self._lacking: dict[int, set[str]] = {}
        for trail in trails:
            ordered = sorted(trail, key=lambda step: step.offset)
            for at, step in enumerate(ordered):
                if step.lsn is None:
                    continue
                if step.left and step.op == "d":
                    # A move that was sent again after a crash left its key the first time.
                    self._left.setdefault(step.lsn, (ordered, at))
                if step.came and step.lacking is not None:
                    self._lacking.setdefault(step.lsn, set()).update(step.lacking)

    def picks(self) -> tuple[list[Pick], bool]:
        """Where all values are that the moves need, and whether rows lack some of a move that is still to be seen.

        What nothing tells is in no pick.
        """
        wanted = [(lsn, column) for lsn, names in self._lacking.items() for column in self._columns if column in names]
        open_ = [lsn for lsn in self._left if lsn not in self._lacking and lsn not in self._earlier]
        found = [(lsn, column, self._source(lsn, column)) for lsn, column in wanted]
        unseen = any(source is UNSEEN for _, _, source in found)
        found += [(lsn, column, self._source(lsn, column)) for lsn in open_ for column in self._columns]
        return [Pick(lsn, column, source) for lsn, column, source in found if source is not None and source is not UNSEEN], unseen

    def _source(self, lsn: int, column: str) -> Source | None:
        passed: set[int] = set()
        while lsn not in passed:
            passed.add(lsn)
            if lsn in self._earlier:
                return Source(kept=lsn)
            if lsn not in self._left:
                return UNSEEN
            trail, at = self._left[lsn]
            for step in (trail[before] for before in range(at - 1, -1, -1)):
                if step.op in GONE:
                    return None
                if step.lacking is not None and column not in step.lacking:
                    return Source((step.partition, step.offset))
                if step.op in WHOLE:
                    if not step.came or step.lsn is None:
                        return None
                    lsn = step.lsn
                    break
            else:
                return Source((trail[at].partition, trail[at].offset), in_target=True)
        return None
