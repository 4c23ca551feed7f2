"""What a producer has sent: records, bytes and batches, in all and by topic. It is counted once for each batch."""

from __future__ import annotations

from connector.meters.connection_meter import ConnectionMeter
from connector.meters.sampled import NOTHING, WINDOW_S, Sampled

Rates = tuple[float, float, float]
"""Records per second, bytes after compression per second, and bytes after compression for each byte before (the mean of the batches)."""
NO_RATES: Rates = (0.0, 0.0, NOTHING)


class SentCounts:
    """The records of one topic, or of all.

    A thousand topics are counted and asked together, so that the sums of a window are the differences of totals.
    """

    __slots__ = ("_before", "_began", "_former", "_former_ratios", "_ratios", "at", "batches", "errors", "packed", "records", "written")

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
        self._began: float | None = None
        """When the present window began."""
        self._former = self._before = (0, 0, 0)
        """The records, bytes and batches before the former window, and those before the present one."""
        self._ratios = self._former_ratios = 0.0
        """The sums of the batches' compression in the two windows."""

    def add(self, records: int, written: int, packed: int, now: float) -> None:
        """Count a batch."""
        began = self._began
        if began is None:
            self._began = now
        elif now - began >= WINDOW_S:
            self._move(now - began)
        self.records += records
        self.batches += 1
        self.written += written
        self.packed += packed
        self._ratios += packed / written if written else 1.0
        self.at = now

    def rates(self, now: float) -> Rates:
        """Return figures of the last 30 to 60 seconds, in windows as those of :class:`Sampled`. The last is NaN without a batch."""
        began = self._began
        if began is None:
            return NO_RATES
        if now - began >= WINDOW_S:
            began = self._move(now - began)
        records, size, batches = self._former
        batches = self.batches - batches
        # As in Kafka at least one whole window counts as passed.
        seconds = now - began + WINDOW_S
        ratio = (self._ratios + self._former_ratios) / batches if batches else NOTHING
        return (self.records - records) / seconds, (self.packed - size) / seconds, ratio

    def batches_per_second(self, now: float) -> float:
        """The batches of the same windows per second."""
        began = self._began
        if began is None:
            return 0.0
        if now - began >= WINDOW_S:
            began = self._move(now - began)
        return (self.batches - self._former[2]) / (now - began + WINDOW_S)

    def records_per_batch(self, now: float) -> float:
        """The mean of the batches of the same windows; NaN without one."""
        if not self.batches_per_second(now):
            return NOTHING
        records, _, batches = self._former
        return (self.records - records) / (self.batches - batches)

    def _move(self, passed: float) -> float:
        """Begin a new window, when so many seconds have passed since the present one began. Return its beginning."""
        present = self.records, self.packed, self.batches
        if passed < 2 * WINDOW_S:
            self._former, self._former_ratios = self._before, self._ratios
        else:
            self._former, self._former_ratios = present, 0.0
        self._before, self._ratios = present, 0.0
        began = self._began = (self._began or 0.0) + passed // WINDOW_S * WINDOW_S
        return began


class ProducerMeter:
    """One producer. Each request has one batch of records here."""

    def __init__(self) -> None:
        self.all = SentCounts()
        self.connections = ConnectionMeter()
        self.topics: dict[str, SentCounts] = {}
        self.answers = 0
        self.batch_size = Sampled()
        """Bytes of a batch after compression."""
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
