"""A snapshot's rows by a :class:`connector.bulk.BulkReader`: its plan, and what it tells as progress, notices and lines of the log."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from connector.bulk import BulkPlan, BulkReader, BulkTold, PartBegun, PartDone, RowsRead, TableDone, TableFailed, TopicFilled
from connector.capture import Capture
from connector.chunks import Part
from connector.config import ConnectorConfig
from connector.envelope import SourceFacts
from connector.io import pg_guard
from connector.io.pg_connection import Connection
from connector.ports import TableProgress, TaskContext
from connector.runner.snapshot_rows import override_of
from connector.snapshot_job import Job
from connector.table import CatalogTable

_log = logging.getLogger(__name__)

_REPORT_S: Final = 5.0
_END_S: Final = 30.0
"""How long readers have to end by themselves."""


class Notices(Protocol):
    """Who is told of parts and tables, by their numbers."""

    def handed_out(self, part: Part) -> None:
        """A part is about to be read."""

    def brought_in(self, part: Part) -> None:
        """Kafka has a part."""

    def table_ends(self, table: int) -> None:
        """A table was read; its progress has all rows."""

    def table_fails(self, table: int) -> None:
        """A table cannot be read."""


def one_a_table(config: ConnectorConfig) -> bool:
    """Whether tables are read in one piece each, and no row is marked as the snapshot's first."""
    return config.legacy_snapshot_max_threads or config.version < (3,)


def snapshot_job(
    context: TaskContext,
    capture: Capture,
    exported: str,
    lsn: int,
    facts: SourceFacts,
    headers: bytes,
    statements: Mapping[str, str],
    *,
    guarded: bool = False,
) -> Job:
    """What readers in other processes are given; ``guarded`` when only the database knows that they have ended."""
    kafka = context.kafka
    return Job(
        config=dict(context.config),
        key_converter=context.key_converter,
        value_converter=context.value_converter,
        kafka=replace(kafka, producer=dict(kafka.producer), admin=dict(kafka.admin)),
        types=dict(capture.types),
        exported=exported,
        lsn=lsn,
        facts=facts,
        headers=headers,
        log_level=logging.getLogger("connector").getEffectiveLevel(),
        statements=dict(statements),
        transactional_id=None if context.exactly_once is None else context.exactly_once.transactional_id,
        guard=secrets.randbits(62) + 1 if guarded else 0,
        plugins=context.plugins,
    )


def bulk_plan(config: ConnectorConfig, job: Job, tables: Sequence[CatalogTable]) -> BulkPlan:
    """All of ``tables`` in parts, but for those that a statement of the user's reads, which come in one piece."""
    whole = {number for number, table in enumerate(tables) if table.name in job.statements or override_of(config, table) is not None}
    by_weight = config.snapshot_tables_order_by_row_count == "disabled"
    return BulkPlan(job, tuple(tables), frozenset(whole), by_weight, opening=not one_a_table(config))


async def read_in_bulk(reader: BulkReader, plan: BulkPlan, context: TaskContext, notices: Notices, connection: Connection) -> int:
    """Read everything, and answer how many rows that were. ``context.progress.tables`` are the plan's. Raises CdcError.

    ``connection`` is in the snapshot's transaction. However this ends, no reader of it sends anything afterwards: a row that came
    when the stream goes on would hide what the stream has told of it.
    """
    watch = _Watch(context, notices)
    _log.info("snapshot reads in bulk tables=%d", len(plan.tables))
    try:
        await reader.read(plan, watch.told)
    finally:
        await pg_guard.close(connection, plan.job.guard, _END_S)
    return watch.rows


class _Watch:
    """Takes what the reader tells."""

    def __init__(self, context: TaskContext, notices: Notices) -> None:
        self._context = context
        self._tables: Sequence[TableProgress] = context.progress.tables
        self._notices = notices
        self._begun = self._reported = time.monotonic()
        self._parts = 0
        self._done = 0
        self.rows = 0

    def told(self, message: BulkTold) -> None:
        match message:
            case RowsRead(table, rows):
                shown = self._tables[table]
                shown.rows += rows
                shown.seconds = time.monotonic() - self._begun
                self.rows += rows
                self._context.progress.events += rows
                self._report()
            case PartBegun(part):
                if not self._parts:
                    # What the reader needed to start is no part of its pace.
                    self._begun = self._reported = time.monotonic()
                self._parts += 1
                self._notices.handed_out(part)
            case PartDone(part):
                self._done += 1
                self._notices.brought_in(part)
            case TableDone(table):
                shown = self._tables[table]
                shown.done = True
                _log.info("table read table=%s rows=%d seconds=%.1f", shown.table, shown.rows, shown.seconds)
                self._notices.table_ends(table)
            case TableFailed(table):
                self._notices.table_fails(table)
            case TopicFilled(topic):
                self._context.topic_used(topic)

    def _report(self) -> None:
        now = time.monotonic()
        if now - self._reported < _REPORT_S:
            return
        self._reported = now
        rate = self.rows / (now - self._begun)
        done = sum(table.done for table in self._tables)
        estimates = [table.rows if table.done else max(table.rows, table.estimate) for table in self._tables]
        # First rows of tables come long before the others.
        unknown = not self._done or any(not table.done and table.estimate < 0 for table in self._tables)
        left = "unknown" if unknown or not rate else f"{(sum(estimates) - self.rows) / rate:.0f}"
        form = "snapshot reads tables=%d of=%d rows=%d of about=%d rows_per_second=%.0f seconds_left=%s"
        _log.info(form, done, len(self._tables), self.rows, sum(estimates), rate, left)
