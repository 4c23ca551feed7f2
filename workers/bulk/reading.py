"""Reads a bulk snapshot with its own Spark session."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from connector.errors import CdcError, ErrorKind
from connector.snapshot.bulk import BulkPlan, BulkReport
from workers.bulk.cluster import spark_at
from workers.bulk.driver import BulkRun
from workers.bulk.work_order import SparkPlace
from workers.spark.failure import JobError
from workers.spark.session import find_java


class OwnSpark:
    """A :class:`connector.snapshot.bulk.BulkReader` in this process, which starts Spark at ``place`` for each snapshot."""

    def __init__(self, place: SparkPlace) -> None:
        self._place = place

    async def refusal(self) -> str | None:
        """Whether a suitable Java is missing; see :class:`connector.snapshot.bulk.BulkReader`."""
        try:
            await asyncio.to_thread(find_java)
        except JobError as error:
            return str(error)
        return None

    async def read(self, plan: BulkPlan, report: Callable[[BulkReport], None]) -> None:
        """See :class:`connector.snapshot.bulk.BulkReader`."""
        with contextlib.ExitStack() as stack:
            try:
                # The start takes seconds and must not block the event loop.
                spark = await asyncio.to_thread(stack.enter_context, spark_at(self._place))
            except JobError as error:
                raise CdcError(ErrorKind.CONFIG_INVALID, str(error)) from error
            await BulkRun(spark, plan, report).run()
