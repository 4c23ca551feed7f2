"""One row read again from its table, its values as the stream would print them."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from connector.errors import Directive
from connector.io.pg_connection import Connection, source_error
from connector.io.pg_statement import doubled
from connector.reselect import Reread
from connector.table import quote_identifier, quote_table
from connector.types.codec import Column, Types
from connector.types.registry import base_type

_DATA: str = "22"
"""The class of SQLSTATE whose messages may quote a value."""


class NotReadError(Exception):
    """The row cannot be read; the text says why, without any value."""


async def read_again(connection: Connection, reread: Reread, types: Types) -> list[bytes | None]:
    """The wanted columns' texts, in their order, of the row as it is now: of the first one when several fit.

    Raises NotReadError when there is no such row, or the server refuses; CdcError for what a new connection may mend.
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
    """Values go as texts without a type, so that the server reads each as its column's."""
    wanted = ", ".join(_named(reread.table.columns[at].name) for at in reread.columns)
    where = " and ".join(f"{_named(name)} = %s" for name, _ in reread.key)
    table = doubled(quote_table(reread.table.schema, reread.table.table))
    # Names are quoted, and nothing else of the statement comes from data.
    statement = f"select {wanted} from {table} where {where} limit 1"
    return statement.encode(), [cell.decode() for _, cell in reread.key]


def _named(column: str) -> str:
    return doubled(quote_identifier(column))


def _sent_type(column: Column, types: Types) -> int:
    """The type that the server names for a column: below all domains."""
    base, _modifier = base_type(column, types)
    return column.type_oid if base is None else base.oid
