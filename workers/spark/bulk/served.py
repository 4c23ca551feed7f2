"""A process that reads a snapshot with Spark for a worker: ``python -m workers.spark.bulk.served FD``.

``FD`` is its end of a socket pair (:mod:`workers.spark.bulk.commission`). When the other end closes, for whatever reason, it is gone
at once; Spark's own processes notice that. With ``--check`` it says on standard output why Spark cannot run here, and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys

from connector.runner.event_loop import loop_factory
from connector.runner.reader_reports import Forwarding, failure_of
from connector.runner.snapshot_pipe import receive, send
from workers.spark.bulk.commission import Commission, Finished, SparkPlace
from workers.spark.bulk.executor import REMEDY
from workers.spark.bulk.reading import OwnSpark


async def _main(pipe: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=pipe)
    commission = await receive(reader)
    if not isinstance(commission, Commission):
        return
    root = logging.getLogger()
    root.handlers[:] = [Forwarding(lambda line: send(writer, line))]
    root.setLevel(commission.plan.job.log_level)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    reading = OwnSpark(commission.place).read(commission.plan, lambda message: send(writer, message))
    work = asyncio.create_task(reading, name="read with spark")
    closed = asyncio.create_task(reader.read(1), name="listen to the worker")
    await asyncio.wait({work, closed}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        os._exit(0)
    problem = work.exception()
    send(writer, Finished() if problem is None else failure_of(problem, REMEDY))
    with contextlib.suppress(ConnectionError):
        await writer.drain()
    # The message must have left before the process ends.
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    os._exit(0)


def main() -> None:
    """Run until the snapshot is read or the socket closes."""
    if sys.argv[1] == "--check":
        sys.stdout.write(asyncio.run(OwnSpark(SparkPlace()).refusal()) or "")
        return
    # A terminal or a service manager may signal the whole group; the worker alone decides when the snapshot ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_main(socket.socket(fileno=int(sys.argv[1]))))


if __name__ == "__main__":
    main()
