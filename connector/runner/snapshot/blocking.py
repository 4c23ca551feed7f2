"""Blocking snapshots (signal ``execute-snapshot``): the stream is suspended while tables are read again, and then continues.

No offset is stored during a blocking snapshot. After a crash the stream continues from before the signal. If the signal is a row of the
signal table, the stream delivers it again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Final

from connector.catalog.table import CatalogTable
from connector.errors import CdcError
from connector.events.capture import Capture
from connector.events.envelope import SourceFacts
from connector.log import EventLog
from connector.runner.context import TaskContext
from connector.runner.notifications.notifier import Notifier
from connector.runner.snapshot.custom import tell_aborted
from connector.runner.snapshot.notices import SnapshotNotices, tells_of_parts
from connector.runner.snapshot.reading import RowPlace, SnapshotEdges, SnapshotReading
from connector.snapshot.bulk import BulkReader
from connector.snapshot.source import RowSink, SnapshotSource
from connector.start.snapshotter import CustomSnapshot

LOG: Final = EventLog(__name__)


class BlockingSnapshot:
    """Takes blocking snapshots for one run of the stream. ``bulk`` reads the rows of snapshots of type ``spark``.

    ``edges`` are by default connections to PostgreSQL and processes.
    """

    def __init__(
        self,
        context: TaskContext,
        capture: Capture,
        sink: RowSink,
        notifier: Notifier,
        headers: bytes,
        custom: CustomSnapshot,
        bulk: BulkReader | None = None,
        edges: SnapshotEdges | None = None,
    ) -> None:
        self._bulk = bulk
        self._context = context
        self._capture = capture
        self._sink = sink
        self._notifier = notifier
        self._headers = headers
        self._custom = custom
        self._edges = edges or SnapshotEdges.of(capture.selection.config)

    async def bulk_refusal(self) -> str | None:
        """Return why Spark cannot read a snapshot's rows, in one sentence; None if it can."""
        if self._bulk is None:
            return "this connector runs without a worker that could start Spark; use type blocking"
        return await self._bulk.refusal()

    async def take(self, names: Sequence[str], selects: Mapping[str, str], last: SourceFacts, lsn: int, *, in_bulk: bool = False) -> None:
        """Read the tables ``names`` (schema.table), each completely or with its statement in ``selects``. The caller suspends the stream.

        An error is reported and does not affect the stream. Only an error whose cause is outside of the snapshot and may pass, such as a
        lost connection, is raised (CdcError), because it ends the stream too. The sender of the signal wrote ``selects``, so they run in a
        transaction that cannot write. ``last`` and ``lsn`` belong to the last streamed event; as recorded, the rows' source blocks repeat
        them.
        """
        progress, meter = self._context.progress, self._context.meters.snapshot
        notices = SnapshotNotices(self._notifier, in_parts=tells_of_parts(self._capture.selection.config))
        former = progress.phase
        progress.phase = "snapshot"
        progress.snapshot_started_at = time.monotonic()
        # After a crash these rows and the waiting records before them are sent again, so they need not wait for a mark.
        self._sink.bind(to_marks=False)
        meter.begins()
        notices.begins()
        completed = False
        try:
            rows = await self._read(names, selects, last, lsn, notices, self._bulk if in_bulk else None)
        except CdcError as error:
            if error.passes_without_snapshot:
                raise
            LOG.error("blocking snapshot was not completed", reason=error)  # noqa: TRY400 (the reason says all; the stream continues)
            tell_aborted(self._custom)
            self._notifier.send(self._notifier.initial.aborted())
        else:
            completed = True
            LOG.info("blocking snapshot ends", rows=rows)
            self._custom.completed()
            notices.ends()
        finally:
            meter.ends(completed=completed)
            progress.snapshot_seconds = time.monotonic() - progress.snapshot_started_at
            progress.phase = former

    async def _read(
        self,
        names: Sequence[str],
        selects: Mapping[str, str],
        last: SourceFacts,
        lsn: int,
        notices: SnapshotNotices,
        bulk: BulkReader | None,
    ) -> int:
        reading = SnapshotReading(self._context, self._capture, self._sink, self._headers, notices, self._custom, self._edges, bulk)
        async with reading.transaction("Understudy Blocking Snapshot") as source:
            chosen = await reading.choose(source, await self._tables(source, names), selects)
            txid = last.txid if last.txid is not None else await source.txid()
            facts = SourceFacts(time.time_ns() // 1000, txid, last.last_commit, last.xmin, last.origin)
            LOG.info("blocking snapshot begins", tables=",".join(table.name for table in chosen.tables))
            rows = await reading.read(source, chosen, RowPlace(lsn, facts), read_only=bool(selects))
            await self._sink.drained()
            await source.execute("COMMIT")
        return rows

    async def _tables(self, source: SnapshotSource, names: Sequence[str]) -> list[CatalogTable]:
        listed = {table.name: table for table in await source.tables()}
        chosen = []
        for name in names:
            table = listed.get(name)
            if table is None or not self._capture.selection.captures(table.schema, table.table):
                why = "there is no such table" if table is None else "the connector's filters leave it out"
                LOG.warning("blocking snapshot skips a table", table=name, reason=why)
            else:
                chosen.append(table)
        return await source.describe(await asyncio.to_thread(self._capture.selection.in_snapshot_order, chosen))
