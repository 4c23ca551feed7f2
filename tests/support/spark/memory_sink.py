"""A sink that keeps its tables in dictionaries: what the real ones do, without a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql.types import LongType, StringType, StructField, StructType

from tests.support.spark.local_frame import local_frame
from workers.spark.tables.evolution import Add, Drop, Rename, steps_along
from workers.spark.tables.table import DELETE, LSN, POSITION, Effects, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Cells = dict[str, object]


class Crash(Exception):  # noqa: N818 - what happens, not what is wrong
    """The process ends here."""


class MemorySink:
    """``crash`` names a moment at which the next batch fails: before it does anything, or after all of it."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.tables: dict[str, dict[tuple[object, ...], Cells]] = {}
        self.shapes: dict[str, Table] = {}
        self.crash: str | None = None

    def apply(self, batch: int, effects: Sequence[Effects]) -> None:
        del batch
        crash, self.crash = self.crash, None
        if crash == "before":
            raise Crash
        for one in effects:
            self._one(one)
        if crash == "after":
            raise Crash

    def read(self, table: Table, session: SparkSession | None = None) -> DataFrame | None:
        rows = self.tables.get(table.full_name)
        if rows is None:
            return None
        shape = self.shapes[table.full_name]
        own = [StructField(LSN, LongType()), *([] if shape.key else [StructField(POSITION, StringType())])]
        kind = StructType([*(StructField(column.name, column.kind.type) for column in shape.columns), *own])
        return local_frame(session or self.spark, [tuple(row[field.name] for field in kind.fields) for row in rows.values()], kind)

    def rows(self, name: str = "public.items") -> list[Cells]:
        """A table's rows without the mirror's own columns, by key."""
        found = [
            {name: value for name, value in row.items() if name not in {LSN, POSITION}}
            for _, row in sorted(self.tables[name].items(), key=lambda item: str(item[0]))
        ]
        return sorted(found, key=str)

    def _one(self, effects: Effects) -> None:
        table = effects.table
        rows = self.tables.setdefault(table.full_name, {})
        before = self.shapes.get(table.full_name)
        if before is not None:
            for step in steps_along([(column.name, column.kind.type) for column in before.columns], effects.path, again=effects.again):
                for row in rows.values():
                    if isinstance(step, Rename):
                        row[step.new] = row.pop(step.old)
                    elif isinstance(step, Drop):
                        row.pop(step.name, None)
                    elif isinstance(step, Add):
                        row[step.column.name] = step.column.default
            if before.key != table.key:
                keyed = {_key(table, row, number): row for number, row in enumerate(rows.values())}
                rows.clear()
                rows.update(keyed)
        self.shapes[table.full_name] = table
        if effects.truncated is not None:
            gone = [
                key
                for key, row in rows.items()
                if row[LSN] is None
                or int(str(row[LSN])) < effects.truncated
                or any(low <= str(row[POSITION]) < high for low, high in effects.replaced)
            ]
            for key in gone:
                del rows[key]
        seen = set()
        for effect in effects.rows.collect():
            key = tuple(str(part) for part in effect["key"])
            assert key not in seen, "one effect for each key"
            seen.add(key)
            if effect["op"] == DELETE:
                rows.pop(key, None)
                continue
            old = rows.get(key, {})
            if old and not table.key:
                continue
            row = {name: old.get(name) if name in effect["kept"] else value for name, value in effect["row"].asDict().items()}
            rows[key] = {**row, LSN: effect["lsn"], **({} if table.key else {POSITION: effect["key"][POSITION]})}


def _key(table: Table, row: Cells, number: int) -> tuple[object, ...]:
    """The key of a row, which may be from before the table's key changed; ``number`` for a table without a key."""
    if table.key:
        row.pop(POSITION, None)
        return tuple(str(row[name]) for name in table.key)
    row.setdefault(POSITION, None)
    return (number,)
