"""Where the records of a topic are appended until its producer takes them.

A run may have thousands of topics, of which a burst concerns few. A topic therefore reports the first record that is appended after a rest,
so that the sink has to look at the topics with new records only. Further records are appended without a report.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import repeat

from connector.errors import CdcError, ErrorKind
from connector.io.kafka.partitioner import partition_of
from connector.record.batch import Record, RecordBatch


class Partition:
    """The open batch of one topic partition, and its sender."""

    __slots__ = ("batch", "counted", "number", "partition", "sender", "topic")

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.batch = RecordBatch()
        self.counted = (0, 0)
        """The weight and the records of the open batch that the sink has counted."""
        self.number = 0
        """The open batch's number in the ledger; 0 while it is empty."""
        self.sender: asyncio.Task[None] | None = None


class TopicOut:
    """Takes the records of one topic (:class:`connector.ports.Out`). While it rests, it is not in ``touched``; a record puts it there."""

    __slots__ = ("_known", "_touched", "add", "apart", "append", "counted", "extend", "name", "partitions", "pending")

    def __init__(
        self, name: str, touched: dict[TopicOut, None], known: Callable[[str], int] = lambda _topic: 0, *, apart: bool = False
    ) -> None:
        """``known`` returns how many partitions the topic has now, as far as the producer knows."""
        self.name = name
        self._known = known
        self._touched = touched
        self.apart = apart
        """Whether the records have no place in the stream, so that they do not wait for a position."""
        self.pending = RecordBatch()
        """Records appended before the topic's partitions are known."""
        self.counted = (0, 0)
        """The weight and the number of the pending records that the sink has counted."""
        self.partitions: list[Partition] = []
        self.append: Callable[[bytes | None, bytes, bytes | None, bytes, int], None]
        self.extend: Callable[[Sequence[bytes] | None, bytes, Sequence[bytes], bytes, int], None]
        self.add: Callable[[Sequence[Record]], None]
        self.rest()

    def resolve(self, count: int) -> None:
        """Distribute the waiting records among the topic's ``count`` partitions."""
        self.partitions = [Partition(self.name, number) for number in range(count)]
        waiting, self.pending = self.pending, RecordBatch()
        self.renew()
        for record in waiting.records:
            self.append(*record)

    def append_to(self, partition: int, record: Record) -> None:
        """Append to this partition of a topic that is prepared. Raises CdcError(SINK_REFUSED) for one that does not exist."""
        self._grow()
        if not 0 <= partition < len(self.partitions):
            raise CdcError(
                ErrorKind.SINK_REFUSED,
                f"A transform sends a record to partition {partition} of topic {self.name}, which has {len(self.partitions)} partitions",
                "Add partitions to the topic, or correct the transform",
            )
        self._touch()
        self.partitions[partition].batch.append(*record)

    def rest(self) -> None:
        """Report the next record."""
        self._touched.pop(self, None)
        self.append, self.extend, self.add = self._first, self._first_all, self._first_each

    def renew(self) -> None:
        """Append to the open batches from now on, of which one or all were replaced."""
        if self in self._touched:
            self._open()

    def _touch(self) -> None:
        if self not in self._touched:
            self._touched[self] = None
            self._grow()
            self._open()

    def _grow(self) -> None:
        """Add the partitions that a resolved topic has been given since. A topic with fewer is left to the sender."""
        count = len(self.partitions)
        # Without the condition, a list would be made for each burst.
        if count and (known := self._known(self.name)) > count:
            self.partitions += [Partition(self.name, number) for number in range(count, known)]

    def _open(self) -> None:
        if len(self.partitions) > 1:
            self.append, self.extend, self.add = self._spread, self._spread_all, self._spread_each
        else:
            # The batch's bound methods become this object's, which saves a call for each record.
            batch = self.partitions[0].batch if self.partitions else self.pending
            self.append, self.extend, self.add = batch.append, batch.extend, batch.add

    def _first(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        self._touch()
        self.append(key, prefix, payload, headers, timestamp)

    def _first_all(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        self._touch()
        self.extend(keys, prefix, payloads, headers, timestamp)

    def _first_each(self, records: Sequence[Record]) -> None:
        self._touch()
        self.add(records)

    def _spread_all(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        partitions = self.partitions
        count = len(partitions)
        for key, payload in zip(keys or repeat(None), payloads, strict=False):
            if key is None:
                self._spread(key, prefix, payload, headers, timestamp)
            else:
                partitions[partition_of(key, count)].batch.append(key, prefix, payload, headers, timestamp)

    def _spread_each(self, records: Sequence[Record]) -> None:
        for record in records:
            self._spread(*record)

    def _spread(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        partitions = self.partitions
        # Records without a key need no order, so they go to the partition with the smallest batch.
        target = min(partitions, key=lambda p: p.batch.size) if key is None else partitions[partition_of(key, len(partitions))]
        target.batch.append(key, prefix, payload, headers, timestamp)
