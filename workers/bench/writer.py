"""Writes rows at a steady rate from a process of its own, so that writing does not delay the taking of times in the reader's."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from types import TracebackType
from typing import Final, NamedTuple, Self

import psycopg

from workers.bench.failure import BenchError
from workers.bench.orders import INSERT

LONGEST_LINE: Final = 2**28
"""Bytes of an answer: a number of up to 20 digits for each row."""


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
        command = [sys.executable, "-P", "-m", "workers.bench.writer"]
        # Apart from the terminal: Ctrl-C reaches the starter alone, which ends it. The DSN may hold a password and goes by the pipe.
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
        """Carry the order out; when each commit was answered, in nanoseconds of the monotonic clock that all processes share.

        Raises BenchError when the process ends before; what ended it is on stderr.
        """
        self._send(order)
        answer = b"" if self._process is None or self._process.stdout is None else await self._process.stdout.readline()
        if not answer:
            raise BenchError("The process that writes rows has ended. What it said last is above.")
        return [int(at) for at in json.loads(answer)]

    def _send(self, line: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(json.dumps(line).encode() + b"\n")


def write_steadily(connection: psycopg.Connection[object], order: Order) -> list[int]:
    """See :meth:`Writer.write`. A late row is not waited for: the next ones follow at once until the rate is kept again."""
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
    """Read the DSN and then orders from stdin, a line of JSON each; answer each order with a line."""
    with psycopg.connect(json.loads(sys.stdin.readline()), autocommit=True) as connection:
        for line in sys.stdin:
            sys.stdout.write(json.dumps(write_steadily(connection, Order(*json.loads(line)))) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
