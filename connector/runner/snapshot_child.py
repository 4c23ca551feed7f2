"""A process that reads parts of a snapshot: ``python -m connector.runner.snapshot_child FD``.

``FD`` is its end of the socket pair over which it gets its job and its orders (:mod:`connector.runner.snapshot_pipe`). It has a
connection to PostgreSQL and a producer of its own. When the other end closes, for whatever reason, it is gone at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final

from connector.capture import Capture
from connector.chunks import Handout
from connector.config import parse
from connector.errors import CdcError, ErrorKind
from connector.io.kafka_sink import KafkaSink
from connector.io.pg_connection import connect
from connector.io.topic_creation import TopicCreator
from connector.io.transactional_sink import TransactionalSink
from connector.record_batch import Record
from connector.runner.snapshot_pipe import (
    Acknowledged,
    Advanced,
    EdgeRow,
    Failed,
    Flush,
    Go,
    Job,
    Logged,
    Opened,
    Order,
    PartRead,
    Ready,
    Told,
    TopicUsed,
    receive,
    send,
)
from connector.runner.snapshot_rows import RowWriter, TableReader, TableWork, execute, lift_timeouts
from connector.snapshot import begin_statements, lock_statements
from connector.table import CatalogTable

_TELL_S: Final = 0.2
"""How often progress is told, and how long rows may wait for their acknowledgement to be asked for."""
_FIRST: Final = ("first", "first_in_data_collection", "true")
_LAST: Final = ("last", "last_in_data_collection")
_ANY: Final = (*_FIRST, *_LAST)


class _Collector:
    """Keeps records instead of sending them."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def append(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        self.records.append((key, prefix, payload, headers, timestamp))

    def extend(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        for number, payload in enumerate(payloads):
            self.append(keys[number] if keys is not None else None, prefix, payload, headers, timestamp)


class _Forwarding(logging.Handler):
    """Sends lines of the log to the worker, which writes them as its own."""

    def __init__(self, tell: Callable[[Told], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and record.exc_info[0] is not None:
            text += f" ({record.exc_info[0].__name__})"
        self._tell(Logged(record.name, record.levelno, text))


class _PartReader:
    """Reads one part after the other and tells what became of it."""

    def __init__(self, job: Job, reader: TableReader, sink: KafkaSink, conversion_failure: str, tell: Callable[[Told], None]) -> None:
        self._reader = reader
        self._sink = sink
        self._tell = tell
        self._writer = RowWriter(job.lsn, job.facts, job.headers, conversion_failure)
        self._work: tuple[CatalogTable, TableWork] | None = None
        self._asked = time.monotonic()
        self.go = asyncio.Event()

    async def read(self, order: Order) -> None:
        """Send the rows of a part but for the last, which is handed in."""
        handout, table = order.handout, order.table
        work = self._open(table)
        held: bytes | None = None
        begun = handout.part.of > 1 and not handout.ask
        sent, told = 0, time.monotonic()
        async for lines in self._reader.bursts(table, handout.part.chunk):
            if held is not None:
                lines.insert(0, held)
            held = lines.pop()
            if not lines:
                continue
            if not begun:
                begun = True
                sent += await self._begin(work, lines, handout)
            now = time.time_ns()
            self._writer.send(work, lines, "true", now)
            sent += len(lines)
            if time.monotonic() - told >= _TELL_S:
                self._tell(Advanced(sent))
                sent, told = 0, time.monotonic()
        last = None if held is None else self._edge(work, held, _LAST if handout.part.of == 1 and not handout.ask else _ANY)
        self._tell(PartRead(sent, last))
        # Many small tables are acknowledged together; a wait for each would cost more than reading it.
        if time.monotonic() - self._asked >= _TELL_S:
            await self.flush()

    async def flush(self) -> None:
        """Wait until Kafka has everything, and say so."""
        await self._sink.drained()
        self._asked = time.monotonic()
        self._tell(Acknowledged())

    async def _begin(self, work: TableWork, lines: list[bytes], handout: Handout) -> int:
        """Take the first row off ``lines``: it is the worker's to send, or the table's only reader's. How many rows were sent here."""
        first = lines.pop(0)
        if handout.ask:
            self._tell(Opened(self._edge(work, first, _FIRST)))
            await self.go.wait()
            self.go.clear()
            return 0
        self._writer.send(work, [first], "first_in_data_collection", time.time_ns())
        return 1

    def _open(self, table: CatalogTable) -> TableWork:
        # Parts of one table mostly come one after the other.
        if self._work is None or self._work[0] != table:
            self._work = table, self._reader.open(table)
        return self._work[1]

    def _edge(self, work: TableWork, line: bytes, words: Iterable[str]) -> EdgeRow:
        records: dict[str, Record] = {}
        now = time.time_ns()
        for word in words:
            out = _Collector()
            self._writer.send(TableWork(work.encoder, work.source, out, work.blocks), [line], word, now)
            (records[word],) = out.records
        return EdgeRow(work.encoder.topic, records)


async def _work(job: Job, orders: asyncio.Queue[object], tell: Callable[[Told], None], start: Callable[[_PartReader], None]) -> None:
    config, _notices = parse(job.config)
    capture = Capture(config, dict(job.types), job.key_converter, job.value_converter, logging.getLogger("connector").warning)
    async with contextlib.AsyncExitStack() as stack:
        connection = await connect(config, "Understudy Snapshot Reader")
        stack.push_async_callback(connection.close)
        await lift_timeouts(connection)
        for statement in begin_statements("repeatable_read", job.exported):
            await execute(connection, statement)
        kafka = job.kafka
        used = cache(lambda topic: tell(TopicUsed(topic)))
        creator = TopicCreator(kafka.admin, config.topic_creation, used, enabled=kafka.topic_creation)
        sink = KafkaSink(kafka, creator) if job.transactional_id is None else TransactionalSink(kafka, creator, job.transactional_id, None)
        stack.push_async_callback(sink.stop)
        await sink.start()
        reader = TableReader(config, capture, sink, connection, job.statements)
        parts = _PartReader(job, reader, sink, config.event_converting_failure_handling_mode, tell)
        start(parts)
        tell(Ready())
        while True:
            order = await orders.get()
            if isinstance(order, Order):
                # A lock that somebody else waits for, behind the worker's own, would never be given: it must have a time limit.
                for statement in lock_statements(config.snapshot_locking_mode, [order.table], config.snapshot_lock_timeout_ms):
                    await execute(connection, statement)
                await parts.read(order)
            else:
                await parts.flush()


async def _main(pipe: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=pipe)

    def tell(message: Told) -> None:
        send(writer, message)

    job = await receive(reader)
    if not isinstance(job, Job):
        return
    root = logging.getLogger()
    root.handlers[:] = [_Forwarding(tell)]
    root.setLevel(job.log_level)
    orders: asyncio.Queue[object] = asyncio.Queue()
    started: list[_PartReader] = []
    work = asyncio.create_task(_work(job, orders, tell, started.append), name="read parts")

    async def listen() -> None:
        while (message := await receive(reader)) is not None:
            if isinstance(message, Go):
                started[0].go.set()
            elif isinstance(message, Order | Flush):
                orders.put_nowait(message)

    listening = asyncio.create_task(listen(), name="listen to the worker")
    await asyncio.wait({work, listening}, return_when=asyncio.FIRST_COMPLETED)
    if work.done() and (problem := work.exception()) is not None:
        tell(_failure(problem))
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        # The message must have left before the process ends.
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    # Nothing is to be ended in order: either all is acknowledged, or all will be read again.
    os._exit(0)


def _failure(problem: BaseException) -> Failed:
    if isinstance(problem, CdcError):
        return Failed(problem.kind.value, problem.message, problem.remedy, problem.detail)
    # The text of an exception that nobody foresaw may hold a value of a row: its type and place must do.
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    return Failed(
        ErrorKind.INTERNAL.value,
        f"A process that reads the snapshot failed with {type(problem).__name__} at {frame.filename}:{frame.lineno} in {frame.name}",
        "Report it; snapshot.max.threads=1 reads without such processes",
        "",
    )


def _loop_factory() -> Any:
    try:
        from uvloop import new_event_loop  # noqa: PLC0415 (where it is installed)
    except ImportError:
        return None
    return new_event_loop


def main() -> None:
    """Run until the socket closes."""
    # A terminal or a service manager may signal the whole group; the worker alone decides when the snapshot ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_main(socket.socket(fileno=int(sys.argv[1]))))


if __name__ == "__main__":
    main()
