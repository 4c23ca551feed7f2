"""A process that reads a snapshot with Spark for a worker: ``python -m workers.bulk.reader_process FD``.

``FD`` is its end of a socket pair (:mod:`workers.bulk.work_order`). When the other end closes, the process exits at once, and Spark's
processes then end too. With ``--check`` it only prints why Spark cannot run here, or nothing if it can.
"""

from __future__ import annotations

import asyncio
import logging
import sys

from connector.runner.child.side import Reporter, serve
from workers.bulk.executor import REMEDY
from workers.bulk.reading import OwnSpark
from workers.bulk.work_order import Commission, Finished, SparkPlace


class _Serving:
    """Reads one snapshot."""

    def __init__(self, commission: Commission, report: Reporter) -> None:
        self._commission = commission
        self._report = report
        self.log_level = commission.plan.job.log_level

    async def run(self) -> Finished:
        # The reported failure covers the warnings of PySpark's gateway.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        await OwnSpark(self._commission.place).read(self._commission.plan, self._report)
        return Finished()

    def hear(self, message: object) -> None:
        """Ignore the message: none is expected after the commission."""


def main() -> None:
    """Run until the snapshot is read or the socket closes."""
    if sys.argv[1] == "--check":
        sys.stdout.write(asyncio.run(OwnSpark(SparkPlace()).refusal()) or "")
        return
    serve(lambda given, report: _Serving(given, report) if isinstance(given, Commission) else None, REMEDY)


if __name__ == "__main__":
    main()
