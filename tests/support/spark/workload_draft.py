"""One transaction of the random workload in the making, and the tables as the statements so far leave them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from tests.support.spark.workload_tables import Column, Shape
from tests.support.spark.workload_values import KINDS

MANY: Final = 500
"""The most changes of an ordinary transaction."""
ROWS: Final = 400
"""Tables of more rows shrink rather than grow."""
WIDEST: Final = 12
"""Columns beside the key that a table gets at most."""
ADDED: Final = (
    ("integer", "7"),
    ("integer", "-2147483648"),
    ("bigint", None),
    ("text", "it's é"),
    ("text", None),
    ("varchar(40)", ""),
    ("numeric(10,2)", "12.50"),
    ("boolean", "t"),
    ("date", "2020-02-29"),
    ("timestamptz", "2020-01-02 03:04:05.000006+00"),
    ("jsonb", None),
    ("bytea", None),
    ("text[]", None),
)
"""Types of columns that come later, and the default that rows of before have."""
WIDER: Final = {
    "smallint": "integer",
    "integer": "bigint",
    "varchar(40)": "text",
    "numeric(10,2)": "numeric(14,2)",
    "numeric(14,2)": "numeric(18,6)",
}


@dataclass(frozen=True, slots=True)
class Step:
    """A statement in one of two sessions; ``lines`` is what a COPY reads."""

    session: int
    sql: str
    lines: str | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """One transaction, or two that overlap: steps in their order, and how many changes they commit at least."""

    steps: tuple[Step, ...]
    changes: int


@dataclass(slots=True)
class Table:
    """A table after the statements so far. ``stale``: its columns changed, and no change of a row has followed yet."""

    shape: Shape
    columns: tuple[Column, ...]
    live: set[int] = field(default_factory=set)
    next: int = 1
    named: int = 0
    stale: bool = False

    @property
    def name(self) -> str:
        return self.shape.name

    @property
    def keyed(self) -> bool:
        return bool(self.shape.key)


class Draft:
    """One transaction in the making. ``lane`` keeps to rows of even (0) or odd (1) numbers, so that two may overlap."""

    def __init__(self, rng: Random, tables: Sequence[Table], session: int = 0, lane: int | None = None) -> None:
        self.rng = rng
        self.tables = tables
        self.lane = lane
        self.steps: list[Step] = []
        self.changes = 0
        self._session = session
        self._undo: list[Callable[[], None]] = []
        self._points = 0
        self.say("BEGIN")

    def say(self, sql: str, lines: str | None = None) -> None:
        self.steps.append(Step(self._session, sql, lines))

    def end(self, *, commit: bool) -> None:
        if not commit:
            self._back(0)
            self.changes = 0
        self.say("COMMIT" if commit else "ROLLBACK")

    def fill(self, changes: int) -> None:
        """At least this number of random changes. Some follow a savepoint, and some of those are rolled back."""
        guard = 0
        while self.changes < changes and guard < 4 * changes + 20:
            guard += 1
            if self.rng.random() < 0.06:
                self._behind_a_savepoint(changes)
            else:
                self._change(changes - self.changes)

    def truncate(self, *, parent: bool) -> None:
        """One table, several, or (always with ``parent``) one with those that point to it."""
        rng = self.rng
        some = rng.sample(self.tables, rng.choice([1, 1, 1, 2, 3]))
        if parent:
            some = [self._table("parent")]
        words = " RESTART IDENTITY" if rng.random() < 0.4 else ""
        # The rows of child hold keys of parent.
        if any(table.name == "parent" for table in some):
            words += " CASCADE"
            some = list({table.name: table for table in (*some, self._table("child"))}.values())
        named = [table for table in some if not (words.endswith("CASCADE") and table.name == "child")]
        self.say(f"TRUNCATE {', '.join(table.name for table in named)}{words}")
        for table in some:
            before, table.live = table.live, set()
            self._undo.append(lambda table=table, before=before: setattr(table, "live", before))  # type: ignore[misc]
        self.changes += len(some)

    def alter(self) -> None:
        """A new, dropped, renamed or widened column; then a change of a row, whose event shows it."""
        table = self.rng.choice([table for table in self.tables if table.shape.evolves])
        if table.stale:
            self.touch(table)
        ways = [self._add, self._add, self._rename, self._rename, self._retype, self._drop]
        self.rng.choice(ways)(table)
        if self.rng.random() < 0.7:
            self.touch(table)

    def touch(self, table: Table) -> None:
        """Change a row, so that an event shows the table's columns."""
        if table.keyed and self._mine(table):
            self._update(table, 1)
        else:
            self._insert(table, 1)

    def insert(self, table: Table, rows: int) -> None:
        """So many new rows."""
        self._insert(table, rows)

    # --- what a transaction consists of

    def _behind_a_savepoint(self, changes: int) -> None:
        self._points += 1
        name, mark, before = f"s{self._points}", len(self._undo), self.changes
        self.say(f"SAVEPOINT {name}")
        for _ in range(self.rng.randrange(1, 4)):
            self._change(max(1, changes - self.changes))
        if self.rng.random() < 0.5:
            self.say(f"ROLLBACK TO {name}")
            self._back(mark)
            self.changes = before
        else:
            self.say(f"RELEASE {name}")

    def _change(self, most: int) -> None:
        rng = self.rng
        table = rng.choice(self.tables)
        rows = min(most, rng.choice([1, 1, 1, 2, 3, 5, 8]) if most <= MANY else rng.randrange(50, 400))
        if not table.keyed:
            (self._copy if rng.random() < 0.4 else self._insert)(table, rows)
            return
        mine = self._mine(table)
        shrink = len(table.live) > ROWS
        ways: list[tuple[int, Callable[[Table, int], None]]] = [
            (4 if shrink else 26, self._insert),
            (36, self._update),
            (5, self._upsert),
            (4, self._merge),
            (24 if shrink else 10, self._delete),
            (4, self._remake),
            (6, self._move),
            (3, self._chain),
            (3, self._swap),
        ]
        if len(mine) < 5:
            ways = ways[:1]
        [(_, way)] = rng.choices(ways, [weight for weight, _ in ways])
        way(table, min(rows, len(mine)) if len(mine) >= 5 else rows)

    def _insert(self, table: Table, rows: int) -> None:
        numbers = [self._fresh(table) for _ in range(rows)]
        self._insert_numbers(table, numbers)

    def _insert_numbers(self, table: Table, numbers: Sequence[int], tail: str = "") -> None:
        names = [name for name, _, _ in table.shape.key] + [column.name for column in table.columns]
        rows = [f"({', '.join([*_key(table, number), *self._values(table)])})" for number in numbers]
        if not table.keyed and len(rows) > 1 and self.rng.random() < 0.3:
            # Two equal rows, which cannot be distinguished.
            rows[-1] = rows[0]
        if table.name == "child":
            names.append("parent_id")
            rows = [f"{row[:-1]}, (SELECT min(id) FROM parent))" for row in rows]
        self.say(f"INSERT INTO {table.name} ({', '.join(names)}) VALUES {', '.join(rows)}{tail}")
        for number in numbers:
            self._put(table, number)
        self._reported(table, len(numbers))

    def _copy(self, table: Table, rows: int) -> None:
        numbers = [self._fresh(table) for _ in range(rows)]
        # Rows of one COPY may have the same LSN. Their first columns differ, which distinguishes them.
        lines = [[str(number), *(self._text(column) for column in table.columns[1:])] for number in numbers]
        text = "".join("\t".join("\\N" if cell is None else _copied(cell) for cell in line) + "\n" for line in lines)
        self.say(f"COPY {table.name} ({', '.join(column.name for column in table.columns)}) FROM STDIN", text)
        self._reported(table, rows)

    def _update(self, table: Table, rows: int) -> None:
        """Other values of a few columns. Large ones mostly stay the same, so the server does not send them again."""
        rng = self.rng
        numbers = self._some(table, rows)
        small = [column for column in table.columns if not column.large]
        large = [column for column in table.columns if column.large]
        changed = rng.sample(small, rng.randrange(1, 1 + min(4, len(small))))
        if large and rng.random() < 0.25:
            changed.append(rng.choice(large))
        sets = [f"{column.name} = {self._literal(column)}" for column in changed]
        if rng.random() < 0.05:
            # No value changes, but the row is written again.
            sets = [f"{column.name} = {column.name}" for column in changed]
        self.say(f"UPDATE {table.name} SET {', '.join(sets)} WHERE {_where(table, numbers)}")
        self._reported(table, len(numbers))

    def _upsert(self, table: Table, rows: int) -> None:
        there = self._some(table, rows)
        new = [self._fresh(table) for _ in range(self.rng.randrange(3))]
        column = self.rng.choice(table.columns)
        keys = ", ".join(name for name, _, _ in table.shape.key)
        self._insert_numbers(table, [*there, *new], f" ON CONFLICT ({keys}) DO UPDATE SET {column.name} = excluded.{column.name}")

    def _merge(self, table: Table, rows: int) -> None:
        """MERGE of rows that are there, some of which it deletes, and of one that is not."""
        numbers = self._some(table, rows)
        gone, new = set(numbers[: len(numbers) // 3]), self._fresh(table)
        names = [name for name, _, _ in table.shape.key]
        rows_sql = [f"({', '.join([*_key(table, number), str(number in gone).lower()])})" for number in (*numbers, new)]
        column = next(column for column in table.columns if not column.large)
        value = self._literal(column)
        self.say(
            f"MERGE INTO {table.name} t USING (VALUES {', '.join(rows_sql)}) v ({', '.join(names)}, gone)"
            f" ON {' AND '.join(f't.{name} = v.{name}' for name in names)}"
            f" WHEN MATCHED AND gone THEN DELETE WHEN MATCHED THEN UPDATE SET {column.name} = {value}"
            f" WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({', '.join(f'v.{name}' for name in names)})"
        )
        for number in gone:
            self._take(table, number)
        self._put(table, new)
        self._reported(table, len(numbers) + 1)

    def _delete(self, table: Table, rows: int) -> None:
        self._delete_numbers(table, self._some(table, rows))

    def _delete_numbers(self, table: Table, numbers: Sequence[int]) -> None:
        self.say(f"DELETE FROM {table.name} WHERE {_where(table, numbers)}")
        for number in numbers:
            self._take(table, number)
        self._reported(table, len(numbers), reported=False)

    def _remake(self, table: Table, _rows: int) -> None:
        """Delete a row and insert another of the same key."""
        numbers = self._some(table, 1)
        self._delete_numbers(table, numbers)
        self._insert_numbers(table, numbers)

    def _move(self, table: Table, rows: int) -> None:
        """Give rows other keys, some of which had a row before."""
        for number in self._some(table, min(rows, 3)):
            self._rekey(table, number, self._vacant(table))

    def _chain(self, table: Table, _rows: int) -> None:
        """One row through three keys."""
        [number] = self._some(table, 1)
        for _ in range(3):
            further = self._fresh(table)
            self._rekey(table, number, further)
            number = further

    def _swap(self, table: Table, _rows: int) -> None:
        """Two rows take each other's key, by way of a third."""
        one, other = self._some(table, 2)
        third = self._fresh(table)
        self._rekey(table, one, third)
        self._rekey(table, other, one)
        self._rekey(table, third, other)

    def _rekey(self, table: Table, old: int, new: int) -> None:
        sets = [f"{name} = {text}" for (name, _, _), text in zip(table.shape.key, _key(table, new), strict=True)]
        if self.rng.random() < 0.3:
            column = self.rng.choice([column for column in table.columns if not column.large])
            sets.append(f"{column.name} = {self._literal(column)}")
        self.say(f"UPDATE {table.name} SET {', '.join(sets)} WHERE {_where(table, [old])}")
        self._take(table, old)
        self._put(table, new)
        self._reported(table, 1)

    # --- columns

    def _add(self, table: Table) -> None:
        if len(table.columns) >= WIDEST:
            self._drop(table)
            return
        kind, default = self.rng.choice(ADDED)
        table.named += 1
        required = default is not None and self.rng.random() < 0.3
        column = Column(f"x{table.named}", kind, kind, default=default, required=required)
        words = "" if default is None else f" DEFAULT {_quoted(default, kind)}{' NOT NULL' * required}"
        self.say(f"ALTER TABLE {table.name} ADD COLUMN {column.name} {kind}{words}")
        self._reshape(table, (*table.columns, column))

    def _drop(self, table: Table) -> None:
        if len(table.columns) <= 4:
            return
        column = self.rng.choice(table.columns)
        self.say(f"ALTER TABLE {table.name} DROP COLUMN {column.name}")
        self._reshape(table, tuple(other for other in table.columns if other is not column))

    def _rename(self, table: Table) -> None:
        """Not the last column, because its new name could not be distinguished from a new column."""
        column = self.rng.choice(table.columns[:-1])
        table.named += 1
        renamed = replace(column, name=f"x{table.named}", former=(*column.former, column.name))
        self.say(f"ALTER TABLE {table.name} RENAME COLUMN {column.name} TO {renamed.name}")
        self._reshape(table, tuple(renamed if other is column else other for other in table.columns))

    def _retype(self, table: Table) -> None:
        narrow = [column for column in table.columns if column.kind in WIDER]
        if not narrow:
            self._add(table)
            return
        column = self.rng.choice(narrow)
        wider = WIDER[column.kind]
        self.say(f"ALTER TABLE {table.name} ALTER COLUMN {column.name} TYPE {wider}")
        retyped = replace(column, type=wider, kind=wider)
        self._reshape(table, tuple(retyped if other is column else other for other in table.columns))

    def _reshape(self, table: Table, columns: tuple[Column, ...]) -> None:
        before = table.columns, table.stale
        table.columns, table.stale = columns, True

        def back() -> None:
            table.columns, table.stale = before

        self._undo.append(back)
        self.changes += 1

    # --- values and rows

    def _values(self, table: Table) -> list[str]:
        return ["DEFAULT" if self.rng.random() < 0.05 else self._literal(column) for column in table.columns]

    def _literal(self, column: Column) -> str:
        text = self._text(column)
        return "NULL" if text is None else _quoted(text, column.type)

    def _text(self, column: Column) -> str | None:
        if not column.required and self.rng.random() < 0.12:
            return None
        return KINDS[column.kind](self.rng)

    def _mine(self, table: Table) -> list[int]:
        return [number for number in table.live if self.lane in {None, number % 2}]

    def _some(self, table: Table, rows: int) -> list[int]:
        mine = self._mine(table)
        return self.rng.sample(mine, min(rows, len(mine)))

    def _fresh(self, table: Table) -> int:
        """A number that no row ever had."""
        number = table.next
        if self.lane not in {None, number % 2}:
            number += 1
        table.next = number + 1
        return number

    def _vacant(self, table: Table) -> int:
        """A number that no row has now."""
        number = self.rng.randrange(1, table.next)
        return self._fresh(table) if number in table.live or self.lane not in {None, number % 2} else number

    def _put(self, table: Table, number: int) -> None:
        live = table.live
        if number not in live and table.keyed:
            live.add(number)
            self._undo.append(lambda: live.discard(number))

    def _take(self, table: Table, number: int) -> None:
        live = table.live
        live.remove(number)
        self._undo.append(lambda: live.add(number))

    def _reported(self, table: Table, changes: int, *, reported: bool = True) -> None:
        self.changes += changes
        if table.stale and reported:
            table.stale = False
            self._undo.append(lambda: setattr(table, "stale", True))

    def _table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)

    def _back(self, mark: int) -> None:
        while len(self._undo) > mark:
            self._undo.pop()()


def _key(table: Table, number: int) -> list[str]:
    return [_quoted(text(number), type_name) for _, type_name, text in table.shape.key]


def _where(table: Table, numbers: Sequence[int]) -> str:
    names = ", ".join(name for name, _, _ in table.shape.key)
    return f"({names}) IN ({', '.join('(' + ', '.join(_key(table, number)) + ')' for number in numbers)})"


def _quoted(text: str, type_name: str) -> str:
    return "'" + text.replace("'", "''") + f"'::{type_name}"


def _copied(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
