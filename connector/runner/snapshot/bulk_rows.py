"""Snapshots whose rows a :class:`connector.snapshot.bulk.BulkReader` reads: the plan, and the handling of the reader's reports."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig
from connector.delivery.progress import TableProgress
from connector.events.capture import Capture
from connector.events.envelope import SourceFacts
from connector.log import EventLog
from connector.runner.context import TaskContext
from connector.runner.snapshot.notices import SnapshotNotices
from connector.snapshot.bulk import (
    BulkPlan,
    BulkReader,
    BulkReport,
    PartBegun,
    PartDone,
    RecordsFailed,
    RowsRead,
    TableDone,
    TableFailed,
    TopicFilled,
)
from connector.snapshot.job import Job
from connector.snapshot.source import SnapshotSource

LOG: Final = EventLog(__name__)

_REPORT_S: Final = 5.0
_END_S: Final = 30.0
"""Time in which readers must end by themselves."""


def one_a_table(config: ConnectorConfig) -> bool:
    """Return whether tables are not divided into parts, so that no row has the marker ``first``."""
    return config.legacy_snapshot_max_threads or not config.emulation.cuts_tables


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
    """Return the job for readers in other processes. With ``guarded`` an advisory lock shows when all readers have ended."""
    kafka = context.kafka
    return Job(
        config=capture.selection.config,
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
        conversion=context.conversion,
    )


def bulk_plan(selection: Selection, job: Job, tables: Sequence[CatalogTable]) -> BulkPlan:
    """Return the plan for ``tables``. Tables that are read with a user's statement are not divided into parts."""
    whole = {number for number, table in enumerate(tables) if table.name in job.statements or selection.override(table) is not None}
    config = selection.config
    by_weight = config.snapshot_tables_order_by_row_count == "disabled"
    return BulkPlan(job, tuple(tables), frozenset(whole), by_weight, opening=not one_a_table(config))


async def read_in_bulk(reader: BulkReader, plan: BulkPlan, context: TaskContext, notices: SnapshotNotices, source: SnapshotSource) -> int:
    """Read all tables of the plan, which must be those of ``context.progress.tables``. Return the number of rows. Raises CdcError.

    ``source`` is the snapshot's transaction. After this returns or raises, no reader sends a row. A row that arrived after the stream
    continues would replace a newer version of it from the stream.
    """
    watch = _Watch(context, notices)
    LOG.info("snapshot reads in bulk", tables=len(plan.tables))
    try:
        await reader.read(plan, watch.report)
    finally:
        await source.end_readers(plan.job.guard, _END_S)
    return watch.rows


def count_failed(context: TaskContext, failed: RecordsFailed) -> None:
    """Count records that failed in another process."""
    context.meters.record_failed(time.time_ns() // 1_000_000, left_out=failed.left_out, logged=failed.logged, count=failed.count)


class _Watch:
    """Handles the reader's reports."""

    def __init__(self, context: TaskContext, notices: SnapshotNotices) -> None:
        self._context = context
        self._tables: Sequence[TableProgress] = context.progress.tables
        self._notices = notices
        self._begun = self._reported = time.monotonic()
        self._parts = 0
        self._done = 0
        self.rows = 0

    def report(self, message: BulkReport) -> None:
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
                    # The time that the reader needed to start does not count.
                    self._begun = self._reported = time.monotonic()
                self._parts += 1
                self._notices.handed_out(part)
            case PartDone(part):
                self._done += 1
                self._notices.brought_in(part)
            case TableDone(table):
                shown = self._tables[table]
                shown.done = True
                self._context.meters.snapshot.table_read(shown.table)
                LOG.info("table read", table=shown.table, rows=shown.rows, seconds=round(shown.seconds, 1))
                self._notices.table_ends(table)
            case TableFailed(table):
                self._notices.table_fails(table)
            case TopicFilled(topic):
                self._context.topic_used(topic)
            case RecordsFailed():
                count_failed(self._context, message)

    def _report(self) -> None:
        now = time.monotonic()
        if now - self._reported < _REPORT_S:
            return
        self._reported = now
        rate = self.rows / (now - self._begun)
        done = sum(table.done for table in self._tables)
        estimates = [table.rows if table.done else max(table.rows, table.estimate) for table in self._tables]
        # The first rows of tables are read long before the others, so an estimate before the first complete part would be wrong.
        unknown = not self._done or any(not table.done and table.estimate < 0 for table in self._tables)
        left = "unknown" if unknown or not rate else f"{(sum(estimates) - self.rows) / rate:.0f}"
        LOG.info(
            "snapshot reads",
            tables=done,
            of_tables=len(self._tables),
            rows=self.rows,
            of_about=sum(estimates),
            rows_per_second=round(rate),
            seconds_left=left,
        )
