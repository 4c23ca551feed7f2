"""Where the values are that a row took along to another key. Pure.

An update of the primary key comes as a delete of the old key and a create of the new one, both with the LSN of the one change, the
*move*. PostgreSQL sends no large value that the update left alone, so the create may lack values which the row had under its old key:
then some change of the batch sent it there last, or the target has it as it was before the batch, or the row came to its old key by
another move. Of a row that left its key without having been seen at the new one yet all values are found: that may lack any of them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

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


Place = tuple[int, int]
"""Partition and offset."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value is.

    In the change at ``place``; or, ``in_target``, in the target's row with the key of that change; or in what an earlier batch kept of
    the move ``kept``. Or the move ``unseen``, which had it, is still to be read.
    """

    place: Place | None = None
    in_target: bool = False
    kept: int | None = None
    unseen: int | None = None


@dataclass(frozen=True, slots=True)
class Pick:
    """The value of ``column`` that the move ``lsn`` took along is at ``source``."""

    lsn: int
    column: str
    source: Source


@dataclass(frozen=True, slots=True)
class Found:
    """What a batch's moves need: ``picks``, and what has to wait for the moves ``unseen``, which are still to be read.

    These are the changes at the places ``held``: a row that lacks values of such a move, and all that its key went through since.
    What nothing tells is in no pick.
    """

    picks: Sequence[Pick]
    held: frozenset[Place]
    unseen: frozenset[int]


class Lineage:
    """The moves of a batch.

    ``trails`` are all changes of each key that a row left or came to, of other keys or none; ``columns`` are those that may be left
    out; ``earlier`` has the moves that earlier batches kept, ``lost`` those that are no longer waited for.
    """

    def __init__(
        self, trails: Iterable[Sequence[Step]], columns: Sequence[str], earlier: Container[int], lost: Container[int] = ()
    ) -> None:
        self._columns = columns
        self._earlier = earlier
        self._lost = lost
        self._trails = [sorted(trail, key=lambda step: step.offset) for trail in trails]
        self._left: dict[int, tuple[Sequence[Step], int]] = {}
        """For each move all changes of the old key, oldest first, and the place of the delete among them."""
        self._lacking: dict[int, set[str]] = {}
        for trail in self._trails:
            for at, step in enumerate(trail):
                if step.lsn is None:
                    continue
                if step.left and step.op == "d":
                    # A move that was sent again after a crash left its key the first time.
                    self._left.setdefault(step.lsn, (trail, at))
                if step.came and step.lacking is not None:
                    self._lacking.setdefault(step.lsn, set()).update(step.lacking)

    def found(self) -> Found:
        """Where all values are that the moves need."""
        wanted = {
            lsn: {column: self._source(lsn, column) for column in self._columns if column in names} for lsn, names in self._lacking.items()
        }
        unseen = {
            lsn: {source.unseen for source in sources.values() if source is not None and source.unseen is not None}
            for lsn, sources in wanted.items()
        }
        late = {lsn for lsn, of in unseen.items() if of}
        held = frozenset(self._since(late))
        # What waits is looked at again with the next batch, as if it had not been read yet.
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
        return Found(picks, held, frozenset().union(*unseen.values()))

    def _since(self, late: Container[int]) -> Iterator[Place]:
        """The places of the creates of these moves, and of all that follows them at their keys."""
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


def _place(step: Step) -> Place:
    return step.partition, step.offset
