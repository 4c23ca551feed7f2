"""Runs a snapshot's reader processes: starts them, assigns parts, handles reports, and ends them.

:mod:`connector.snapshot.parts` decides the order of the parts and the markers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from connector.catalog.table import CatalogTable
from connector.errors import CdcError, ErrorKind
from connector.runner.child.pipe import Failed, Logged
from connector.runner.child.process import Child, ChildProcess, StartChild, end_all
from connector.runner.snapshot.messages import (
    Acknowledged,
    Advanced,
    EdgeRow,
    Flush,
    Go,
    Opened,
    Order,
    PartRead,
    Ready,
    TopicUsed,
)
from connector.runner.snapshot.notices import SnapshotNotices
from connector.snapshot.bulk import RecordsFailed
from connector.snapshot.job import Job
from connector.snapshot.parts import Deal, Handout, Marked
from connector.snapshot.source import RowSink

_MODULE: Final = "connector.runner.snapshot.reader_process"
_END_S: Final = 0.5
"""Time in which a reader must end by itself after its socket is closed."""


async def start_reader() -> Child:
    """Start one reader process. Raises CdcError(INTERNAL)."""
    return await ChildProcess.start(
        _MODULE,
        "A process that reads the snapshot",
        instead="lower snapshot.max.threads",
        after="See the worker's standard error; if it ran out of memory, lower snapshot.max.threads",
    )


@dataclass(slots=True, eq=False)
class _Reader:
    """One reader process and its state."""

    child: Child
    idle: bool = False
    flushing: bool = False
    handout: Handout | None = None
    """The part that it is reading."""
    unacknowledged: list[Handout] = field(default_factory=list)
    """The parts that it has read, whose rows Kafka has not yet acknowledged."""


class SnapshotWorkers:
    """Reads a snapshot's tables in ``count`` processes, which ``start`` starts. Use it once.

    ``topic_used`` is called with each topic, and ``failed`` with what readers say about records that fail. ``read`` is called with a
    table's number and the number of rows that were read since the last call; the first call is at the table's begin. ``complete`` is
    called with a table's number when Kafka has its rows. ``notices`` sends the notifications of parts. The first and last rows of parts
    are sent through ``sink``.
    """

    def __init__(
        self,
        job: Job,
        count: int,
        sink: RowSink,
        topic_used: Callable[[str], None],
        failed: Callable[[RecordsFailed], None],
        read: Callable[[int, int], None],
        complete: Callable[[int], None],
        notices: SnapshotNotices,
        start: StartChild = start_reader,
    ) -> None:
        self._job = job
        self._count = count
        self._sink = sink
        self._topic_used = topic_used
        self._failed = failed
        self._read = read
        self._complete = complete
        self._notices = notices
        self._start_child = start
        self._topics: set[str] = set()
        self._readers: list[_Reader] = []
        # One message is handled at a time: the rows that it releases must be in Kafka before the next message is handled.
        self._turn = asyncio.Lock()
        self._over = asyncio.Event()

    async def run(self, tables: Sequence[CatalogTable], deal: Deal[EdgeRow]) -> None:
        """Read all tables. When this returns, Kafka has all rows. When it returns or raises, no process is left.

        Raises the CdcError of the process that failed first, and CdcError(INTERNAL) if a process cannot be started or dies.
        """
        listeners: list[asyncio.Task[None]] = []
        over = asyncio.create_task(self._over.wait(), name="wait for the readers")
        try:
            for number in range(self._count):
                reader = await self._start(number)
                listeners.append(asyncio.create_task(self._listen(reader, tables, deal), name=f"listen to reader {number}"))
            done, _ = await asyncio.wait({over, *listeners}, return_when=asyncio.FIRST_COMPLETED)
            for listener in listeners:
                if listener in done:
                    listener.result()
            await self._send(deal.finish())
        finally:
            for task in (over, *listeners):
                task.cancel()
            try:
                await asyncio.gather(over, *listeners, return_exceptions=True)
            finally:
                # Even if this task is cancelled while the listeners end, the processes must end.
                await end_all([reader.child for reader in self._readers], _END_S)

    async def _start(self, number: int) -> _Reader:
        reader = _Reader(await self._start_child())
        self._readers.append(reader)
        base = self._job.transactional_id
        # The transactional id contains the reader's number, so a remaining reader of an earlier run is fenced and cannot write.
        reader.child.send(self._job if base is None else replace(self._job, transactional_id=f"{base}-snapshot-{number}"))
        return reader

    async def _listen(self, reader: _Reader, tables: Sequence[CatalogTable], deal: Deal[EdgeRow]) -> None:
        while (message := await reader.child.receive()) is not None:
            async with self._turn:
                await self._take(reader, message, tables, deal)
        raise await reader.child.lost()

    async def _take(self, reader: _Reader, message: object, tables: Sequence[CatalogTable], deal: Deal[EdgeRow]) -> None:
        handout = reader.handout
        match message:
            case Logged():
                message.write()
                return
            case TopicUsed(topic):
                if topic not in self._topics:
                    self._topics.add(topic)
                    self._topic_used(topic)
                return
            case RecordsFailed():
                self._failed(message)
                return
            case Failed():
                raise message.error
            case Advanced(rows) if handout is not None:
                self._read(handout.part.table, rows)
                return
            case Opened(first) if handout is not None:
                await self._send(deal.opened(handout.part, first))
                self._read(handout.part.table, 1)
                reader.child.send(Go())
            case PartRead(rows, last) if handout is not None:
                await self._send(deal.read(handout.part, last))
                self._read(handout.part.table, rows + (last is not None))
                reader.unacknowledged.append(handout)
                reader.handout, reader.idle = None, True
            case Acknowledged():
                self._acknowledged(reader, deal)
            case Ready():
                reader.idle = True
            case _:
                raise CdcError(
                    ErrorKind.INTERNAL, f"A process that reads the snapshot said {type(message).__name__} out of turn", "Report it"
                )
        self._hand_out(tables, deal)

    def _acknowledged(self, reader: _Reader, deal: Deal[EdgeRow]) -> None:
        reader.flushing = False
        done, reader.unacknowledged = reader.unacknowledged, []
        for handout in done:
            self._append(deal.acknowledged(handout.part))
            self._notices.brought_in(handout.part)
            if deal.complete(handout.part.table):
                self._complete(handout.part.table)
        self._sink.pump()

    def _hand_out(self, tables: Sequence[CatalogTable], deal: Deal[EdgeRow]) -> None:
        for reader in self._readers:
            if not reader.idle:
                continue
            handout = deal.take()
            if handout is not None:
                reader.handout, reader.idle = handout, False
                reader.child.send(Order(handout, tables[handout.part.table]))
                self._notices.handed_out(handout.part)
                self._read(handout.part.table, 0)
            elif reader.unacknowledged and not reader.flushing:
                reader.flushing = True
                reader.child.send(Flush())
        if deal.over:
            self._over.set()

    async def _send(self, rows: Sequence[Marked[EdgeRow]]) -> None:
        if rows:
            # Kafka must have all earlier records of these topics before these rows, and these rows before all later records.
            await self._sink.drained()
            self._append(rows)
            await self._sink.drained()

    def _append(self, rows: Sequence[Marked[EdgeRow]]) -> None:
        for marked in rows:
            self._sink.out(marked.row.topic).append(*marked.row.records[marked.word])
