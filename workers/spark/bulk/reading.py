"""A bulk snapshot read with a Spark session of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from connector.bulk import BulkPlan, BulkTold
from connector.errors import CdcError, ErrorKind
from workers.spark.bulk.cluster import spark_at
from workers.spark.bulk.commission import SparkPlace
from workers.spark.bulk.driver import BulkRun
from workers.spark.failure import JobError
from workers.spark.session import find_java


class OwnSpark:
    """:class:`connector.bulk.BulkReader` in this process, with Spark at ``place`` for as long as it reads."""

    def __init__(self, place: SparkPlace) -> None:
        self._place = place

    async def refusal(self) -> str | None:
        """No suitable Java; see :class:`connector.bulk.BulkReader`."""
        try:
            await asyncio.to_thread(find_java)
        except JobError as error:
            return str(error)
        return None

    async def read(self, plan: BulkPlan, told: Callable[[BulkTold], None]) -> None:
        """See :class:`connector.bulk.BulkReader`."""
        with contextlib.ExitStack() as stack:
            try:
                # Starting takes seconds, in which the loop must not stand still.
                spark = await asyncio.to_thread(stack.enter_context, spark_at(self._place))
            except JobError as error:
                raise CdcError(ErrorKind.CONFIG_INVALID, str(error)) from error
            await BulkRun(spark, plan, told).run()
