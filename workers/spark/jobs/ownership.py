"""Whose rows a table holds: those of this checkpoint's earlier batches, none yet, or rows that the checkpoint knows nothing of.

A checkpoint and its tables belong together. A table that is gone though it was filled would be made again with new rows only; one that
holds rows though the checkpoint has brought it none may hold anything. Both are refused until somebody asks for a rebuild.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.jobs.checkpoint import Checkpoint, State
from workers.spark.tables.table import ALL, LSN, Effects, Sink

HISTORY: Final = "_history"
"""What the name of a history's table ends with, behind the source table's name."""


class Ownership:
    """``rebuild`` names the tables whose rows may be replaced; ``lacks`` says of a topic what it no longer holds, None for nothing."""

    def __init__(
        self, checkpoint: Checkpoint, sink: Sink, rebuild: Collection[str] = (), lacks: Callable[[str], str | None] = lambda _topic: None
    ) -> None:
        self._checkpoint = checkpoint
        self._sink = sink
        self._rebuild = rebuild
        self._lacks = lacks

    def settled(self, number: int, before: State, found: Sequence[tuple[str, Effects]]) -> list[Effects]:
        """The effects of turn ``number``, by topic, marked as the tables' owner may have them.

        Raises JobError for rows of a table that the checkpoint knows nothing of.
        """
        kept = {state.kept for state in before.topics.values()}
        # Where none of it was kept, though a table follows its topic, the checkpoint is an older one: it told nothing of that.
        followed = {name for name, state in before.topics.items() if state.followed is not None}
        new = [
            (topic, one) for topic, one in found if topic not in before.anew and topic not in followed and one.table.full_name not in kept
        ]
        noted = self._noted(number, new)
        return [
            replace(one, truncated=ALL)
            if topic in before.anew or noted.get(one.table.full_name)
            else replace(one, known=one.table.full_name in kept)
            for topic, one in found
        ]

    def _noted(self, number: int, new: Sequence[tuple[str, Effects]]) -> dict[str, bool]:
        """Which tables are new in this turn, and whether their rows are replaced: decided once, however often the turn is repeated."""
        if not new:
            return {}
        noted = self._checkpoint.noted_new(number)
        more = {one.table.full_name: self._replaced(topic, one) for topic, one in new if one.table.full_name not in noted}
        if more:
            noted |= more
            self._checkpoint.note_new(number, noted)
        return noted

    def _replaced(self, topic: str, effects: Effects) -> bool:
        """Whether there are rows that are to be replaced. Raises JobError when there are some that are not."""
        table = effects.table
        there = self._sink.read(table, effects.rows.sparkSession)
        # What is no mirror the sink itself refuses.
        if there is None or LSN not in there.columns or there.isEmpty():
            return False
        if not {table.full_name, table.full_name.removesuffix(HISTORY), topic} & {*self._rebuild}:
            raise JobError(
                UNREADABLE,
                f"The table of {table.full_name} holds rows already, but the checkpoint {self._checkpoint.folder} knows nothing of them. "
                f"Name the checkpoint that belongs to the table, remove the table, or replace its rows with --rebuild {table.full_name}.",
            )
        check_whole(self._lacks, topic, table.full_name)
        return True


def check_whole(lacks: Callable[[str], str | None], topic: str, name: str) -> None:
    """Raise JobError when the topic no longer holds all that the table is made of."""
    gone = lacks(topic)
    if gone is not None:
        raise JobError(
            UNREADABLE,
            f"{name} cannot be rebuilt: {gone}. Signal a blocking snapshot of the table to the connector (execute-snapshot, type "
            "blocking): it sends all rows again. At its end start with --rebuild once more.",
        )
