"""Reads the snapshots of this worker with Spark, each in a separate process (:mod:`workers.bulk.reader_process`).

The worker itself does not import Spark. The process, Spark's JVM and its local Python processes end with the snapshot or the worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Final

from connector.extras import install_command
from connector.runner.child.pipe import Failed, Logged
from connector.runner.child.process import Child, ChildProcess, python_command, python_environment
from connector.snapshot.bulk import BulkPlan, BulkReport, PartBegun, PartDone, RecordsFailed, RowsRead, TableDone, TableFailed, TopicFilled
from workers.bulk.work_order import Commission, Finished, SparkPlace

_MODULE: Final = "workers.bulk.reader_process"
_MASTER: Final = "understudy.spark.master"
_CONF: Final = "understudy.spark.conf."
_END_S: Final = 10.0
"""How long the process and Spark may take to end before they are killed."""


class SparkSnapshots:
    """A :class:`connector.snapshot.bulk.BulkReader` with Spark at ``place``."""

    def __init__(self, place: SparkPlace) -> None:
        self._place = place
        self._found = False

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> SparkSnapshots:
        """From the worker's properties: ``understudy.spark.master``, and ``understudy.spark.conf.`` before Spark's settings."""
        settings = {key.removeprefix(_CONF): value for key, value in properties.items() if key.startswith(_CONF)}
        return cls(SparkPlace(properties.get(_MASTER, "").strip() or SparkPlace().master, settings))

    async def refusal(self) -> str | None:
        """Whether PySpark or its Java is missing; see :class:`connector.snapshot.bulk.BulkReader`."""
        if self._found:
            return None
        if find_spec("pyspark") is None:
            return f"PySpark is not installed beside this worker. Use type blocking, or install it: `{install_command('spark')}`"
        checking = await asyncio.create_subprocess_exec(
            *python_command(_MODULE, "--check"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env=python_environment(),
        )
        try:
            said, _ = await checking.communicate()
        finally:
            if checking.returncode is None:
                checking.kill()
        if checking.returncode:
            return f"Spark could not be checked: {_MODULE} --check ended with code {checking.returncode}; see the worker's standard error"
        # The stream waits during the check, so a success is remembered.
        self._found = not said
        return said.decode(errors="replace") or None

    async def read(self, plan: BulkPlan, report: Callable[[BulkReport], None]) -> None:
        """See :class:`connector.snapshot.bulk.BulkReader`. Raises CdcError(INTERNAL) also if the process does not start or dies."""
        child = await ChildProcess.start(
            _MODULE,
            "The process that reads the snapshot with Spark",
            instead="use type blocking",
            after="See the worker's standard error",
            # Spark's JVM is in this process group, so that the end of the whole group can be awaited.
            group=True,
        )
        try:
            child.send(Commission(self._place, plan))
            await _follow(child, report)
        finally:
            await child.end(_END_S)


async def _follow(child: Child, report: Callable[[BulkReport], None]) -> None:
    """Pass on the reports of the process until it has finished. Raises CdcError."""
    while (message := await child.receive()) is not None:
        match message:
            case Finished():
                return
            case Failed():
                raise message.error
            case Logged():
                message.write()
            case PartBegun() | RowsRead() | PartDone() | TableDone() | TableFailed() | TopicFilled() | RecordsFailed():
                report(message)
    raise await child.lost()
