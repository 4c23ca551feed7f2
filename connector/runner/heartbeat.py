"""Heartbeats: a record at a fixed interval, and a statement in the database if one is configured (``heartbeat.*``)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

import psycopg

from connector.config.connector_config import ConnectorConfig
from connector.delivery.sink import Sink
from connector.errors import CdcError, ErrorKind
from connector.io.postgres.connection import Connection, connect, source_error
from connector.log import EventLog
from connector.ports import Clock
from connector.record.batch import NO_HEADERS
from connector.record.json_converter import around_payload, quote
from connector.record.schema import INT64, STRING, Field, Schema
from connector.runner.clock import SYSTEM_CLOCK
from connector.runner.context import TaskContext

LOG: Final = EventLog(__name__)

_KEY = Schema("struct", name="io.debezium.connector.common.ServerNameKey", version=1, fields=(Field("serverName", STRING),))
_VALUE = Schema("struct", name="io.debezium.connector.common.Heartbeat", version=1, fields=(Field("ts_ms", INT64),))

_NO_TABLE: Final = "42P01"
_ENDED: Final = "57P"
"""The first characters of the SQLSTATEs with which a server ends a connection. The connection may still look open then."""


class Heartbeat:
    """Sends heartbeats while the stream runs; none when ``heartbeat.interval.ms`` is 0."""

    def __init__(self, config: ConnectorConfig, sink: Sink, topic: str, context: TaskContext, clock: Clock = SYSTEM_CLOCK) -> None:
        self._config = config
        self._sink = sink
        self._topic = topic
        self._context = context
        self._clock = clock
        self.task: asyncio.Task[None] | None = None
        """The asyncio task that sends heartbeats. It ends only with an error; the stream's run watches it."""

    async def start(self, stack: contextlib.AsyncExitStack) -> None:
        """Start to send heartbeats, if the configuration enables them. The stack ends them."""
        if self._config.heartbeat_interval_ms <= 0:
            return
        self.task = asyncio.create_task(self._beat(), name=f"heartbeat {self._context.connector}")

        async def end() -> None:
            assert self.task is not None  # noqa: S101 (set above)
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)

        stack.push_async_callback(end)

    async def _beat(self) -> None:
        config, context = self._config, self._context
        before, after = around_payload(_KEY, context.key_converter)
        key = b'%b{"serverName":%b}%b' % (before, quote(config.topic_prefix), after)
        before, after = around_payload(_VALUE, context.value_converter)
        connection = await connect(config, "Understudy Heartbeat") if config.heartbeat_action_query else None
        try:
            # The first heartbeat is sent at once. Debezium counts the interval from the task's start, so its first interval is usually over
            # when streaming begins: source.sequence of the next captured event then has an earlier transaction.
            while True:
                now_ms = self._clock.now_ns() // 1_000_000
                self._sink.out(self._topic, apart=True).append(key, before, b'{"ts_ms":%d}%b' % (now_ms, after), NO_HEADERS, now_ms)
                self._sink.pump()
                if connection is not None:
                    await act(connection, config.heartbeat_action_query or "")
                await self._clock.sleep(config.heartbeat_interval_ms / 1000)
        finally:
            if connection is not None:
                await connection.close()


async def act(connection: Connection, statement: str) -> None:
    """Run the statement. An error is only logged. Raises CdcError if the statement's table does not exist, and for a lost connection."""
    try:
        await connection.execute(statement.encode())
    except psycopg.Error as error:
        state = error.sqlstate or ""
        if state == _NO_TABLE:
            raise CdcError(
                ErrorKind.SOURCE_QUERY,
                "The statement of heartbeat.action.query failed",
                "Correct the statement, or create the table it writes to",
                error.diag.message_primary or "",
            ) from error
        if connection.closed or state.startswith(_ENDED):
            raise source_error(error, "running heartbeat.action.query") from error
        LOG.warning("heartbeat action query failed", sqlstate=state)
