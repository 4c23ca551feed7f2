"""The partitions of a mirror's files: ``partition_by`` of ``[[table]]``. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from workers.spark.failure import TableError
from workers.spark.tables.names import quoted
from workers.spark.tables.table import Table

_TRANSFORM: Final = re.compile(r"(?P<name>[a-z]+)\((?:(?P<size>\d+)\s*,\s*)?(?P<column>.+)\)", re.DOTALL)
_SIZED: Final = {"years": False, "months": False, "days": False, "hours": False, "bucket": True, "truncate": True}
"""Iceberg's partition transforms (specification, "Partition Transforms"), and whether each has a number."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A column, or a transform of one as Iceberg has them: ``days(placed_at)``, ``bucket(16, id)``."""

    column: str
    transform: str | None = None
    size: int | None = None

    @property
    def sql(self) -> str:
        """The text in ``PARTITIONED BY``."""
        name = quoted(self.column)
        if self.transform is None:
            return name
        return f"{self.transform}({name})" if self.size is None else f"{self.transform}({self.size}, {name})"


def partition_of(text: str) -> Partition:
    """The partition that a text describes. Raises ValueError with the reason."""
    found = _TRANSFORM.fullmatch(text)
    if found is None:
        if not text:
            raise ValueError("it is empty")
        return Partition(text)
    name, size = found["name"], found["size"]
    if name not in _SIZED:
        raise ValueError(f"the transform {name} is unknown. Use one of {', '.join(_SIZED)}")
    if _SIZED[name] != (size is not None) or size == "0":
        raise ValueError(f"write {name}(16, {found['column']})" if _SIZED[name] else f"write {name}({found['column']})")
    return Partition(found["column"], name, None if size is None else int(size))


def partitioned(table: Table) -> str:
    """The clause ``PARTITIONED BY`` of a new table, with a blank before it; empty without partitions.

    Raises TableError if the table lacks a column of them.
    """
    parts = [partition_of(text) for text in table.partition_by]
    known = {column.name for column in table.columns}
    missing = [part.column for part in parts if part.column not in known]
    if missing:
        said = f"partition_by names {', '.join(missing)}, which {table.full_name} does not have. Correct it, or match other tables."
        raise TableError(table.full_name, said)
    return f" PARTITIONED BY ({', '.join(part.sql for part in parts)})" if parts else ""


def partitions_of(table: Table, columns: Collection[str]) -> list[Partition]:
    """The partitions of a table that is written again with these columns. A column that it no longer has divides nothing."""
    return [part for part in map(partition_of, table.partition_by) if part.column in columns]
