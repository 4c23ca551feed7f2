"""A random workload that depends only on its seed: statements for twenty tables, and the resulting rows as far as they are known.

Pure: it yields SQL and never sees a server. It follows which rows are there by their numbers (a row's key is a function of its number), so
that every statement fits; what the rows hold only the server knows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from random import Random
from typing import Final

from tests.support.spark.workload_draft import MANY, Draft, Step, Table, Unit
from tests.support.spark.workload_tables import ddl, shapes
from tests.support.spark.workload_values import EXTENSIONS, MOODS

GREAT: Final = 20_000
"""Changes of the one great transaction, in a workload of at least five times as many; else a fifth of them all."""


class Workload:
    """All that happens, in order: :attr:`schema`, :meth:`initial`, :meth:`units`, :meth:`closing`.

    ``offers`` names the extensions (and ``xml``) of the server; columns of other types are left out.
    """

    def __init__(self, seed: int, offers: Collection[str] = ()) -> None:
        self._rng = Random(seed)
        self.tables = [Table(shape, shape.columns) for shape in shapes(offers)]
        self._extensions = sorted({EXTENSIONS[kind] for kind in EXTENSIONS} & set(offers) - {"xml"})

    @property
    def schema(self) -> list[str]:
        """The statements that make the tables as they are at first."""
        made = [f"CREATE EXTENSION {name}" for name in self._extensions]
        labels = ", ".join(f"'{label}'" for label in MOODS)
        made += [f"CREATE TYPE mood AS ENUM ({labels})", "CREATE DOMAIN price AS numeric(10,2)", "CREATE DOMAIN year AS integer"]
        return made + [statement for table in self.tables for statement in ddl(table.shape)]

    def initial(self, rows: int) -> Unit:
        """So many rows in each table, for the snapshot."""
        draft = Draft(self._rng, self.tables)
        for table in self.tables:
            for start in range(0, rows, 50):
                draft.insert(table, min(50, rows - start))
        return _unit(draft)

    def units(self, changes: int) -> Iterator[Unit]:
        """Transactions until ``changes`` are committed: one great one in the middle, and more of everything the more there are."""
        rng, done = self._rng, 0
        great = min(GREAT, changes // 5)
        turns = sorted(
            [(rng.randrange(changes), "alter") for _ in range(12 + changes // 5000)]
            + [(rng.randrange(changes), "truncate") for _ in range(4 + changes // 5000)]
            + [(rng.randrange(changes), "cascade")]
            + [(changes // 2, "great")]
        )
        while done < changes:
            turn = turns.pop(0)[1] if turns and turns[0][0] <= done else None
            unit = (
                self._great(great)
                if turn == "great"
                else self._turn(turn)
                if turn
                else self._pair()
                if rng.random() < 0.15
                else self._one()
            )
            done += unit.changes
            yield unit

    def closing(self) -> Unit:
        """A change in every table, so that the events show all columns."""
        draft = Draft(self._rng, self.tables)
        for table in self.tables:
            draft.touch(table)
        return _unit(draft)

    def _size(self) -> int:
        rng = self._rng
        most = rng.choices([1, 20, 100, MANY], [30, 50, 15, 5])[0]
        return rng.randrange(1, most + 1)

    def _one(self) -> Unit:
        draft = Draft(self._rng, self.tables)
        draft.fill(self._size())
        return _unit(draft, commit=self._rng.random() > 0.06)

    def _great(self, changes: int) -> Unit:
        draft = Draft(self._rng, self.tables)
        draft.fill(changes)
        return _unit(draft)

    def _turn(self, turn: str) -> Unit:
        """A transaction with a change of columns or a truncate among its changes."""
        draft = Draft(self._rng, self.tables)
        draft.fill(self._rng.randrange(5))
        if turn == "alter":
            draft.alter()
        else:
            draft.truncate(parent=turn == "cascade")
        draft.fill(draft.changes + self._rng.randrange(8))
        return _unit(draft, commit=self._rng.random() > 0.15)

    def _pair(self) -> Unit:
        """Two transactions at a time, on different rows; those that touch others' rows by themselves take no part."""
        rng = self._rng
        free = [table for table in self.tables if not table.shape.closed]
        drafts = [Draft(rng, free, session, session) for session in (0, 1)]
        for _ in range(rng.randrange(1, 6)):
            for draft in rng.sample(drafts, 2):
                draft.fill(draft.changes + rng.randrange(8))
        for draft in drafts:
            draft.end(commit=rng.random() > 0.1)
        steps: list[Step] = []
        left = [list(draft.steps) for draft in drafts]
        while any(left):
            steps.append(rng.choice([queue for queue in left if queue]).pop(0))
        return Unit(tuple(steps), sum(draft.changes for draft in drafts))


def _unit(draft: Draft, *, commit: bool = True) -> Unit:
    draft.end(commit=commit)
    return Unit(tuple(draft.steps), draft.changes)
