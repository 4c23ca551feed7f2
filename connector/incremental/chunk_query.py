"""The SQL of incremental snapshots: a table's last row, and its next chunk (PostgreSQL manual, "Row and Array Comparisons").

A chunk's rows are in the order of the key, with NULLs last, which is PostgreSQL's default. A position consists of the key's texts. In the
statement they are constants of the column's own type, so the column's collation or enum order applies. A user's condition is enclosed in
parentheses. The closing parenthesis is on a separate line, because a comment at the end of the condition would hide it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from connector.catalog.identifiers import quote_identifier, quote_literal, quote_table
from connector.catalog.table import CatalogTable
from connector.types.codec import Column, Types
from connector.types.registry import base_type

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")
KeyTexts = tuple[str | None, ...]
"""A position: the texts of the ordering columns' values, None for NULL. In the midst of tied rows, the tiebreak's texts follow."""


@dataclass(frozen=True, slots=True)
class OrderColumn:
    """A column that orders the chunks. ``type_name`` is quoted and has no modifier, as a cast requires."""

    name: str
    type_name: str
    nullable: bool = False
    money: bool = False
    """Whether it is of type money, or of a domain over it."""


@dataclass(frozen=True, slots=True)
class ChunkOrder:
    """How a table is divided into chunks: ``columns`` order its rows; ``unique`` says that no two rows are equal in them.

    Rows that are equal in these columns are in one chunk: a chunk includes all rows that tie with its last row. If they are too many, they
    are read in the order of ``tiebreak``, the columns of the primary key. It is empty if ``unique``, or if there is no such key.
    """

    columns: tuple[OrderColumn, ...]
    unique: bool
    tiebreak: tuple[OrderColumn, ...] = ()


def chunk_order(table: CatalogTable, names: Sequence[str], types: Types) -> ChunkOrder:
    """Return the order by the columns ``names``. Raises KeyError if the table lacks one of them."""
    by_name = {column.name: column for column in table.columns}

    def ordered(chosen: Sequence[str]) -> tuple[OrderColumn, ...]:
        return tuple(_order_column(by_name[name], types) for name in chosen)

    columns = ordered(names)
    whole = set(names)
    keys = (table.primary_key, () if table.partial_key else table.unique_key)
    unique = not table.inherited and any(key and whole >= set(key) for key in keys)
    if unique and not any(column.nullable for column in columns):
        return ChunkOrder(columns, unique=True)
    return ChunkOrder(columns, unique=False, tiebreak=() if table.inherited else ordered(table.primary_key))


def _order_column(column: Column, types: Types) -> OrderColumn:
    known, (base, _) = types[column.type_oid], base_type(column, types)
    name = f"{quote_identifier(known.schema)}.{quote_identifier(known.name)}"
    return OrderColumn(
        column.name, name, not column.not_null, money=base is not None and (base.schema, base.name) == ("pg_catalog", "money")
    )


def maximum_statement(table: CatalogTable, order: ChunkOrder, condition: str | None) -> str:
    """Return the query for the key of the table's last row. Its result is empty if no row fulfils ``condition``."""
    names = ", ".join(quote_identifier(column.name) for column in order.columns)
    descending = ", ".join(f"{quote_identifier(column.name)} DESC" for column in order.columns)
    where = f" WHERE ({condition}\n)" if condition else ""
    return f"SELECT {names} FROM {quote_table(table.schema, table.table)}{where} ORDER BY {descending} LIMIT 1"


def lock_statement(table: CatalogTable, columns: Collection[str]) -> str:
    """Return the statement that locks the table against ALTER TABLE until the transaction ends. It requires only the SELECT privilege."""
    return f"SELECT {_chosen(table, columns)} FROM {quote_table(table.schema, table.table)} LIMIT 0"


