"""Writes rows at a steady rate from a separate process, so that the writes do not delay the reader's measurement of times."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from types import TracebackType
from typing import Final, NamedTuple, Self

import psycopg

from workers.lab.bench.failure import BenchError
from workers.lab.bench.orders import INSERT

LONGEST_LINE: Final = 2**28
"""The most bytes of an answer, which has a number of up to 20 digits for each row."""


class Order(NamedTuple):
    """Insert ``rows`` rows from the id ``first`` on, one a transaction, ``rate`` a second."""

    first: int
    rows: int
    rate: int


class Writer:
    """The process, connected to a database, as an async context manager that ends it at once."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        command = [sys.executable, "-P", "-m", "workers.lab.bench.writer"]
        # Ctrl-C reaches only the parent, which ends this process. The DSN may hold a password and is sent through the pipe.
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=LONGEST_LINE, start_new_session=True)
        self._send(self._dsn)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is not None:
            if self._process.returncode is None:
                self._process.send_signal(signal.SIGKILL)
            await self._process.wait()

    async def write(self, order: Order) -> list[int]:
        """Execute the order. Returns the time of each commit's answer, in nanoseconds of the monotonic clock that all processes share.

        Raises BenchError when the process ends before. The reason is on stderr.
        """
        self._send(order)
        answer = b"" if self._process is None or self._process.stdout is None else await self._process.stdout.readline()
        if not answer:
            raise BenchError("The process that writes rows has ended. Its last message is above.")
        return [int(at) for at in json.loads(answer)]

    def _send(self, line: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(json.dumps(line).encode() + b"\n")


def write_steadily(connection: psycopg.Connection[object], order: Order) -> list[int]:
    """See :meth:`Writer.write`. After a late row the next ones follow without a pause until the rate is reached again."""
    committed = []
    begun = time.monotonic()
    for number in range(order.rows):
        connection.execute(INSERT.encode(), (order.first + number, order.first + number))
        committed.append(time.monotonic_ns())
        ahead = begun + (number + 1) / order.rate - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
    return committed


def main() -> None:
    """Read the DSN and then orders from stdin, one line of JSON each, and answer each order with a line."""
    with psycopg.connect(json.loads(sys.stdin.readline()), autocommit=True) as connection:
        for line in sys.stdin:
            sys.stdout.write(json.dumps(write_steadily(connection, Order(*json.loads(line)))) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
