"""What a producer has sent: records, bytes and batches, in all and by topic. It is counted once for each batch."""

from __future__ import annotations

from connector.meters.connection_meter import ConnectionMeter
from connector.meters.sampled import Sampled


class SentCounts:
    """The records of one topic, or of all."""

    __slots__ = ("at", "batches", "byte_rate", "compression", "errors", "packed", "record_rate", "records", "written")

    def __init__(self) -> None:
        self.records = 0
        self.batches = 0
        self.errors = 0
        """Records that Kafka refused."""
        self.written = 0
        """Bytes before compression."""
        self.packed = 0
        """Bytes after compression."""
        self.at = float("-inf")
        """When the last batch was counted, in monotonic seconds."""
        self.record_rate = Sampled()
        self.byte_rate = Sampled()
        self.compression = Sampled()
        """Bytes after compression for each byte before."""

    def add(self, records: int, written: int, packed: int, now: float) -> None:
        """Count a batch."""
        self.records += records
        self.batches += 1
        self.written += written
        self.packed += packed
        self.at = now
        self.record_rate.add(records, now)
        self.byte_rate.add(packed, now)
        if written:
            self.compression.add(packed / written, now)


class ProducerMeter:
    """One producer. Each request has one batch of records here."""

    def __init__(self) -> None:
        self.all = SentCounts()
        self.connections = ConnectionMeter()
        self.topics: dict[str, SentCounts] = {}
        self.answers = 0
        self.batch_size = Sampled()
        """Bytes of a batch after compression."""
        self.batch_records = Sampled()
        self.batch_rate = Sampled()
        """1 for each batch."""
        self.record_size = Sampled()
        """Bytes of a batch's records before compression, divided by their number."""
        self.latency = Sampled()
        """Milliseconds from the sending of a batch to its acknowledgement."""

    def packed(self, topic: str, records: int, written: int, packed: int, now: float) -> None:
        """Count a batch that is about to be sent."""
        found = self.topics.get(topic)
        if found is None:
            found = self.topics[topic] = SentCounts()
        found.add(records, written, packed, now)
        self.all.add(records, written, packed, now)
        self.batch_size.add(packed, now)
        self.batch_records.add(records, now)
        self.batch_rate.add(1, now)
        self.record_size.add(written / records, now)

    def answered(self, milliseconds: float, now: float) -> None:
        """Count the acknowledgement of batches that were sent together."""
        self.answers += 1
        self.latency.add(milliseconds, now)

    def failed(self, topic: str, records: int) -> None:
        """Count records that Kafka did not take."""
        self.all.errors += records
        if topic in self.topics:
            self.topics[topic].errors += records
