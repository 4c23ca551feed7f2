"""A table as the catalog describes it, and the columns of its key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connector.catalog.name_matcher import Matcher
from connector.types.codec import Column

_CALL: Final = re.compile(r"\(?[A-Za-z0-9_.]+\(.*\)")
_OPERATION: Final = re.compile(r"\(+.+[ +*/<>=~!@#%^&|`?] ?.+\)")


def looks_computed(name: str) -> bool:
    """Return whether the name of a unique index's column looks like an expression to Debezium, which then ignores the index."""
    return _CALL.fullmatch(name) is not None or _OPERATION.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table as the catalog describes it at one moment.

    ``primary_key`` and ``unique_key`` (of the first unique index over plain columns) are in index order. ``kind`` is relkind.
    """

    oid: int
    schema: str
    table: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique_key: tuple[str, ...] = ()
    kind: str = "r"
    identity: str = "d"
    estimate: int = -1
    """The planner's estimate of the number of rows (pg_class.reltuples), -1 if the table was never analysed."""
    streamed: bool = False
    """Whether the columns come from a RELATION message; Debezium maps some types differently then."""
    partial_key: bool = False
    """Whether the index of ``unique_key`` has a condition, so that other rows may repeat its values."""
    inherited: bool = False
    """Whether other tables inherit from this one. They are read with it, and may repeat its keys. Not set for partitions."""

    @property
    def name(self) -> str:
        """``schema.table``, as filters and logs name it."""
        return f"{self.schema}.{self.table}"


def key_columns(table: CatalogTable, rules: Sequence[Matcher]) -> tuple[str, ...]:
    """Return the key's columns in order.

    They are the columns of ``message.key.columns``, else of the primary key, else of the first unique index, else none. The rules match
    whole names of columns (schema.table.column) and apply in their order. A rule that matches no column has no effect.
    """
    chosen = dict.fromkeys(column.name for rule in rules for column in table.columns if rule(f"{table.name}.{column.name}"))
    return tuple(chosen) or table.primary_key or table.unique_key


def surrogate_key(table: CatalogTable, name: str) -> str:
    """Return the column that a signal names as ``surrogate-key``, in any case as in Debezium; ``name`` if there is none."""
    return next((column.name for column in table.columns if column.name.lower() == name.lower()), name)


def case_duplicates(columns: Sequence[Column]) -> list[str]:
    """Return the names of columns that differ from another only by case. Debezium refuses such tables."""
    seen: dict[str, str] = {}
    found = []
    for column in columns:
        if column.name.lower() in seen:
            found += [seen[column.name.lower()], column.name]
        seen[column.name.lower()] = column.name
    return found


def row_places(table: CatalogTable, key_at: tuple[int, ...]) -> tuple[int, ...]:
    """Return the places of the columns that identify a row: the primary key's, else the message key's, which are at ``key_at``.

    Old rows contain the primary key, unless the replica identity is another index. They need not contain a message key that the user chose.
    """
    places = {column.name: place for place, column in enumerate(table.columns)}
    if table.primary_key and table.identity != "i" and all(name in places for name in table.primary_key):
        return tuple(places[name] for name in table.primary_key)
    return key_at
