"""Reads the rows of a snapshot and converts them to ``r`` events, in the worker and in its reader processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from connector import failpoints
from connector.catalog.identifiers import quote_identifier
from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig
from connector.delivery.row_run import RowRun, RowTaker, columns_of, row_taker
from connector.errors import CdcError, ErrorKind
from connector.events.capture import Capture
from connector.events.encoders import HEAD, TableEncoder
from connector.events.envelope import SourceFacts, SourceText, TableSource
from connector.events.stream_settings import LEAVING_OUT
from connector.log import EventLog
from connector.ports import Out
from connector.snapshot.plan import Extent, projected, select_statement, split_copy_line
from connector.snapshot.select_casts import REFUSALS, ResultColumn, cast
from connector.snapshot.source import RowSink, SnapshotSource

LOG: Final = EventLog(__name__)

_FETCH_SIZE: Final = 512
"""The most rows that are handled before other asyncio tasks run, unless snapshot.fetch.size is lower. They take about 5 ms."""

Row = Sequence[bytes | None]
"""A row's cells."""


@dataclass(slots=True)
class TableWork:
    """A table that is being read. ``blocks`` are its source blocks by marker. ``direct`` takes its rows as cells, if the sink has a way."""

    encoder: TableEncoder
    source: TableSource
    out: Out
    blocks: dict[str, bytes] = field(default_factory=dict)
    direct: RowTaker | None = None


@dataclass(frozen=True, slots=True)
class FailureModes:
    """What follows if a value cannot be converted, and if an event cannot be made (``event.*.failure.handling.mode``)."""

    converting: str = "warn"
    processing: str = "fail"

    @property
    def leave_out(self) -> bool:
        """Whether a row is left out if no event can be made of it."""
        return self.processing in LEAVING_OUT

    @classmethod
    def of(cls, config: ConnectorConfig) -> FailureModes:
        """Return the modes of a connector."""
        return cls(config.event_converting_failure_handling_mode, config.event_processing_failure_handling_mode)


