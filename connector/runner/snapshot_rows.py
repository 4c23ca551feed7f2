"""The rows of a snapshot as ``r`` events, and the query that brings a table's rows. The same for the worker and its reader processes."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import psycopg

from connector.capture import Capture
from connector.config import ConnectorConfig
from connector.encoders import TableEncoder
from connector.envelope import SourceFacts, SourceText, TableSource, event_tail
from connector.errors import CdcError, ErrorKind
from connector.io.kafka_sink import KafkaSink
from connector.io.pg_connection import Connection, source_error
from connector.io.pg_copy import copy_rows
from connector.snapshot import Chunk, override_text, projected, select_statement, split_copy_line
from connector.stream import Out
from connector.table import CatalogTable

_log = logging.getLogger(__name__)

_FETCH_SIZE: Final = 512
"""Rows worked on before other tasks of the process get their turn, when snapshot.fetch.size does not say less: about 5 ms."""
_HEAD: Final = b'{"before":null,"after":'


@dataclass(slots=True)
class TableWork:
    """A table while it is read. ``blocks`` are its source blocks by marker, complete up to the op."""

    table: CatalogTable
    encoder: TableEncoder
    source: TableSource
    out: Out
    blocks: dict[str, bytes] = field(default_factory=dict)


class RowWriter:
    """Turns rows into ``r`` events and appends them to their table's topic."""

    def __init__(self, lsn: int, facts: SourceFacts, headers: bytes, conversion_failure: str) -> None:
        self._lsn = lsn
        self._facts = facts
        self._headers = headers
        self._conversion_failure = conversion_failure

    def send(self, table: TableWork, lines: list[bytes], word: str, now_ns: int) -> None:
        """Append ``lines`` with the marker ``word``. CdcError(VALUE) for a value that cannot be converted, unless the configuration forgives."""
        block = table.blocks.get(word)
        if block is None:
            text = SourceText(table.source, self._facts, word)
            block = table.blocks[word] = text.head + b"%d" % self._lsn + text.middle + b"%d" % self._lsn + text.tail + b"r"
        encoder = table.encoder
        row, key, has_key, prefix = encoder.row, encoder.key, encoder.has_key, encoder.prefix
        end = block + event_tail(now_ns, encoder.closing)
        append, headers, now_ms = table.out.append, self._headers, now_ns // 1_000_000
        join = b"".join
        for line in lines:
            cells = split_copy_line(line)
            try:
                after = row(cells)
            except ValueError:
                after = self._tolerant(encoder, cells)
            append(key(cells) if has_key else None, prefix, join((_HEAD, after, end)), headers, now_ms)

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


class TableSource_:
    pass
