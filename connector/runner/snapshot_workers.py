"""Reader processes of a snapshot: started, given parts, listened to, ended. What they may send when is :mod:`connector.chunks`' affair."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from connector.chunks import Deal, Handout, Marked
from connector.errors import CdcError, ErrorKind
from connector.io.kafka_sink import KafkaSink
from connector.runner.child_process import python_command, python_environment
from connector.runner.snapshot_notices import SnapshotNotices
from connector.runner.snapshot_pipe import (
    Acknowledged,
    Advanced,
    EdgeRow,
    Failed,
    Flush,
    Go,
    Logged,
    Opened,
    Order,
    PartRead,
    Ready,
    TopicUsed,
    receive,
    send,
)
from connector.snapshot_job import Job
from connector.table import CatalogTable

_log = logging.getLogger(__name__)

_END_S: Final = 0.5
"""How long a reader has to end by itself once its socket is closed."""


class _Child:
    """One process and this end of its socket."""

    def __init__(self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.process = process
        self.reader = reader
        self.writer = writer
        self.idle = False
        self.flushing = False
        self.handout: Handout | None = None
        """What it reads now."""
        self.unacknowledged: list[Handout] = []
        """What it has read since it last had everything acknowledged."""


class SnapshotWorkers:
    """Reads a snapshot's tables in ``count`` processes. One use.

    ``topic_used`` is told of each topic; ``read`` of each table's number and how many rows more have been read of it, first
    when it is begun; ``complete`` of a table's number when Kafka has its rows; ``notices`` of each part. Rows at the edges of parts go
    through ``sink``.
    """

    def __init__(
        self,
        job: Job,
        count: int,
        sink: KafkaSink,
        topic_used: Callable[[str], None],
        read: Callable[[int, int], None],
        complete: Callable[[int], None],
        notices: SnapshotNotices,
    ) -> None:
        self._job = job
        self._count = count
        self._sink = sink
        self._topic_used = topic_used
        self._read = read
        self._complete = complete
        self._notices = notices
        self._topics: set[str] = set()
        self._children: list[_Child] = []
        # One message at a time: what is answered to one must be in Kafka before the next is looked at.
        self._turn = asyncio.Lock()
        self._over = asyncio.Event()

    async def run(self, tables: Sequence[CatalogTable], deal: Deal[EdgeRow]) -> None:
        """Read everything; when this returns Kafka has all rows. No process is left, whichever way it ends.

        Raises the CdcError of the process that failed first; CdcError(INTERNAL) when one cannot be started or dies.
        """
        listeners: list[asyncio.Task[None]] = []
        over = asyncio.create_task(self._over.wait(), name="wait for the readers")
        try:
            for number in range(self._count):
                child = await self._start(number)
                listeners.append(asyncio.create_task(self._listen(child, tables, deal), name=f"listen to reader {number}"))
            done, _ = await asyncio.wait({over, *listeners}, return_when=asyncio.FIRST_COMPLETED)
            for listener in listeners:
                if listener in done:
                    listener.result()
            await self._send(deal.finish())
        finally:
            for task in (over, *listeners):
                task.cancel()
            await asyncio.gather(over, *listeners, return_exceptions=True)
            await self._end()

    async def _start(self, number: int) -> _Child:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    *python_command("connector.runner.snapshot_child", str(theirs.fileno())),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    env=python_environment(),
                )
            child = _Child(process, *await asyncio.open_connection(sock=ours))
        except BaseException as problem:
            # The end of the socket is the end of a process that may have been started.
            ours.close()
            if not isinstance(problem, OSError):
                raise
            raise CdcError(
                ErrorKind.INTERNAL,
                f"A process that reads the snapshot could not be started: {problem.strerror}",
                "Raise the limit of processes or of memory, or lower snapshot.max.threads",
            ) from problem
        self._children.append(child)
        base = self._job.transactional_id
        # Readers of the same number of an earlier run, should any be left, can write no more.
        send(child.writer, self._job if base is None else replace(self._job, transactional_id=f"{base}-snapshot-{number}"))
        return child

    async def _end(self) -> None:
        """Close the sockets, which ends the processes; kill those that do not notice."""
        for child in self._children:
            child.writer.close()
        ends = [asyncio.create_task(child.process.wait()) for child in self._children]
        if ends:
            await asyncio.wait(ends, timeout=_END_S)
        for child in self._children:
            if child.process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    child.process.kill()
        await asyncio.gather(*ends)

    async def _listen(self, child: _Child, tables: Sequence[CatalogTable], deal: Deal[EdgeRow]) -> None:
        while (message := await receive(child.reader)) is not None:
            async with self._turn:
                await self._take(child, message, tables, deal)
        raise await self._lost(child)

    async def _take(self, child: _Child, message: object, tables: Sequence[CatalogTable], deal: Deal[EdgeRow]) -> None:
        handout = child.handout
        match message:
            case Logged(logger, level, text):
                logging.getLogger(logger).log(level, "%s", text)
                return
            case TopicUsed(topic):
                if topic not in self._topics:
                    self._topics.add(topic)
                    self._topic_used(topic)
                return
            case Failed(kind, text, remedy, detail):
                raise CdcError(ErrorKind(kind), text, remedy, detail)
            case Advanced(rows) if handout is not None:
                self._read(handout.part.table, rows)
                return
            case Opened(first) if handout is not None:
                await self._send(deal.opened(handout.part, first))
                self._read(handout.part.table, 1)
                send(child.writer, Go())
            case PartRead(rows, last) if handout is not None:
                await self._send(deal.read(handout.part, last))
                self._read(handout.part.table, rows + (last is not None))
                child.unacknowledged.append(handout)
                child.handout, child.idle = None, True
            case Acknowledged():
                self._acknowledged(child, deal)
            case Ready():
                child.idle = True
            case _:
                raise CdcError(
                    ErrorKind.INTERNAL, f"A process that reads the snapshot said {type(message).__name__} out of turn", "Report it"
                )
        self._hand_out(tables, deal)

    def _acknowledged(self, child: _Child, deal: Deal[EdgeRow]) -> None:
        child.flushing = False
        done, child.unacknowledged = child.unacknowledged, []
        for handout in done:
            self._append(deal.acknowledged(handout.part))
            self._notices.brought_in(handout.part)
            if deal.complete(handout.part.table):
                self._complete(handout.part.table)
        self._sink.pump()

    def _hand_out(self, tables: Sequence[CatalogTable], deal: Deal[EdgeRow]) -> None:
        for child in self._children:
            if not child.idle:
                continue
            handout = deal.take()
            if handout is not None:
                child.handout, child.idle = handout, False
                send(child.writer, Order(handout, tables[handout.part.table]))
                self._notices.handed_out(handout.part)
                self._read(handout.part.table, 0)
            elif child.unacknowledged and not child.flushing:
                child.flushing = True
                send(child.writer, Flush())
        if deal.over:
            self._over.set()

    async def _send(self, rows: Sequence[Marked[EdgeRow]]) -> None:
        if rows:
            # Whatever went before in these topics must be there first, and these before all that follows.
            await self._sink.drained()
            self._append(rows)
            await self._sink.drained()

    def _append(self, rows: Sequence[Marked[EdgeRow]]) -> None:
        for marked in rows:
            self._sink.out(marked.row.topic).append(*marked.row.records[marked.word])

    async def _lost(self, child: _Child) -> CdcError:
        code = await child.process.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return CdcError(
            ErrorKind.INTERNAL,
            f"A process that reads the snapshot {how}",
            "See the worker's standard error; if it ran out of memory, lower snapshot.max.threads",
        )
