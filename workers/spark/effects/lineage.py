"""Finds the values that a row keeps when its key changes. Pure.

An update of the primary key, a *move*, arrives as a delete of the old key and a create of the new one. Both have the LSN of the update.
PostgreSQL does not send large values that the update did not change, so the create may lack them. A lacking value is in an earlier
change of the batch, or in the target, or in an earlier move of the row. If the create of a move has not been read yet, all values are
found, because it may lack any of them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from workers.spark.topics.events import GONE, WHOLE


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A change of the row with some key. ``lacking`` names the columns that were not sent; None for a change without a row."""

    partition: int
    offset: int
    op: str
    came: bool
    left: bool
    lsn: int | None
    lacking: frozenset[str] | None


RecordPlace = tuple[int, int]
"""Partition and offset."""


@dataclass(frozen=True, slots=True)
class Source:
    """The place of a value, which is one of four.

    - ``place``: the change at this place has the value.
    - ``place`` and ``in_target``: the target's row with the key of that change has it.
    - ``kept``: an earlier batch kept it with this move.
    - ``unseen``: this move has it, and has not been read yet.
    """

    place: RecordPlace | None = None
    in_target: bool = False
    kept: int | None = None
    unseen: int | None = None


@dataclass(frozen=True, slots=True)
class Pick:
    """The place of the value that ``column`` has after the move ``lsn``."""

    lsn: int
    column: str
    source: Source


@dataclass(frozen=True, slots=True)
class MoveValues:
    """The places of the values that the moves of a batch need, and the changes that must wait.

    The changes at ``held`` wait for the moves ``unseen``, which have not been read yet: they are the creates that lack values of such a
    move, and all later changes of their keys. A value whose place is unknown is not in ``picks``.
    """

    picks: Sequence[Pick]
    held: frozenset[RecordPlace]
    unseen: frozenset[int]


class Lineage:
    """The moves of a batch.

    ``trails`` has all changes of each key that is the old or the new key of a move. ``columns`` are those that PostgreSQL may omit.
    ``earlier`` has the moves that earlier batches kept, ``lost`` those that are no longer awaited.
    """

    def __init__(
        self, trails: Iterable[Sequence[KeyChange]], columns: Sequence[str], earlier: Container[int], lost: Container[int] = ()
    ) -> None:
        self._columns = columns
        self._earlier = earlier
        self._lost = lost
        self._trails = [sorted(trail, key=lambda step: step.offset) for trail in trails]
        self._left: dict[int, tuple[Sequence[KeyChange], int]] = {}
        """Move → all changes of the old key, oldest first, and the index of the delete in them."""
        self._lacking: dict[int, set[str]] = {}
        for trail in self._trails:
            for at, step in enumerate(trail):
                if step.lsn is None:
                    continue
                if step.left and step.op == "d":
                    # For a move that was sent again after a crash, the first delete counts.
                    self._left.setdefault(step.lsn, (trail, at))
                if step.came and step.lacking is not None:
                    self._lacking.setdefault(step.lsn, set()).update(step.lacking)

    def found(self) -> MoveValues:
        """The places of all values that the moves need."""
        wanted = {
            lsn: {column: self._source(lsn, column) for column in self._columns if column in names} for lsn, names in self._lacking.items()
        }
        unseen = {
            lsn: {source.unseen for source in sources.values() if source is not None and source.unseen is not None}
            for lsn, sources in wanted.items()
        }
        late = {lsn for lsn, of in unseen.items() if of}
        held = frozenset(self._since(late))
        # The next batch processes waiting changes again, as if they had not been read.
        for lsn, (trail, at) in self._left.items():
            if lsn not in self._lacking and lsn not in self._earlier and _place(trail[at]) not in held:
                wanted[lsn] = {column: self._source(lsn, column) for column in self._columns}
        picks = [
            Pick(lsn, column, source)
            for lsn, sources in wanted.items()
            if lsn not in late
            for column, source in sources.items()
            if source is not None and source.unseen is None
        ]
        return MoveValues(picks, held, frozenset().union(*unseen.values()))

    def _since(self, late: Container[int]) -> Iterator[RecordPlace]:
        """The places of the creates of these moves, and of all later changes of their keys."""
        for trail in self._trails:
            first = next((at for at, step in enumerate(trail) if step.came and step.lacking is not None and step.lsn in late), len(trail))
            for at in range(first, len(trail)):
                yield _place(trail[at])

    def _source(self, lsn: int, column: str) -> Source | None:
        passed: set[int] = set()
        while lsn not in passed:
            passed.add(lsn)
            if lsn in self._earlier:
                return Source(kept=lsn)
            if lsn not in self._left:
                return None if lsn in self._lost else Source(unseen=lsn)
            trail, at = self._left[lsn]
            for step in (trail[before] for before in range(at - 1, -1, -1)):
                if step.op in GONE:
                    return None
                if step.lacking is not None and column not in step.lacking:
                    return Source(_place(step))
                if step.op in WHOLE:
                    if not step.came or step.lsn is None:
                        return None
                    lsn = step.lsn
                    break
            else:
                return Source(_place(trail[at]), in_target=True)
        return None


def _place(step: KeyChange) -> RecordPlace:
    return step.partition, step.offset
