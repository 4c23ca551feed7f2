"""The initial snapshot: one transaction, table after table by COPY, every row an ``r`` event."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import Final

import psycopg

from connector.capture import Capture
from connector.config import ConnectorConfig
from connector.encoders import HEAD, TableEncoder
from connector.envelope import SourceFacts, SourceText, TableSource, event_tail
from connector.errors import CdcError, ErrorKind
from connector.io import pg_catalog, pg_server
from connector.io.kafka_sink import KafkaSink
from connector.io.pg_connection import Connection, connect, source_error
from connector.io.pg_copy import copy_rows
from connector.offsets import partition, snapshot_offset
from connector.ports import TableProgress, TaskContext
from connector.snapshot import begin_statements, lock_statements, marker, override_text, projected, select_statement, split_copy_line
from connector.stream import Out
from connector.table import CatalogTable

_log = logging.getLogger(__name__)

_FETCH_SIZE: Final = 512
"""Rows worked on before other tasks of the worker get their turn, when snapshot.fetch.size does not say less: about 5 ms."""
_REPORT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class SnapshotPoint:
    """Where the snapshot was taken, and where streaming goes on after it."""

    lsn: int
    stream_from: int


@dataclass(slots=True)
class _Table:
    """A table while it is read. ``blocks`` are its source blocks by marker, complete up to the op."""

    encoder: TableEncoder
    source: TableSource
    out: Out
    blocks: dict[str, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class _Held:
    """The row that came last: what marks it is known only when the next one comes, or none."""

    table: _Table
    line: bytes
    first: bool
    first_of_table: bool
    last_of_table: bool = False


class RowSender:
    """Turns rows into ``r`` events with their markers; keeps the last row back until it is known whether it is the last."""

    def __init__(self, lsn: int, facts: SourceFacts, headers: bytes, conversion_failure: str) -> None:
        self._lsn = lsn
        self._facts = facts
        self._headers = headers
        self._conversion_failure = conversion_failure
        self._held: _Held | None = None
        self.sent = 0
        """Rows given, the one kept back included."""

    def rows(self, table: _Table, lines: list[bytes], *, first_of_table: bool) -> None:
        """Send all of ``lines`` but the last, which takes the place of the one kept back before."""
        now_ns = time.time_ns()
        self._release(now_ns, last=False)
        first = self.sent == 0
        self.sent += len(lines)
        held = lines.pop()
        alone = not lines
        if first_of_table and lines:
            self._send(table, lines[:1], marker(first=first, last=False, first_of_table=True, last_of_table=False), now_ns)
            del lines[0]
        self._send(table, lines, "true", now_ns)
        self._held = _Held(table, held, first and alone, first_of_table and alone)

    def table_ends(self) -> None:
        """The row kept back, if it is of the table that was read, is its last."""
        if self._held is not None:
            self._held.last_of_table = True

    def finish(self) -> None:
        """The snapshot is over: the row kept back is the last of all."""
        self._release(time.time_ns(), last=True)

    def _release(self, now_ns: int, *, last: bool) -> None:
        held, self._held = self._held, None
        if held is not None:
            word = marker(first=held.first, last=last, first_of_table=held.first_of_table, last_of_table=held.last_of_table)
            self._send(held.table, [held.line], word, now_ns)

    def _send(self, table: _Table, lines: list[bytes], word: str, now_ns: int) -> None:
        if not lines:
            return
        block = table.blocks.get(word)
        if block is None:
            text = SourceText(table.source, self._facts, word)
            block = table.blocks[word] = text.head + b"%d" % self._lsn + text.middle + b"%d" % self._lsn + text.tail + b"r"
        encoder = table.encoder
        end = block + event_tail(now_ns, encoder.closing)
        rows = [split_copy_line(line) for line in lines]
        columns = list(zip(*rows, strict=True))
        nulls = any(b"\\N" in line for line in lines)
        try:
            payloads = encoder.snapshot(columns, nulls, [end] * len(rows))
        except ValueError:
            payloads = [b"".join((HEAD, self._tolerant(encoder, cells), end)) for cells in rows]
        keys = encoder.keys(columns, nulls) if encoder.has_key else None
        table.out.extend(keys, encoder.prefix, payloads, self._headers, now_ns // 1_000_000)

    def _tolerant(self, encoder: TableEncoder, cells: list[bytes | None]) -> bytes:
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


class SnapshotRun:
    """One run of the initial snapshot.

    ``stream_from`` is given when an earlier run broke off: streaming then begins where the slot stands, not at the snapshot.
    """

    def __init__(
        self, context: TaskContext, config: ConnectorConfig, capture: Capture, sink: KafkaSink, *, headers: bytes, stream_from: int | None
    ) -> None:
        self._context = context
        self._config = config
        self._capture = capture
        self._sink = sink
        self._headers = headers
        self._stream_from = stream_from
        self._reported = 0.0

    async def run(self, exported: str | None, consistent_point: int | None) -> SnapshotPoint:
        """Take the snapshot: from an exported one and its exact position, or in a transaction of its own."""
        config, progress = self._config, self._context.progress
        progress.phase = "snapshot"
        progress.snapshot_started_at = self._reported = time.monotonic()
        connection = await connect(config, "Understudy Snapshot")
        try:
            # Nobody may end the snapshot for being slow; locks have a timeout of their own.
            await _execute(connection, "SET statement_timeout = 0")
            for statement in begin_statements(config.snapshot_isolation_mode, exported):
                await _execute(connection, statement)
            ts_us = time.time_ns() // 1000
            txid = await pg_server.current_txid(connection)
            lsn = consistent_point if consistent_point is not None else await pg_server.current_lsn(connection)
            stream_from = lsn if self._stream_from is None else self._stream_from
            source = partition(config.topic_prefix)
            # Before the first row: a restart must know that this snapshot began.
            await self._context.offsets.store(source, snapshot_offset(stream_from, txid, ts_us, completed=False))
            tables = await self._tables(connection)
            for statement in lock_statements(config.snapshot_locking_mode, tables, config.snapshot_lock_timeout_ms):
                await _execute(connection, statement)
            progress.tables[:] = [TableProgress(table.name, estimate=table.estimate) for table in tables]
            _log.info("snapshot begins tables=%d lsn=%d", len(tables), lsn)
            sender = RowSender(
                lsn, SourceFacts(ts_us, txid, None), self._headers, config.event_converting_failure_handling_mode
            )
            for table, shown in zip(tables, progress.tables, strict=True):
                await self._read(connection, sender, table, shown)
            sender.finish()
            await self._sink.drained()
            await self._context.offsets.store(source, snapshot_offset(stream_from, txid, ts_us, completed=True))
            await _execute(connection, "COMMIT")
        finally:
            await connection.close()
        progress.snapshot_seconds = time.monotonic() - progress.snapshot_started_at
        _log.info("snapshot ends rows=%d seconds=%.1f", sender.sent, progress.snapshot_seconds)
        return SnapshotPoint(lsn, stream_from)

    async def _tables(self, connection: Connection) -> list[CatalogTable]:
        listed = [table for table in await pg_catalog.list_tables(connection) if self._capture.snapshots(table)]
        tables = await pg_catalog.describe_tables(connection, listed)
        order = self._config.snapshot_tables_order_by_row_count
        if order != "disabled":
            tables.sort(key=lambda table: table.estimate, reverse=order == "descending")
        return tables

    async def _read(self, connection: Connection, sender: RowSender, table: CatalogTable, shown: TableProgress) -> None:
        needed = self._capture.needed_columns(table)
        encoder = self._capture.encoder(projected(table, needed))
        work = _Table(encoder, self._capture.source(table), self._sink.out(encoder.topic))
        override = self._override(table)
        names = await _column_names(connection, override, table.name) if override else ()
        query = select_statement(table, needed, override, names)
        fetch = min(self._config.snapshot_fetch_size or _FETCH_SIZE, _FETCH_SIZE)
        begun = time.monotonic()
        async for lines in copy_rows(connection, query, f"reading table {table.name}", most=fetch):
            count = len(lines)
            sender.rows(work, lines, first_of_table=shown.rows == 0)
            shown.rows += count
            shown.seconds = time.monotonic() - begun
            self._context.progress.events += count
            self._sink.pump()
            self._report(shown)
            # The producer's tasks run on this loop too.
            await asyncio.sleep(0)
            await self._sink.room()
        sender.table_ends()
        shown.done = True
        _log.info("table read table=%s rows=%d seconds=%.1f", table.name, shown.rows, time.monotonic() - begun)

    def _override(self, table: CatalogTable) -> str | None:
        overrides = self._config.snapshot_select_overrides
        for name in (table.name, f'"{table.schema}"."{table.table}"', f"{self._config.database_dbname}.{table.name}"):
            if name in overrides:
                return overrides[name]
        return None

    def _report(self, shown: TableProgress) -> None:
        now = time.monotonic()
        if now - self._reported >= _REPORT_S:
            self._reported = now
            rate = shown.rows / shown.seconds if shown.seconds else 0.0
            left = (shown.estimate - shown.rows) / rate if rate and shown.estimate > shown.rows else 0.0
            _log.info(
                "snapshot reads table=%s rows=%d of about=%d rows_per_second=%d seconds_left=%d",
                shown.table,
                shown.rows,
                shown.estimate,
                rate,
                left,
            )


async def _execute(connection: Connection, statement: str) -> None:
    try:
        await connection.execute(statement.encode())
    except psycopg.Error as error:
        raise source_error(error, f"preparing the snapshot ({statement.split(chr(39), maxsplit=1)[0].strip()})") from error


async def _column_names(connection: Connection, override: str, table: str) -> tuple[str, ...]:
    try:
        cursor = await connection.execute(f"SELECT * FROM ({override_text(override)}) AS overridden LIMIT 0".encode())
    except psycopg.Error as error:
        raise source_error(error, f"reading the columns of snapshot.select.statement.overrides.{table}") from error
    return tuple(column.name for column in cursor.description or ())
