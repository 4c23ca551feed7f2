"""The rows of a snapshot as ``r`` events, and the query that brings them; the same for the worker and for its reader processes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import psycopg

from connector.capture import Capture
from connector.config import ConnectorConfig
from connector.encoders import HEAD, TableEncoder
from connector.envelope import SourceFacts, SourceText, TableSource
from connector.errors import CdcError, ErrorKind
from connector.io.kafka_sink import KafkaSink
from connector.io.pg_connection import Connection, source_error
from connector.io.pg_copy import copy_rows
from connector.io.pg_statement import run_alone
from connector.snapshot import Chunk, override_columns_statement, projected, select_statement, split_copy_line
from connector.stream import Out
from connector.table import CatalogTable

_log = logging.getLogger(__name__)

_FETCH_SIZE: Final = 512
"""Rows worked on before other tasks of the process get their turn, when snapshot.fetch.size does not say less: about 5 ms."""


Row = Sequence[bytes | None]
"""A row's cells."""


@dataclass(slots=True)
class TableWork:
    """A table while it is read. ``blocks`` are its source blocks by marker."""

    encoder: TableEncoder
    source: TableSource
    out: Out
    blocks: dict[str, bytes] = field(default_factory=dict)


class RowWriter:
    """Turns rows into ``r`` events and appends them to their table's topic."""

    def __init__(self, lsn: int, facts: SourceFacts, headers: bytes, conversion_failure: str, *, placed: bool = True) -> None:
        """``lsn`` stands in ``source.sequence`` and, if the rows are ``placed``, in ``source.lsn``."""
        self._lsn = lsn
        self._shown = b"%d" % lsn if placed else b"null"
        self._facts = facts
        self._headers = headers
        self._conversion_failure = conversion_failure

    def send(self, table: TableWork, lines: list[bytes], word: str, now_ns: int) -> None:
        """Append ``lines`` (as COPY gave them) with the marker ``word``, made at ``now_ns`` since 1970.

        Raises CdcError(VALUE) for a value that cannot be converted, unless the configuration lets it pass as null.
        """
        nulls = any(b"\\N" in line for line in lines)
        self.send_rows(table, [split_copy_line(line) for line in lines], nulls, word, now_ns)

    def send_rows(self, table: TableWork, rows: Sequence[Row], nulls: bool, word: str, now_ns: int) -> None:
        """The same for rows that are split into cells; ``nulls`` tells whether a NULL is among them."""
        if not rows:
            return
        block = table.blocks.get(word)
        if block is None:
            text = SourceText(table.source, self._facts, word)
            block = table.blocks[word] = text.head + b"%d" % self._lsn + text.middle + self._shown + text.tail
        encoder = table.encoder
        end = block + table.source.form.end(b"r", now_ns) + encoder.closing
        columns = list(zip(*rows, strict=True))
        try:
            payloads = encoder.snapshot(columns, nulls, [end] * len(rows))
        except ValueError:
            payloads = [b"".join((HEAD, self._tolerant(encoder, cells), end)) for cells in rows]
        try:
            keys = encoder.keys(columns, nulls) if encoder.has_key else None
        except ValueError as error:
            raise CdcError(
                ErrorKind.VALUE,
                f"The key of a row of table {encoder.table.name} cannot be converted: {error}",
                "Choose other columns with message.key.columns, or correct the converter of the column",
            ) from error
        table.out.extend(keys, encoder.prefix, payloads, self._headers, now_ns // 1_000_000)

    def _tolerant(self, encoder: TableEncoder, cells: Row) -> bytes:
        after, failures = encoder.tolerant(cells)
        for failure in failures:
            if self._conversion_failure == "fail":
                raise CdcError(
                    ErrorKind.VALUE,
                    f"A value of column {failure.column} of table {encoder.table.name} cannot be converted: {failure.reason}",
                    "Set event.converting.failure.handling.mode to warn to send null in its place",
                )
            if self._conversion_failure == "warn":
                _log.warning("value sent as null table=%s column=%s reason=%s", encoder.table.name, failure.column, failure.reason)
        return after


class TableReader:
    """Reads tables, or parts of them, in the transaction that ``connection`` is in, for topics of ``sink``.

    ``statements`` are what a user's class gave to read tables (schema.table) with.
    """

    def __init__(
        self,
        config: ConnectorConfig,
        capture: Capture,
        sink: KafkaSink,
        connection: Connection,
        statements: Mapping[str, str] | None = None,
    ) -> None:
        self._statements = statements or {}
        self._config = config
        self._capture = capture
        self._sink = sink
        self._connection = connection
        self._fetch = min(config.snapshot_fetch_size or _FETCH_SIZE, _FETCH_SIZE)

    def open(self, table: CatalogTable) -> TableWork:
        """Compile the table and find its topic. CdcError(SCHEMA, CONFIG_INVALID) for a table that cannot be captured."""
        encoder = self._capture.encoder(projected(table, self._capture.needed_columns(table)))
        return TableWork(encoder, self._capture.source(table), self._sink.out(encoder.topic))

    async def bursts(self, table: CatalogTable, chunk: Chunk | None = None) -> AsyncIterator[list[bytes]]:
        """The table's rows as lines of COPY, some at a time, none of them empty.

        What was appended to the sink for a burst is sent, and other tasks get their turn, before the next burst comes.
        """
        connection = self._connection
        needed = self._capture.needed_columns(table)
        given = self._statements.get(table.name)
        override = given or override_of(self._config, table)
        source = "snapshot.query.mode.custom.name" if given else "snapshot.select.statement.overrides"
        names = await _column_names(connection, override, f"{source} for table {table.name}") if override else ()
        query = select_statement(table, needed, override, names, chunk)
        async for lines in copy_rows(connection, query, f"reading table {table.name}", most=self._fetch):
            yield lines
            self._sink.pump()
            # The producer's tasks run on this loop too.
            await asyncio.sleep(0)
            await self._sink.room()


def override_of(config: ConnectorConfig, table: CatalogTable) -> str | None:
    """The user's own SELECT for the table, if there is one."""
    overrides = config.snapshot_select_overrides
    for name in (table.name, f'"{table.schema}"."{table.table}"', f"{config.database_dbname}.{table.name}"):
        if name in overrides:
            return overrides[name]
    return None


async def execute(connection: Connection, statement: str) -> None:
    """Run a statement that prepares the snapshot. Raises CdcError with what the server said."""
    try:
        await connection.execute(statement.encode())
    except psycopg.Error as error:
        raise source_error(error, f"preparing the snapshot ({statement.split(chr(39), maxsplit=1)[0].strip()})") from error


async def lift_timeouts(connection: Connection) -> None:
    """Nobody may end the snapshot for being slow, or for waiting while others read; locks have a timeout of their own."""
    # By way of pg_settings: not every server has all of them (transaction_timeout came with PostgreSQL 17).
    await execute(
        connection,
        "SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name IN"
        " ('statement_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout')",
    )


async def _column_names(connection: Connection, override: str, source: str) -> tuple[str, ...]:
    try:
        result = await run_alone(connection, override_columns_statement(override))
    except psycopg.Error as error:
        raise source_error(error, f"reading the columns of the statement of {source}") from error
    return tuple((result.fname(place) or b"").decode() for place in range(result.nfields))