def condition_statement(table: CatalogTable, condition: str) -> str:
    """Return a statement that reads no rows and fails unless ``condition`` alone is a complete expression.

    Any other text could close the parentheses around it. With ``true) OR (true`` a chunk would have no bounds, and the snapshot would
    never end.
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
    most: int | None = None,
) -> str:
    """Return the query for the first ``rows`` rows after ``after``, up to and including ``upto``, that fulfil ``condition`` (SQL).

    The rows that tie with the last of them follow, but no more than ``most`` rows in all, if it is given.
    """
    wanted = _wanted(order, after, upto, condition)
    if order.unique:
        return _selected(table, columns, wanted, order.columns, f"LIMIT {rows}")
    tied = _selected(table, columns, wanted, order.columns, f"FETCH FIRST {rows} ROWS WITH TIES")
    return tied if most is None else f"SELECT * FROM ({tied}) AS chunk LIMIT {most}"


def bound_statement(
    table: CatalogTable, order: ChunkOrder, *, after: KeyTexts | None, upto: KeyTexts, condition: str | None, rows: int
) -> str:
    """Return the query for the key of the row at which :func:`chunk_statement` counts ``rows``. It has no result if there are fewer."""
    names = ", ".join(quote_identifier(column.name) for column in order.columns)
    wanted = " AND ".join(_wanted(order, after, upto, condition))
    return f"SELECT {names} FROM {quote_table(table.schema, table.table)} WHERE {wanted} ORDER BY {names} OFFSET {rows - 1} LIMIT 1"


def bounded_statement(
    table: CatalogTable,
    columns: Collection[str],
    order: ChunkOrder,
    *,
    after: KeyTexts | None,
    upto: KeyTexts,
    condition: str | None,
    most: int | None,
) -> str:
    """Return the query for all rows from ``after`` up to and including ``upto``, but no more than ``most``, if it is given."""
    return _selected(table, columns, _wanted(order, after, upto, condition), order.columns, "" if most is None else f"LIMIT {most}")


def divided_statement(
    table: CatalogTable,
    columns: Collection[str],
    order: ChunkOrder,
    *,
    after: KeyTexts | None,
    upto: KeyTexts,
    condition: str | None,
    rows: int,
) -> str:
    """Return the query for the same rows as :func:`chunk_statement`, but without those that tie with the last. The tiebreak orders ties."""
    wanted = _wanted(order, after, upto, condition)
    return _selected(table, columns, wanted, (*order.columns, *order.tiebreak), f"LIMIT {rows}")


def tied_statement(
    table: CatalogTable, columns: Collection[str], order: ChunkOrder, *, after: KeyTexts, condition: str | None, rows: int
) -> str:
    """Return the query for the first ``rows`` rows that tie with ``after`` and follow it in the tiebreak, whose texts are at its end."""
    ties, width = ChunkOrder(order.tiebreak, unique=True), len(order.columns)
    wanted = [_equal(column, text) for column, text in zip(order.columns, after[:width], strict=True)]
    wanted.append(_bounded(ties, ">", after[width:]))
    if condition:
        wanted.append(f"({condition}\n)")
    return _selected(table, columns, wanted, order.tiebreak, f"LIMIT {rows}")


def _selected(table: CatalogTable, columns: Collection[str], wanted: Sequence[str], ordered: Sequence[OrderColumn], limit: str) -> str:
    by = ", ".join(quote_identifier(column.name) for column in ordered)
    source = quote_table(table.schema, table.table)
    return f"SELECT {_chosen(table, columns)} FROM {source} WHERE {' AND '.join(wanted)} ORDER BY {by} {limit}".rstrip()


def _wanted(order: ChunkOrder, after: KeyTexts | None, upto: KeyTexts, condition: str | None) -> list[str]:
    wanted = [_not_after(order, upto) if _has_null(order, upto) else _bounded(order, "<=", upto)]
    if after is not None:
        wanted.insert(0, f"({_after(order, after)})" if _has_null(order, after) else _bounded(order, ">", after))
    if condition:
        wanted.append(f"({condition}\n)")
    return wanted


def _has_null(order: ChunkOrder, position: KeyTexts) -> bool:
    return None in position or any(column.nullable for column in order.columns)


def _bounded(order: ChunkOrder, operator: str, position: KeyTexts) -> str:
    """Return a row comparison, for which PostgreSQL can use an index on the columns."""
    names = ", ".join(quote_identifier(column.name) for column in order.columns)
    values = ", ".join(_constant(column, text) for column, text in zip(order.columns, position, strict=True))
    return f"({names}) {operator} ({values})"


def _after(order: ChunkOrder, position: KeyTexts) -> str:
    """Return the condition for rows after ``position`` when values may be NULL. A row comparison would return NULL for them."""
    ways = []
    for number, (column, text) in enumerate(zip(order.columns, position, strict=True)):
        name = quote_identifier(column.name)
        if text is None:
            continue
        same = [_same(former, value) for former, value in zip(order.columns[:number], position[:number], strict=True)]
        above = f"{name} > {_constant(column, text)}"
        ways.append(" AND ".join([*same, f"({above} OR {name} IS NULL)" if column.nullable else above]))
    return " OR ".join(f"({way})" for way in ways) or "FALSE"


def _not_after(order: ChunkOrder, position: KeyTexts) -> str:
    condition = f"NOT ({_after(order, position)})"
    if position[0] is None:
        return condition
    # An index can serve only this.
    return f"{quote_identifier(order.columns[0].name)} <= {_constant(order.columns[0], position[0])} AND {condition}"


def _equal(column: OrderColumn, text: str | None) -> str:
    """Return a condition that an index can serve, unlike ``IS NOT DISTINCT FROM``."""
    name = quote_identifier(column.name)
    return f"{name} IS NULL" if text is None else f"{name} = {_constant(column, text)}"


def _same(column: OrderColumn, text: str | None) -> str:
    name = quote_identifier(column.name)
    return f"{name} IS NULL" if text is None else f"{name} IS NOT DISTINCT FROM {_constant(column, text)}"


def _constant(column: OrderColumn, text: str | None) -> str:
    if text is None:
        return "NULL"
    # The server's own text of an amount has a currency sign. The number in an offset has a decimal point, which lc_monetary may forbid or
    # take for a separator of groups.
    by = "::numeric" if column.money and _NUMBER.fullmatch(text) else ""
    return f"{quote_literal(text)}{by}::{column.type_name}"


LEAST_FACTOR: Final = 0.5
MOST_FACTOR: Final = 2.0


def next_size(rows: int, seconds: float, *, target: float, least: int, most: int) -> int:
    """Return the number of rows of the next chunk, given that ``rows`` took ``seconds`` and a chunk should take ``target`` seconds.

    The number at most doubles or halves, and it stays between ``least`` and ``most``.
    """
    factor = min(MOST_FACTOR, max(LEAST_FACTOR, target / seconds)) if seconds > 0 else MOST_FACTOR
    return max(least, min(most, round(rows * factor)))
