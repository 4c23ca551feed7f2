"""The producer of a task, and where its offsets go: stored after the acknowledgements, or with the records in one transaction."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial as bound

from connector.config import ConnectorConfig
from connector.io.kafka_sink import KafkaSink
from connector.io.topic_creation import TopicCreator
from connector.io.transactional_sink import OffsetTarget, TransactionalSink
from connector.offsets import partition
from connector.ports import ExactlyOnce, JsonObject, TaskContext


class TransactionOffsets:
    """:class:`connector.ports.OffsetStore` of a task whose ``sink`` commits offsets with records."""

    def __init__(self, exactly_once: ExactlyOnce, sink: TransactionalSink) -> None:
        self._offsets = exactly_once.offsets
        self._sink = sink
        self._former: list[JsonObject | None] = []
        """What was stored when this task began, once it has been asked for: nobody else can store anything since."""

    async def load(self, partition: JsonObject) -> JsonObject | None:
        """The last offset committed: by this task or, before its first, by a former one."""
        if self._sink.stored is not None:
            return self._sink.stored
        if not self._former:
            self._former.append(await self._offsets.load(partition))
        return self._former[0]

    async def store(self, partition: JsonObject, offset: JsonObject | None) -> None:  # noqa: ARG002 (the sink knows its own)
        """Commit it with all that the task has sent so far."""
        if offset is not None:
            await self._sink.store(offset)


async def open_sink(context: TaskContext, config: ConnectorConfig, stack: AsyncExitStack) -> tuple[KafkaSink, TaskContext]:
    """The task's producer, connected, and the context whose offsets go with it; the stack closes it.

    With exactly-once delivery no former producer of this task can write any more when this returns: only then its offset may be read.
    """
    kafka, exactly_once = context.kafka, context.exactly_once
    creator = TopicCreator(
        kafka.admin, config.topic_creation, context.topic_used, enabled=kafka.topic_creation, backtrack=context.backtrack
    )
    sink: KafkaSink
    if exactly_once is None:
        sink = KafkaSink(kafka, creator)
    else:
        records = bound(exactly_once.offsets.records, partition(config.topic_prefix))
        target = OffsetTarget(records, former=config.version < (3, 0, 0))
        sink = TransactionalSink(kafka, creator, exactly_once.transactional_id, target, interval=exactly_once.interval)
        context = replace(context, offsets=TransactionOffsets(exactly_once, sink))
    stack.push_async_callback(sink.stop)
    await sink.start()
    return sink, context
