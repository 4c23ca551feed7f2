"""A process that reads parts of a snapshot: ``python -m connector.runner.snapshot.reader_process FD``.

``FD`` is the process's end of a socket pair, through which it receives its job and its orders (:mod:`connector.runner.snapshot.messages`).
The process has its own connection to PostgreSQL and its own producer. When the other end of the socket pair closes, it ends at once.
"""

from __future__ import annotations

import asyncio
import contextlib

from connector.runner.child.side import Reporter, serve
from connector.runner.snapshot.messages import Flush, Go, Order, Ready
from connector.runner.snapshot.part_reader import PartReader, open_part_reader
from connector.snapshot.job import Job


class _Reading:
    """Carries out orders until the process ends."""

    def __init__(self, job: Job, report: Reporter) -> None:
        self._job = job
        self._report = report
        self._orders: asyncio.Queue[object] = asyncio.Queue()
        self._parts: PartReader | None = None
        self.log_level = job.log_level

    async def run(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            parts = self._parts = await open_part_reader(stack, self._job, self._report)
            self._report(Ready())
            while True:
                order = await self._orders.get()
                if isinstance(order, Order):
                    await parts.read(order)
                else:
                    await parts.flush()

    def hear(self, message: object) -> None:
        if isinstance(message, Order | Flush):
            self._orders.put_nowait(message)
        elif isinstance(message, Go) and self._parts is not None:
            self._parts.go.set()


def main() -> None:
    """Run until the socket closes."""
    serve(
        lambda job, report: _Reading(job, report) if isinstance(job, Job) else None, "snapshot.max.threads=1 reads without such processes"
    )


if __name__ == "__main__":
    main()
