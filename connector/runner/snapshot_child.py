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
from collections.abc import Callable

from connector.runner.event_loop import loop_factory
from connector.runner.part_reader import PartReader, open_part_reader
from connector.runner.reader_reports import Forwarding, failure_of
from connector.runner.snapshot_pipe import Flush, Go, Order, Ready, Told, receive, send
from connector.snapshot_job import Job


async def _work(job: Job, orders: asyncio.Queue[object], tell: Callable[[Told], None], start: Callable[[PartReader], None]) -> None:
    async with contextlib.AsyncExitStack() as stack:
        parts = await open_part_reader(stack, job, tell)
        start(parts)
        tell(Ready())
        while True:
            order = await orders.get()
            if isinstance(order, Order):
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
    root.handlers[:] = [Forwarding(tell)]
    root.setLevel(job.log_level)
    orders: asyncio.Queue[object] = asyncio.Queue()
    started: list[PartReader] = []
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
        tell(failure_of(problem, "snapshot.max.threads=1 reads without such processes"))
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        # The message must have left before the process ends.
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    # Nothing is to be ended in order: either all is acknowledged, or all will be read again.
    os._exit(0)


def main() -> None:
    """Run until the socket closes."""
    # A terminal or a service manager may signal the whole group; the worker alone decides when the snapshot ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_main(socket.socket(fileno=int(sys.argv[1]))))


if __name__ == "__main__":
    main()
