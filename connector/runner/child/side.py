"""The child process's side: its first message, its log, its work, and its end.

The child ends as soon as the other end of its socket closes, which the operating system also does when the parent process dies. Terminals
and service managers may signal the whole process group. The child ignores these signals, because its parent decides when the work ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Protocol

from connector.errors import CdcError, ErrorKind
from connector.runner.child.pipe import Failed, Logged, receive, send
from connector.runner.event_loop import loop_factory

Reporter = Callable[[object], None]
"""Sends a message to the process that started this one."""


class Forwarding(logging.Handler):
    """A log handler that sends log lines with their fields to the parent process, which writes them."""

    def __init__(self, report: Callable[[Logged], None]) -> None:
        super().__init__()
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        """Send one log line."""
        self._report(Logged.of(record))


class ChildWork(Protocol):
    """The work of a child, which begins after its first message."""

    @property
    def log_level(self) -> int:
        """The lowest level of log lines that are sent."""

    async def run(self) -> object | None:
        """Do the work and return the last message, if any. An exception is sent as :class:`connector.runner.child.pipe.Failed`."""

    def hear(self, message: object) -> None:
        """Handle a message after the first, while :meth:`run` runs."""


def serve(begin: Callable[[object, Reporter], ChildWork | None], remedy: str) -> None:
    """Run as a child process whose socket has the file descriptor ``sys.argv[1]``, and exit the process at the end.

    ``begin`` receives the first message, and returns None if it is not a valid job. ``remedy`` is added to unexpected errors.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(socket.socket(fileno=int(sys.argv[1])), begin, remedy))


async def _serve(pipe: socket.socket, begin: Callable[[object, Reporter], ChildWork | None], remedy: str) -> None:
    reader, writer = await asyncio.open_connection(sock=pipe)

    def report(message: object) -> None:
        send(writer, message)

    child = begin(await receive(reader), report)
    if child is None:
        return
    root = logging.getLogger()
    root.handlers[:] = [Forwarding(report)]
    root.setLevel(child.log_level)

    async def listen() -> None:
        while (message := await receive(reader)) is not None:
            child.hear(message)

    work = asyncio.create_task(child.run(), name="work for the parent")
    listening = asyncio.create_task(listen(), name="listen to the parent")
    await asyncio.wait({work, listening}, return_when=asyncio.FIRST_COMPLETED)
    if work.done():
        problem = work.exception()
        last = failure_of(problem, remedy) if problem is not None else work.result()
        if last is not None:
            report(last)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        # The message must be sent before the process ends.
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    # No orderly shutdown is needed: either Kafka has acknowledged everything, or everything will be done again.
    os._exit(0)


def failure_of(problem: BaseException, remedy: str) -> Failed:
    """Return the error as a message that contains no cell value; ``remedy`` is added to unexpected errors."""
    if isinstance(problem, CdcError):
        return Failed(problem.kind.value, problem.message, problem.remedy, problem.detail)
    # The text of an unexpected exception may contain a cell value, so only its type and place are reported.
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    return Failed(
        ErrorKind.INTERNAL.value,
        f"A process that reads the snapshot failed with {type(problem).__name__} at {frame.filename}:{frame.lineno} in {frame.name}",
        f"Report it; {remedy}",
        "",
    )
