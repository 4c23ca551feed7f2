"""Reads TimescaleDB's catalog for the transform TimescaleDb (:class:`connector.transforms.debezium.timescaledb.TimescaleMetadata`).

The transform asks in the middle of a record, at the first event of a chunk that it does not know. So the query is not awaited: the worker
waits for it, for at most :data:`_SECONDS` each time. Chunks are few, and the catalog's tables are small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import psycopg

from connector.config.connector_config import parse
from connector.errors import CdcError, ErrorKind
from connector.io.postgres.connection import check_files, connection_arguments, source_error, without_file_facts
from connector.transforms.debezium.timescaledb import AGGREGATES, CHUNKS, Table

_SECONDS: Final = 5
_PURPOSE: Final = "Understudy TimescaleDB"


class PostgresTimescale:
    """The catalog of the database that the transform's options ``database.*`` and ``driver.*`` name; the others are the connector's own.

    Its methods raise CdcError: SOURCE_QUERY if the catalog cannot be read, else what :func:`source_error` makes of a refused connection.
    """

    def __init__(self, options: Mapping[str, str], connector: Mapping[str, str]) -> None:
        """``options`` and ``connector`` have full names. Raises CdcError(CONFIG_INVALID)."""
        config, _ = parse({**connector, **options})
        arguments = connection_arguments(config, _PURPOSE, _SECONDS)
        limit = f"-c statement_timeout={_SECONDS * 1000}"
        self._arguments = {**arguments, "connect_timeout": _SECONDS, "options": f"{arguments['options']} {limit}"}
        self._initial = config.initial_statements

    def chunks(self) -> Mapping[Table, Table | None]:
        """Return each chunk's hypertable, or None for a chunk whose hypertable is gone."""
        rows = self._rows(CHUNKS)
        return {Table(schema, name): None if owner is None else Table(owner_schema, owner) for schema, name, owner_schema, owner in rows}

    def aggregates(self) -> Mapping[Table, Table]:
        """Return the view of each hypertable that holds a continuous aggregate."""
        return {Table(schema, name): Table(view_schema, view) for schema, name, view_schema, view in self._rows(AGGREGATES)}

    def _rows(self, query: str) -> Sequence[tuple[str, str, str, str]]:
        try:
            check_files(self._arguments)
            with psycopg.connect(autocommit=True, **self._arguments) as connection:  # type: ignore[arg-type]
                for statement in self._initial:
                    connection.execute(statement.encode())
                return connection.execute(query.encode()).fetchall()
        except psycopg.OperationalError as error:
            cause = source_error(without_file_facts(error), "connecting")
            raise CdcError(
                cause.kind,
                "The transform TimescaleDb cannot reach the database",
                "Set the options database.* of the transform, or check the database.",
                cause.message,
            ) from None
        except psycopg.Error as error:
            raise CdcError(
                ErrorKind.SOURCE_QUERY,
                "The transform TimescaleDb cannot read TimescaleDB's catalog",
                "Install the extension timescaledb in this database, and allow the user to read its catalog.",
                error.diag.message_primary or "",
            ) from None
