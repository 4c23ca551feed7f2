"""The SQL of incremental snapshots: where a table ends, and its next chunk (PostgreSQL manual, "Row and Array Comparisons").

A chunk's rows come in the order of the key, NULLs last as PostgreSQL sorts them. Positions are the key's texts; they stand in
the statement as constants of the column's own type, so that its collation or enum order decides. A user's condition stands in
parentheses, the closing one on a line of its own: a comment at the condition's end would hide it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from connector.table import CatalogTable, quote_identifier, quote_literal, quote_table
from connector.types.codec import Types

KeyTexts = tuple[str | None, ...]
"""A position: the texts of the ordering columns' values, None for NULL."""


@dataclass(frozen=True, slots=True)
class OrderColumn:
    """A column that orders the chunks. ``type_name`` is quoted and without modifier, as a cast takes it."""

    name: str
    type_name: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class ChunkOrder:
    """How a table is cut: ``columns`` order its rows; ``unique`` tells that no two rows are equal in them.

    Rows that are equal are never parted: a chunk takes all that tie with its last.
    """

    columns: tuple[OrderColumn, ...]
    unique: bool


def chunk_order(table: CatalogTable, names: Sequence[str], types: Types) -> ChunkOrder:
    """The order by columns ``names``, which the table must have (KeyError)."""
    by_name = {column.name: column for column in table.columns}
    chosen = [by_name[name] for name in names]
    columns = tuple(OrderColumn(c.name, _type_name(types, c.type_oid), not c.not_null) for c in chosen)
    whole = set(names)
    unique = any(key and whole >= set(key) for key in (table.primary_key, table.unique_key))
    return ChunkOrder(columns, unique and not any(column.nullable for column in columns))


def _type_name(types: Types, oid: int) -> str:
    known = types[oid]
    return f"{quote_identifier(known.schema)}.{quote_identifier(known.name)}"


def maximum_statement(table: CatalogTable, order: ChunkOrder, condition: str | None) -> str:
    """The position of the table's last row, if it has one."""
    names = ", ".join(quote_identifier(column.name) for column in order.columns)
    descending = ", ".join(f"{quote_identifier(column.name)} DESC" for column in order.columns)
    where = f" WHERE ({condition}\n)" if condition else ""
    return f"SELECT {names} FROM {quote_table(table.schema, table.table)}{where} ORDER BY {descending} LIMIT 1"


def lock_statement(table: CatalogTable, columns: Collection[str]) -> str:
    """Keeps the table from being altered until the transaction ends, by no more rights than reading it takes."""
    return f"SELECT {_chosen(table, columns)} FROM {quote_table(table.schema, table.table)} LIMIT 0"


def condition_statement(table: CatalogTable, condition: str) -> str:
    """Reads nothing; the server takes it only when ``condition`` is an expression, whose parentheses match without those around it.

    Any other text would escape from its place: behind the bounds of a chunk (``true) OR (true``) the snapshot would never end.
    """
    return f"SELECT FROM {quote_table(table.schema, table.table)} WHERE {condition}\nLIMIT 0"


def _chosen(table: CatalogTable, columns: Collection[str]) -> str:
    return ", ".join(quote_identifier(column.name) for column in table.columns if column.name in columns)


def chunk_statement(
    table: CatalogTable,
    columns: Collection[str],
    order: ChunkOrder,
    *,
    after: KeyTexts | None,
    upto: KeyTexts,
    condition: str | None,
    rows: int,
) -> str:
    """The first ``rows`` rows behind ``after`` and not behind ``upto`` that fulfil ``condition`` (SQL)."""
    wanted = [f"NOT ({_behind(order, upto)})" if _has_null(order, upto) else _bounded(order, "<=", upto)]
    if after is not None:
        wanted.insert(0, f"({_behind(order, after)})" if _has_null(order, after) else _bounded(order, ">", after))
    if condition:
        wanted.append(f"({condition}\n)")
    ordered = ", ".join(quote_identifier(column.name) for column in order.columns)
    limit = f"LIMIT {rows}" if order.unique else f"FETCH FIRST {rows} ROWS WITH TIES"
    chosen, quoted = _chosen(table, columns), quote_table(table.schema, table.table)
    return f"SELECT {chosen} FROM {quoted} WHERE {' AND '.join(wanted)} ORDER BY {ordered} {limit}"


def _has_null(order: ChunkOrder, position: KeyTexts) -> bool:
    return None in position or any(column.nullable for column in order.columns)


def _bounded(order: ChunkOrder, operator: str, position: KeyTexts) -> str:
    """A row comparison, which an index over the columns serves."""
    names = ", ".join(quote_identifier(column.name) for column in order.columns)
    values = ", ".join(_constant(column, text) for column, text in zip(order.columns, position, strict=True))
    return f"({names}) {operator} ({values})"


def _behind(order: ChunkOrder, position: KeyTexts) -> str:
    """Rows behind ``position`` where NULLs may be: spelled out, for a row comparison with NULL answers NULL."""
    ways = []
    for number, (column, text) in enumerate(zip(order.columns, position, strict=True)):
        name = quote_identifier(column.name)
        if text is None:
            continue
        same = [_same(former, value) for former, value in zip(order.columns[:number], position[:number], strict=True)]
        above = f"{name} > {_constant(column, text)}"
        ways.append(" AND ".join([*same, f"({above} OR {name} IS NULL)" if column.nullable else above]))
    return " OR ".join(f"({way})" for way in ways) or "FALSE"


def _same(column: OrderColumn, text: str | None) -> str:
    name = quote_identifier(column.name)
    return f"{name} IS NULL" if text is None else f"{name} IS NOT DISTINCT FROM {_constant(column, text)}"


def _constant(column: OrderColumn, text: str | None) -> str:
    return "NULL" if text is None else f"{quote_literal(text)}::{column.type_name}"


LEAST_FACTOR: Final = 0.5
MOST_FACTOR: Final = 2.0


def next_size(rows: int, seconds: float, *, target: float, least: int, most: int) -> int:
    """How many rows the next chunk shall have, when ``rows`` took ``seconds`` and ``target`` seconds are wanted.

    Never less than half or more than twice as many, nor outside of ``least`` to ``most``.
    """
    factor = min(MOST_FACTOR, max(LEAST_FACTOR, target / seconds)) if seconds > 0 else MOST_FACTOR
    return max(least, min(most, round(rows * factor)))
