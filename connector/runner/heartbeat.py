"""Heartbeats: a record at a fixed pace, and a statement in the database if one is given (``heartbeat.*``)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

import psycopg

from connector.config import ConnectorConfig
from connector.errors import CdcError, ErrorKind
from connector.io.kafka_sink import KafkaSink
from connector.io.pg_connection import connect, source_error
from connector.json_converter import around_payload, quote
from connector.ports import TaskContext
from connector.record_batch import NO_HEADERS
from connector.schema import INT64, STRING, Field, Schema

_log = logging.getLogger(__name__)

_KEY = Schema("struct", name="io.debezium.connector.common.ServerNameKey", version=1, fields=(Field("serverName", STRING),))
_VALUE = Schema("struct", name="io.debezium.connector.common.Heartbeat", version=1, fields=(Field("ts_ms", INT64),))

_FINAL_STATES = ("57P01", "42P01")
"""SQLSTATEs of the action query that end the task, as in the reference: shutdown, and a table that is not there."""


class Heartbeat:
    """Beats while the stream runs; ``heartbeat.interval.ms`` 0 means never."""

    def __init__(self, config: ConnectorConfig, sink: KafkaSink, topic: str, context: TaskContext) -> None:
        self._config = config
        self._sink = sink
        self._topic = topic
        self._context = context
        self.task: asyncio.Task[None] | None = None
        """Ends only by failing; whoever streams watches it."""

    async def start(self, stack: contextlib.AsyncExitStack) -> None:
        """Begin to beat, when the configuration asks for it; the stack ends it."""
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
            # The first beat comes at once. The reference counts from the task's start, and is past its first interval when
            # streaming begins: what is captured next has a transaction before it in source.sequence.
            while True:
                now_ms = time.time_ns() // 1_000_000
                self._sink.out(self._topic, apart=True).append(key, before, b'{"ts_ms":%d}%b' % (now_ms, after), NO_HEADERS, now_ms)
                self._sink.pump()
                if connection is not None:
                    try:
                        await connection.execute((config.heartbeat_action_query or "").encode())
                    except psycopg.Error as error:
                        if error.sqlstate in _FINAL_STATES:
                            raise CdcError(
                                ErrorKind.SOURCE_QUERY,
                                "The statement of heartbeat.action.query failed for good",
                                "Correct the statement, or create the table it writes to",
                                error.diag.message_primary or "",
                            ) from error
                        if connection.closed:
                            raise source_error(error, "running heartbeat.action.query") from error
                        _log.warning("heartbeat action query failed sqlstate=%s", error.sqlstate)
                await asyncio.sleep(config.heartbeat_interval_ms / 1000)
        finally:
            if connection is not None:
                await connection.close()
