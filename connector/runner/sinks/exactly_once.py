"""Creates a task's producer. Offsets are stored after the acknowledgements or, with exactly-once delivery, in the records' transaction."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial as bound
from typing import Final

from connector.config.connector_config import ConnectorConfig
from connector.delivery.offsets import partition
from connector.delivery.record_conversion import ConversionPlan, RecordConversion, RecordFailed, ignore_failure, tolerates_errors
from connector.delivery.sink import Sink
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.transactional_sink import OffsetTarget, TransactionalSink
from connector.io.postgres.timescale import PostgresTimescale
from connector.log import EventLog
from connector.ports import Backtracking, JsonObject
from connector.runner.context import ExactlyOnce, TaskContext
from connector.runner.sinks.converting_sink import ConvertingSink
from connector.runner.sinks.retried_requests import RetriedRequests
from connector.transforms.chain import Chain, Step
from connector.transforms.debezium.open_lineage import OpenLineage, ReportTopic
from connector.transforms.debezium.timescaledb import TimescaleDb

LOG: Final = EventLog(__name__)


class TransactionOffsets:
    """The :class:`connector.ports.OffsetStore` of a task whose ``sink`` commits offsets together with records."""

    def __init__(self, exactly_once: ExactlyOnce, sink: TransactionalSink) -> None:
        self._offsets = exactly_once.offsets
        self._sink = sink
        self._former: list[JsonObject | None] = []
        """The offset that was stored before this task, once it is read. No other producer can have stored one since."""

    async def load(self, partition: JsonObject) -> JsonObject | None:
        """Return the last committed offset: this task's or, before its first commit, an earlier task's."""
        if self._sink.stored is not None:
            return self._sink.stored
        if not self._former:
            self._former.append(await self._offsets.load(partition))
        return self._former[0]

    async def store(self, partition: JsonObject, offset: JsonObject | None) -> None:  # noqa: ARG002 (the sink has its own)
        """Commit the offset with all that the task has sent so far. Raises CdcError."""
        if offset is not None:
            await self._sink.store(offset)


async def open_sink(context: TaskContext, config: ConnectorConfig, stack: AsyncExitStack) -> tuple[Sink, TaskContext]:
    """Connect the task's producer. Return it, and the context with the offset store that belongs to it. The stack closes it.

    With exactly-once delivery, no earlier producer of this task can write after this returns; only then may the offset be read. Raises
    CdcError.
    """
    kafka, exactly_once, meters = context.kafka, context.exactly_once, context.meters
    creator = TopicCreator(
        kafka.admin, config.topic_creation, context.topic_used, enabled=kafka.topic_creation, backtrack=context.backtrack
    )
    sink: KafkaSink
    if exactly_once is None:
        leave_out = leaves_out(config, bound(_count_failure, context))
        sink = KafkaSink(kafka, creator, meter=meters.producer, delays=meters.delays, leave_out=leave_out)
    else:
        records = bound(exactly_once.offsets.records, partition(config.topic_prefix))
        target = OffsetTarget(records, config.emulation)
        sink = TransactionalSink(
            kafka,
            creator,
            exactly_once.transactional_id,
            target,
            interval=exactly_once.interval,
            meter=meters.producer,
            delays=meters.delays,
        )
        context = replace(context, offsets=TransactionOffsets(exactly_once, sink))
    stack.push_async_callback(sink.stop)
    stack.callback(lambda: _count(context, sink))
    meters.active = lambda: sink.active
    meters.admin.watch(creator.traffic)
    meters.in_flight = lambda: sink.waiting
    await sink.start()
    found = await converted(
        sink, context.conversion, config, stack, context.backtrack, context.topic_described, bound(_count_failure, context)
    )
    if isinstance(found, ConvertingSink):
        # The processes that read a snapshot make the same steps; only the task reports.
        if unused := found.conversion.unused:
            LOG.warning("properties unknown to their step, they have no effect", properties=", ".join(unused))
        for name, reason in found.conversion.idle:
            LOG.warning("property has no effect", property=name, reason=reason)
    return found, context


def _count(context: TaskContext, sink: KafkaSink) -> None:
    context.progress.delivered += sink.delivered
    # A failed task shows what it had in flight, without the records themselves.
    left = sink.active
    context.meters.active = lambda: left
    context.meters.in_flight = lambda: 0


def _count_failure(context: TaskContext, *, left_out: bool, logged: bool) -> None:
    context.meters.record_failed(time.time_ns() // 1_000_000, left_out=left_out, logged=logged)


def leaves_out(config: ConnectorConfig, failed: RecordFailed) -> Callable[[str, str], None] | None:
    """Return what logs and counts a record that Kafka does not take, if ``errors.tolerance=all`` leaves it out (KIP-779); else None."""
    if not tolerates_errors(config.raw):
        return None

    def leave_out(topic: str, reason: str) -> None:
        LOG.warning("record left out", topic=topic, reason=reason)
        failed(left_out=True, logged=True)

    return leave_out


async def converted(
    sink: KafkaSink,
    plan: ConversionPlan | None,
    config: ConnectorConfig,
    stack: AsyncExitStack,
    backtrack: Backtracking,
    report_topic: ReportTopic | None = None,
    failed: RecordFailed = ignore_failure,
) -> Sink:
    """Return the sink itself, or one in front of it that does what ``plan`` says. The stack closes it. Raises CdcError(CONFIG_INVALID).

    ``backtrack`` matches patterns for which RE2 does not suffice. ``report_topic`` is what the transform OpenLineage calls.
    ``failed`` is called for each record that a transform or converter fails on.
    """
    if plan is None:
        return sink
    # httpx takes 60 ms to import, and few connectors have a registry.
    from connector.io.registry import RegistryClients  # noqa: PLC0415

    clients = RegistryClients()
    stack.push_async_callback(clients.close)
    conversion = RecordConversion(plan, LOG.warning, _error, failed, backtrack)
    conversion.chain = Chain([_connected(step, plan, report_topic) for step in conversion.chain.steps])
    resolve = RetriedRequests(clients.resolve, config.errors_retry_timeout, config.errors_retry_delay_max_ms)
    found = ConvertingSink(sink, conversion, resolve)
    stack.push_async_callback(found.stop)
    return found


def _error(event: str, /, **fields: object) -> None:
    LOG.error(event, cause=None, **fields)


def _connected(step: Step, plan: ConversionPlan, report_topic: ReportTopic | None) -> Step:
    """Give the transform TimescaleDb the database to ask, and the transform OpenLineage what reports."""
    if isinstance(step.transform, OpenLineage) and report_topic is not None:
        return replace(step, transform=step.transform.reporting(report_topic))
    if not isinstance(step.transform, TimescaleDb):
        return step
    catalog = PostgresTimescale(step.transform.database, plan.config)
    return replace(step, transform=step.transform.with_metadata(catalog))
