"""A rehearsal: the records that a connector would send from now on, without an effect on Kafka or on the connector's slot."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from connector.catalog.selection import Selection
from connector.config.connector_config import parse
from connector.delivery.record_conversion import ignore_failure
from connector.record.batch import Record, read_headers
from connector.runner.context import TaskContext
from connector.runner.sinks.exactly_once import converted, leaves_out
from connector.runner.sinks.function_sink import FunctionSink
from connector.runner.task import TaskRun

_WITHOUT_EFFECT: Final = {
    # Each of these would write to the database or to a topic, or obey what is meant for the running connector.
    "signal.enabled.channels": "",
    "notification.enabled.channels": "",
    "heartbeat.interval.ms": "0",
}


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A record that a connector would send."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


async def rehearse(
    context: TaskContext, plugin: str, keep: Callable[[KeptRecord], None], opened: Callable[[int], object], stop: asyncio.Event
) -> None:
    """Stream what is committed from now on to ``keep``, until ``stop`` is set.

    The stream comes from a temporary slot of ``plugin``, which the server drops at the end of the session, also if this process is killed.
    ``opened`` is called with its first LSN. The connector's slot, its publication and its offsets are only those of ``context.offsets``,
    which should be in memory. Raises CdcError.
    """
    slot = f"understudy_{uuid.uuid4().hex[:20]}"
    settings = {**context.config, **_WITHOUT_EFFECT, "slot.name": slot, "plugin.name": plugin}
    context = replace(context, config=settings, exactly_once=None)
    config, _notices = parse(settings)
    run = TaskRun(context, await asyncio.to_thread(Selection.of, config, context.backtrack))

    def take(topic: str, record: Record) -> None:
        key, prefix, payload, headers, _timestamp = record
        keep(KeptRecord(topic, key, None if payload is None else prefix + payload, tuple(read_headers(headers))))

    async with contextlib.AsyncExitStack() as stack:
        sink = FunctionSink(take, leave_out=leaves_out(config, ignore_failure))
        stack.push_async_callback(sink.stop)
        await run.rehearse(stop, await converted(sink, context.conversion, config, stack, context.backtrack), opened)
