"""Stores each position before which Kafka has everything, and then confirms it to the slot."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from connector import failpoints
from connector.config.connector_config import ConnectorConfig
from connector.delivery.frontier import Mark
from connector.delivery.offsets import Position, partition
from connector.delivery.sink import Sink
from connector.emulation import Emulation
from connector.errors import CdcError, ErrorKind
from connector.events.stream import Stream
from connector.log import EventLog
from connector.ports import Clock, JsonObject, ReplicationStream
from connector.runner.context import TaskContext

LOG: Final = EventLog(__name__)

_ASK_S: Final = 0.05
"""Interval at which the server is asked for its position while an incremental snapshot waits for a position."""
_STORE_S: Final = 0.5
"""Longest interval between writes of the offset while events arrive; a lower offset.flush.interval.ms makes it shorter."""


class SlotKeeper:
    """Stores and confirms the positions of one run of the stream. ``stored_as`` adds the incremental snapshot's state to a position.

    Offsets have the form of the Debezium version of ``emulation``.
    """

    def __init__(
        self,
        context: TaskContext,
        config: ConnectorConfig,
        sink: Sink,
        replication: ReplicationStream,
        stream: Stream,
        clock: Clock,
        *,
        stored_as: Callable[[Position], Position],
        emulation: Emulation,
    ) -> None:
        self._context = context
        self._config = config
        self._sink = sink
        self._replication = replication
        self._stream = stream
        self._clock = clock
        self._stored_as = stored_as
        self._emulation = emulation
        self.asked = asyncio.Event()
        """Set when the server requests an immediate status update."""
        self._reported = clock.monotonic()
        """When the last status update was sent."""
        self._told = 0
        """The last position that was confirmed to the slot in this run; at its begin, where it starts."""

    async def run(self) -> None:
        """Store and confirm positions until cancelled. Send status updates in time, because the server closes a silent connection.

        Raises CdcError if the offset cannot be stored, the position cannot be confirmed, or a batch failed.
        """
        pace = min(_STORE_S, self._context.offset_flush_interval)
        self._reported = self._clock.monotonic()
        self._told = self._confirmed
        while True:
            with contextlib.suppress(TimeoutError):
                async with self._clock.timeout(pace):
                    await self.asked.wait()
            # If a batch failed, this raises its error even while no frames arrive.
            self._sink.pump()
            due = self._status_due()
            if due:
                self.send_idle()
            if await self._store_and_report(pace) or due:
                await self._report()

    def _status_due(self) -> bool:
        due = self.asked.is_set() or self._clock.monotonic() - self._reported >= self._config.status_update_interval_ms / 1000
        self.asked.clear()
        return due

    async def _report(self) -> None:
        self._reported = self._clock.monotonic()
        await self.confirm()

    async def _store_and_report(self, pace: float) -> bool:
        """:meth:`store`. While Kafka does not acknowledge the offset, status updates repeat the position before."""
        mark = self._due
        if mark is None:
            return False
        storing = asyncio.create_task(self._store(mark), name="store the offset")
        try:
            while not storing.done():
                with contextlib.suppress(TimeoutError):
                    async with self._clock.timeout(pace):
                        await asyncio.wait([storing])
                if not storing.done():
                    self._sink.pump()
                    if self._status_due():
                        await self._report()
        finally:
            storing.cancel()
            await asyncio.gather(storing, return_exceptions=True)
        storing.result()
        return True

    def send_idle(self) -> None:
        """Send the idle server's position to the sink, if nothing is in flight. Raises the failure of a batch."""
        idle = self._stream.idle_position()
        if idle is not None and self._sink.idle:
            self._sink.send(self._stored_as(idle))

    async def store(self) -> bool:
        """Store the offset of the reached position. Return True if the position is new. Raises CdcError(STORE)."""
        mark = self._due
        if mark is None:
            return False
        await self._store(mark)
        return True

    @property
    def _due(self) -> Mark | None:
        return self._sink.frontier.due(self._sink.reached)

    async def _store(self, mark: Mark) -> None:
        frontier = self._sink.frontier
        if not self._sink.stores_offsets:
            failpoints.reached(failpoints.AFTER_ACKNOWLEDGE)
            offset = mark.position.to_offset(self._emulation)
            await self._write(offset)
        frontier.stored(mark)
        self._context.progress.acknowledged_lsn = frontier.confirmed
        failpoints.reached(failpoints.AFTER_STORE)

    async def _write(self, offset: JsonObject) -> None:
        meter, began = self._context.meters.source, self._clock.monotonic()
        try:
            await self._context.offsets.store(partition(self._config.topic_prefix), offset)
        except CdcError:
            now = self._clock.monotonic()
            meter.committed((now - began) * 1000, now, failed=True)
            raise
        now = self._clock.monotonic()
        meter.committed((now - began) * 1000, now)

    async def end(self) -> None:
        """Store the offset of the reached position, and confirm what the slot does not have yet. Raises CdcError."""
        # A run that is stopped between the two has stored the offset already.
        if await self.store() or self._confirmed > self._told:
            await self.confirm()

    async def confirm(self) -> None:
        """Confirm the stored position to the slot. Raises CdcError."""
        limit_ms, action = self._config.lsn_flush_timeout_ms, self._config.lsn_flush_timeout_action
        confirmed = self._confirmed
        try:
            async with self._clock.timeout(limit_ms / 1000):
                await self._replication.confirm(self._written, confirmed, self._clock.now_ns())
        except TimeoutError as error:
            if action == "fail":
                raise CdcError(
                    ErrorKind.SOURCE_TIMEOUT,
                    f"The server did not take a confirmation for slot {self._config.slot_name} within {limit_ms} ms",
                    "Check the network between worker and server, or raise lsn.flush.timeout.ms",
                ) from error
            if action == "warn":
                LOG.warning("confirmation timed out", slot=self._config.slot_name, ms=limit_ms)
        else:
            self._told = confirmed
            failpoints.reached(failpoints.AFTER_CONFIRM)

    async def ask_while(self, waiting: asyncio.Event) -> None:
        """While ``waiting`` is set, ask the server for its position, because an idle server does not send it. Ends when cancelled."""
        while True:
            await waiting.wait()
            await self._replication.ask(self._written, self._confirmed, self._clock.now_ns())
            await self._clock.sleep(_ASK_S)

    @property
    def _written(self) -> int:
        return max(self._stream.received, self._sink.frontier.confirmed)

    @property
    def _confirmed(self) -> int:
        return 0 if self._config.lsn_flush_mode == "manual" else self._sink.frontier.confirmed
