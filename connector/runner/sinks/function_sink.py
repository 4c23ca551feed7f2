"""A sink that passes its records to a function, in place of Kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from connector.delivery.kafka_settings import KafkaSettings
from connector.io.kafka.sink import KafkaSink
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.topic_out import Partition, TopicOut
from connector.record.batch import Record, RecordBatch

_PARTITIONS: Final = 64
"""A transform may name the partition of a record. Which one it is does not matter here."""


class FunctionSink(KafkaSink):
    """A :class:`KafkaSink` without a producer: ``keep(topic, record)`` takes each record, those of one key in their order."""

    def __init__(self, keep: Callable[[str, Record], None], *, leave_out: Callable[[str, str], None] | None = None) -> None:
        """``leave_out`` is that of :class:`KafkaSink`."""
        creator = TopicCreator({}, {}, lambda _topic: None, enabled=False)
        super().__init__(KafkaSettings(producer={}, admin={}, topic_creation=False), creator, leave_out=leave_out)
        self._keep = keep

    async def start(self) -> None:
        """No-op: there is nothing to connect to."""

    def _known(self, topic: str) -> int:  # noqa: ARG002 (every topic has as many)
        return _PARTITIONS

    async def _resolve_topic(self, out: TopicOut) -> None:
        self._distribute(out, _PARTITIONS)

    async def _deliver(self, part: Partition, batch: RecordBatch) -> None:
        for record in batch.records:
            self._keep(part.topic, record)
        self.delivered += len(batch.records)