class RowWriter:
    """Converts rows to ``r`` events and appends them to their table's topic."""

    def __init__(self, lsn: int, facts: SourceFacts, headers: bytes, failures: FailureModes, *, placed: bool = True) -> None:
        """Set the source of all rows: ``lsn`` is in ``source.sequence`` and, if ``placed``, also in ``source.lsn``."""
        self._lsn = lsn
        self._shown = b"%d" % lsn if placed else b"null"
        self._facts = facts
        self._headers = headers
        self._failures = failures

    def trim(self, table: TableWork, lines: list[bytes]) -> tuple[bool, bool]:
        """Remove the lines (of COPY) at both ends that will be left out, and return whether there were such at the start and at the end.

        Nothing is looked at if the configuration leaves no row out.
        """
        start = end = False
        if not self._failures.leave_out:
            return start, end
        while lines and not self._makes(table.encoder, lines[-1]):
            lines.pop()
            end = True
        while lines and not self._makes(table.encoder, lines[0]):
            del lines[0]
            start = True
        return start or (end and not lines), end

    def _makes(self, encoder: TableEncoder, line: bytes) -> bool:
        cells = split_copy_line(line)
        try:
            encoder.snapshot(columns_of([cells]), True, [b""])
        except ValueError:
            # What a row says in the log when it is sent, it does not say here.
            quiet = replace(self._failures, converting="skip") if self._failures.converting == "warn" else self._failures
            return self._made(encoder, cells, quiet) is not None
        return True

    def send(self, table: TableWork, lines: list[bytes], word: str, now_ns: int) -> None:
        """Append ``lines`` (of COPY) with the marker ``word``; ``now_ns`` is the current time in nanoseconds since 1970.

        Raises CdcError(VALUE) for a value that cannot be converted, unless the configuration allows null instead, or leaves the row out.
        """
        nulls = any(b"\\N" in line for line in lines)
        self.send_rows(table, [split_copy_line(line) for line in lines], nulls, word, now_ns)

    def send_rows(self, table: TableWork, rows: Sequence[Row], nulls: bool, word: str, now_ns: int) -> None:
        """As :meth:`send`, for rows that are split into cells; ``nulls`` says whether a cell is NULL."""
        if not rows:
            return
        block = table.blocks.get(word)
        if block is None:
            text = SourceText(table.source, self._facts, word)
            block = table.blocks[word] = text.head + b"%d" % self._lsn + text.middle + self._shown + text.tail
        encoder = table.encoder
        end = block + table.source.form.end(b"r", now_ns) + encoder.closing
        columns = columns_of(rows)
        if table.direct is not None:
            run = RowRun(columns, nulls, end, len(rows))
            if table.direct.take(run, self._headers, now_ns // 1_000_000):
                return
        try:
            payloads = encoder.snapshot(columns, nulls, [end] * len(rows))
        except ValueError:
            made = [(cells, after) for cells in rows if (after := self._made(encoder, cells, self._failures)) is not None]
            if not made:
                return
            columns = columns_of([cells for cells, _ in made])
            payloads = [b"".join((HEAD, after, end)) for _, after in made]
        try:
            keys = encoder.keys(columns, nulls) if encoder.has_key else None
        except ValueError as error:
            raise CdcError(
                ErrorKind.VALUE,
                f"The key of a row of table {encoder.table.name} cannot be converted: {error}",
                "Choose other columns with message.key.columns, or correct the converter of the column",
            ) from error
        table.out.extend(keys, encoder.prefix, payloads, self._headers, now_ns // 1_000_000)

    def _made(self, encoder: TableEncoder, cells: Row, failures: FailureModes) -> bytes | None:
        """Return the JSON of a row, or None if the row is left out because no event can be made of it."""
        try:
            return self._tolerant(encoder, cells, failures)
        except CdcError as error:
            if error.kind is not ErrorKind.VALUE or not failures.leave_out:
                raise
            if failures.processing == "warn":
                LOG.warning("event left out", table=encoder.table.name, reason=error.message)
            return None

    def _tolerant(self, encoder: TableEncoder, cells: Row, modes: FailureModes) -> bytes:
        after, failures = encoder.tolerant(cells)
        for failure in failures:
            error = failure.error(encoder.table.name, modes.converting)
            if error is not None:
                raise error
            if modes.converting == "warn":
                LOG.warning("value sent as null", table=encoder.table.name, column=failure.column, reason=failure.reason)
        return after


class TableReader:
    """Reads tables, or parts of them, in the transaction of ``source``, for topics of ``sink``.

    ``statements`` are the statements of a user's class or a signal for some tables (schema.table).
    """

    def __init__(
        self,
        config: ConnectorConfig,
        capture: Capture,
        sink: RowSink,
        source: SnapshotSource,
        statements: Mapping[str, str] | None = None,
    ) -> None:
        self._statements = statements or {}
        self._config = config
        self._capture = capture
        self._sink = sink
        self._source = source
        self._fetch = min(config.snapshot_fetch_size or _FETCH_SIZE, _FETCH_SIZE)

    def open(self, table: CatalogTable) -> TableWork:
        """Compile the table's encoder and find its topic. Raises CdcError(SCHEMA, CONFIG_INVALID) for a table that cannot be captured."""
        encoder = self._capture.encoder(projected(table, self._capture.needed_columns(table)))
        out = self._sink.out(encoder.topic)
        return TableWork(encoder, self._capture.source(table), out, direct=row_taker(out, encoder))

    async def bursts(self, table: CatalogTable, extent: Extent | None = None) -> AsyncIterator[list[bytes]]:
        """Yield the table's rows as non-empty lists of COPY lines.

        Before the next list, the records that the caller appended are sent, and other asyncio tasks run.
        """
        needed = self._capture.needed_columns(table)
        given = self._statements.get(table.name)
        override = given or self._capture.selection.override(table)
        setting = "the signal or of snapshot.query.mode.custom.name" if given else "snapshot.select.statement.overrides"
        given_columns = await self._source.columns(override, f"{setting} for table {table.name}") if override else ()
        casts = self._casts(projected(table, needed), given_columns)
        shown = {column.name: casts.get(column.name) or quote_identifier(column.name) for column in given_columns}
        query = select_statement(table, needed, override, shown, extent)
        async for lines in self._rows(query, table, setting, casts):
            yield lines
            self._sink.pump()
            failpoints.reached(failpoints.SNAPSHOT_PART)
            # The producer's tasks run on this event loop too.
            await asyncio.sleep(0)
            await self._sink.room()

    def _casts(self, table: CatalogTable, given: Sequence[ResultColumn]) -> dict[str, str]:
        """Return the expressions for the columns whose results are not of the declared type, by name."""
        results = {column.name: column for column in given}
        exact = self._config.decimal_handling_mode == "precise"
        found = {}
        for column in table.columns:
            if (result := results.get(column.name)) is not None:
                expression = cast(column, result, self._capture.types, exact=exact)
                if expression is not None:
                    found[column.name] = expression
        return found

    async def _rows(self, query: str, table: CatalogTable, setting: str, casts: Mapping[str, str]) -> AsyncIterator[list[bytes]]:
        """Yield the rows of ``query`` as lines. An error of a cast names the columns, not the value, which the server's message quotes."""
        try:
            async for lines in self._source.rows(query, f"reading table {table.name}", most=self._fetch):
                yield lines
        except CdcError as error:
            state = error.detail.removeprefix("SQLSTATE ")
            if not casts or state not in REFUSALS:
                raise
            raise CdcError(
                ErrorKind.SOURCE_QUERY,
                f"The statement of {setting} for table {table.name} returns a value that does not fit its column;"
                f" not of the declared type are: {', '.join(casts)}",
                "Cast these columns in the statement, for example round(price, 2) for a numeric(10,2)",
                error.detail,
            ) from None
