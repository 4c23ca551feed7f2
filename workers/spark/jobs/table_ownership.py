"""Determines whose rows a table holds: those of this checkpoint's earlier batches, none, or rows that are not in the checkpoint.

A checkpoint and its tables belong together. If a filled table is missing, a new one would have only new rows. If a table
holds rows that the checkpoint did not write, their origin is unknown. Both are refused until the user requests a rebuild.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.jobs.checkpoint import Checkpoint, State
from workers.spark.tables.table import ALL, LSN, Again, Effects, Sink

HISTORY: Final = "_history"
"""The suffix of a history's table, after the source table's name."""


class TableOwnership:
    """Decides for each table. ``rebuild`` names those whose rows may be replaced. ``lacks``: topic → what it no longer holds, or None.

    ``suffix`` follows the source's names in those of the tables (:data:`HISTORY`).
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        sink: Sink,
        rebuild: Collection[str] = (),
        lacks: Callable[[str], str | None] = lambda _topic: None,
        suffix: str = "",
    ) -> None:
        self._checkpoint = checkpoint
        self._sink = sink
        self._rebuild = rebuild
        self._lacks = lacks
        self._suffix = suffix

    def settled(self, number: int, before: State, found: Sequence[tuple[str, Effects]]) -> list[Effects]:
        """The effects of turn ``number``, by topic, with the marks that follow from the ownership of the tables.

        Raises JobError for a table with rows that are not in the checkpoint.
        """
        kept = {state.kept for state in before.topics.values()}
        # A state with ``followed`` but without ``kept`` is from an older version, which did not store ``kept``.
        followed = {name for name, state in before.topics.items() if state.followed is not None}
        new = [
            (topic, one)
            for topic, one in found
            if topic not in before.replacing and topic not in followed and one.table.full_name not in kept
        ]
        noted = self._noted(number, new)
        # Several topics may fill one table. What another one has filled, or fills in this turn, is not replaced.
        filled = {state.kept for name, state in before.topics.items() if name not in before.replacing}
        fills = {name: state.kept for name, state in before.topics.items()} | {topic: one.table.full_name for topic, one in found}
        several = Counter(fills.values())
        unsaid = any(before.topics[name].kept is None for name in followed)
        settled: list[Effects] = []
        for topic, one in found:
            name = one.table.full_name
            if name not in filled and (topic in before.replacing or noted.get(name)):
                settled.append(replace(one, truncated=ALL))
                filled.add(name)
            else:
                alone = several[name] == 1 and not unsaid
                again = Again.CLEARED if one.again is Again.SHOWN and alone else one.again
                settled.append(replace(one, known=name in kept, again=again))
        return settled

    def _noted(self, number: int, new: Sequence[tuple[str, Effects]]) -> dict[str, bool]:
        """New table of this turn → whether its rows are replaced. This is decided once, even if the turn is repeated."""
        if not new:
            return {}
        noted = self._checkpoint.noted_new(number)
        more = {one.table.full_name: self._replaced(topic, one) for topic, one in new if one.table.full_name not in noted}
        if more:
            noted |= more
            self._checkpoint.note_new(number, noted)
        return noted

    def _replaced(self, topic: str, effects: Effects) -> bool:
        """Whether rows exist that must be replaced. Raises JobError when rows exist that must not be."""
        table = effects.table
        there = self._sink.read(table, effects.session)
        # The sink itself refuses a table that is not a mirror.
        if there is None or LSN not in there.columns or there.isEmpty():
            return False
        if not {table.full_name, table.full_name.removesuffix(self._suffix), topic} & {*self._rebuild}:
            raise JobError(
                UNREADABLE,
                f"The table of {table.full_name} holds rows already, but the checkpoint {self._checkpoint.folder} knows nothing of them. "
                f"Name the checkpoint that belongs to the table, remove the table, or replace its rows with --rebuild {table.full_name}.",
            )
        check_whole(self._lacks, topic, table.full_name)
        return True


def check_whole(lacks: Callable[[str], str | None], topic: str, name: str) -> None:
    """Raise JobError when the topic no longer holds all records of the table."""
    gone = lacks(topic)
    if gone is not None:
        raise JobError(
            UNREADABLE,
            f"{name} cannot be rebuilt: {gone}. Signal a blocking snapshot of the table to the connector (execute-snapshot, type "
            "blocking): it sends all rows again. At its end start with --rebuild once more.",
        )
