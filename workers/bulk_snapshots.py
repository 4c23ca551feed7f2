"""Snapshots that Spark reads for this worker, each by a process of its own (:mod:`workers.spark.bulk.served`).

The worker itself loads nothing of Spark. The process, Spark's JVM and its local Pythons end with the snapshot, and with the worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Final

from connector.bulk import BulkPlan, BulkTold, PartBegun, PartDone, RowsRead, TableDone, TableFailed, TopicFilled
from connector.errors import CdcError, ErrorKind
from connector.runner.child_process import python_command, python_environment
from connector.runner.snapshot_pipe import Failed, Logged, receive, send
from workers.spark.bulk.commission import Commission, Finished, SparkPlace

_MODULE: Final = "workers.spark.bulk.served"
_MASTER: Final = "understudy.spark.master"
_CONF: Final = "understudy.spark.conf."
_END_S: Final = 10.0
"""How long the process and Spark have to end by themselves once they are told to, or are done."""
_LOOK_S: Final = 0.05


class SparkSnapshots:
    """:class:`connector.bulk.BulkReader` with Spark at ``place``."""

    def __init__(self, place: SparkPlace) -> None:
        self._place = place
        self._found = False

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> SparkSnapshots:
        """As the worker's properties say: ``understudy.spark.master``, and Spark's settings below ``understudy.spark.conf.``."""
        settings = {key.removeprefix(_CONF): value for key, value in properties.items() if key.startswith(_CONF)}
        return cls(SparkPlace(properties.get(_MASTER, "").strip() or SparkPlace().master, settings))

    async def refusal(self) -> str | None:
        """PySpark or its Java is missing; see :class:`connector.bulk.BulkReader`."""
        if self._found:
            return None
        if find_spec("pyspark") is None:
            return (
                f"PySpark is not installed beside this worker ({sys.executable}); install it (pip install 'understudy[embedded]'), "
                "or use type blocking"
            )
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
            return f"Spark cannot be had: {_MODULE} --check ended with code {checking.returncode}; see the worker's standard error"
        # The stream stands still for whoever asks: what was found once is not looked for again.
        self._found = not said
        return said.decode(errors="replace") or None

    async def read(self, plan: BulkPlan, told: Callable[[BulkTold], None]) -> None:
        """See :class:`connector.bulk.BulkReader`. Raises CdcError(INTERNAL) too when the process cannot be started or dies."""
        async with self._process() as (process, reader, writer):
            send(writer, Commission(self._place, plan))
            while (message := await receive(reader)) is not None:
                match message:
                    case Finished():
                        return
                    case Failed(kind, text, remedy, detail):
                        raise CdcError(ErrorKind(kind), text, remedy, detail)
                    case Logged(logger, level, text):
                        logging.getLogger(logger).log(level, "%s", text)
                    case PartBegun() | RowsRead() | PartDone() | TableDone() | TableFailed() | TopicFilled():
                        told(message)
            code = await process.wait()
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
            raise CdcError(ErrorKind.INTERNAL, f"The process that reads the snapshot with Spark {how}", "See the worker's standard error")

    @asynccontextmanager
    async def _process(self) -> AsyncIterator[tuple[asyncio.subprocess.Process, asyncio.StreamReader, asyncio.StreamWriter]]:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    *python_command(_MODULE, str(theirs.fileno())),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    env=python_environment(),
                    # With a group of its own, Spark's JVM in it, it can be waited for as a whole.
                    start_new_session=True,
                )
            reader, writer = await asyncio.open_connection(sock=ours)
        except BaseException as problem:
            # The end of the socket is the end of a process that may have been started.
            ours.close()
            if not isinstance(problem, OSError):
                raise
            raise CdcError(
                ErrorKind.INTERNAL,
                f"The process that reads the snapshot with Spark could not be started: {problem.strerror}",
                "Raise the limit of processes or of memory, or use type blocking",
            ) from problem
        try:
            yield process, reader, writer
        finally:
            writer.close()
            await _gone(process)


async def _gone(process: asyncio.subprocess.Process) -> None:
    """Wait until the process and its group have ended; kill what does not."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_END_S):
            await process.wait()
            while _lives(process.pid):  # noqa: ASYNC110 (of processes that are not ours nobody tells)
                await asyncio.sleep(_LOOK_S)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
