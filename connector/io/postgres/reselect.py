"""Reads one row again from its table, with its values in the text form of the stream."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from connector.catalog.identifiers import quote_identifier, quote_table
from connector.errors import Directive
from connector.events.reselect import Reread
from connector.events.stream_source import NotReadError
from connector.io.postgres.connection import Connection, source_error
from connector.io.postgres.statement import doubled
from connector.types.codec import Column, Types
from connector.types.registry import base_type

_DATA: str = "22"
"""The class of SQLSTATE whose messages may quote a value."""


async def read_again(connection: Connection, reread: Reread, types: Types) -> list[bytes | None]:
    """Return the current texts of the row's wanted columns, in their order. If several rows match, use the first.

    Raises NotReadError if there is no such row or the server refuses, and CdcError for an error that a new connection may remedy.
    """
    if not reread.key:
        raise NotReadError("it has no key to be found by")
    statement, values = _statement(reread)
    try:
        cursor = await connection.execute(statement, values)
        result = cursor.pgresult
    except psycopg.Error as error:
        failure = source_error(error, f"reading a row of table {reread.table.name} again")
        if failure.directive is Directive.RETRY:
            raise failure from error
        state = error.sqlstate or ""
        raise NotReadError(f"SQLSTATE {state}" if state.startswith(_DATA) else failure.message) from error
    if result is None or not result.ntuples:
        raise NotReadError("it is gone")
    for place, at in enumerate(reread.columns):
        column = reread.table.columns[at]
        if result.ftype(place) != _sent_type(column, types):
            raise NotReadError(f"column {column.name} has another type by now")
    return [result.get_value(0, place) for place in range(len(reread.columns))]


def _statement(reread: Reread) -> tuple[bytes, Sequence[str]]:
    """Return the statement and its values. The values are texts without a type, so the server parses each as its column's type."""
    wanted = ", ".join(_named(reread.table.columns[at].name) for at in reread.columns)
    where = " and ".join(f"{_named(name)} = %s" for name, _ in reread.key)
    table = doubled(quote_table(reread.table.schema, reread.table.table))
    # Only the quoted names come from data.
    statement = f"select {wanted} from {table} where {where} limit 1"
    return statement.encode(), [cell.decode() for _, cell in reread.key]


def _named(column: str) -> str:
    return doubled(quote_identifier(column))


def _sent_type(column: Column, types: Types) -> int:
    """Return the type that the server reports for a column, which is the base type of its domains."""
    base, _modifier = base_type(column, types)
    return column.type_oid if base is None else base.oid
