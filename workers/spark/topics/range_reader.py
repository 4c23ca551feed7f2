"""Reads ranges of Kafka's records with the client in Python, without a Spark job."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

Place = tuple[str, int]
"""Topic, partition."""
Ranges = Mapping[Place, tuple[int | None, int]]
"""Partition → its first offset, None for the partition's own, and the one after its last."""
Records = Sequence[ConsumerRecord[bytes, bytes]]

WAIT_SECONDS: Final = 10.0
"""How long the broker may take for an answer. Spark's reader, which is asked next, has the same limit."""
_FETCHED: Final = 16 * 1024 * 1024
"""The most bytes of a partition in an answer. With the client's 1 MiB, 30,000 records of 4 KB would take 120 questions and answers."""
_AT_ONCE: Final = 20_000
"""So many records are in memory as Python's objects, with the schemas that they embed."""
_POLL_MS: Final = 1_000
_CLIENT: Final[Mapping[str, Any]] = {
    "enable_auto_commit": False,
    # The caller knows which offsets there are. If Kafka has removed them, Spark's reader says so.
    "auto_offset_reset": "none",
    # As with Spark's reader (workers.spark.topics.records): a partition without further records must not hold up the answers for others.
    "fetch_max_wait_ms": 5,
    "max_partition_fetch_bytes": _FETCHED,
    "request_timeout_ms": int(WAIT_SECONDS * 1000),
}


class RangeReader:
    """A client with these ``settings``, those of :class:`aiokafka.AIOKafkaConsumer`. It connects when it is first needed.

    It has an event loop in a thread of its own. Between two calls it fetches nothing.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings: Final = {**_CLIENT, **settings}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._consumer: AIOKafkaConsumer | None = None

    def read(self, ranges: Ranges, take: Callable[[Place, Records], None]) -> None:
        """Give ``take`` the records of these ranges in parts, those of each partition in their order.

        ``take`` is called in the client's thread. What it raises ends the reading, and is raised again. Raises KafkaError if the records
        cannot be read, OffsetOutOfRangeError if Kafka has removed some, and TimeoutError if the broker does not answer.
        """
        self._run(self._read({TopicPartition(*place): ends for place, ends in ranges.items()}, take))

    def close(self) -> None:
        """Disconnect. The reader may be used again."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        if self._consumer is not None:
            asyncio.run_coroutine_threadsafe(self._consumer.stop(), loop).result()
            self._consumer = None
        loop.call_soon_threadsafe(loop.stop)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_forever, args=(self._loop,), name="kafka", daemon=True).start()
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _read(self, ranges: Mapping[TopicPartition, tuple[int | None, int]], take: Callable[[Place, Records], None]) -> None:
        consumer = await self._connected()
        consumer.assign(list(ranges))
        try:
            async with asyncio.timeout(WAIT_SECONDS) as limit:
                await self._seek(consumer, {place: begin for place, (begin, _) in ranges.items()})
                left = {place: end for place, (_, end) in ranges.items()}
                unread = {place: end - (begin or 0) for place, (begin, end) in ranges.items()}
                while left:
                    # An answer may have many records after the range. Without this Python would make objects of all of them.
                    most = min(max(1, sum(unread[place] for place in left)), _AT_ONCE)
                    found = await consumer.getmany(*left, timeout_ms=_POLL_MS, max_records=most)
                    for place, records in found.items():
                        unread[place] -= len(records)
                        if wanted := [one for one in records if one.offset < left[place]]:
                            take((place.topic, place.partition), wanted)
                    # A range may end with records that are not shown: those of aborted transactions, and their markers.
                    done = [place for place, end in left.items() if await consumer.position(place) >= end]
                    if found or done:
                        limit.reschedule(asyncio.get_running_loop().time() + WAIT_SECONDS)
                    for place in done:
                        consumer.pause(place)
                        del left[place]
        finally:
            consumer.unsubscribe()

    @staticmethod
    async def _seek(consumer: AIOKafkaConsumer, begins: Mapping[TopicPartition, int | None]) -> None:
        new = [place for place, begin in begins.items() if begin is None]
        # Whoever read the partition first has found the same begin only if nothing of it has been removed.
        removed = {place: 0 for place, first in (await consumer.beginning_offsets(new)).items() if first} if new else {}
        if removed:
            raise OffsetOutOfRangeError(removed)
        for place, begin in begins.items():
            consumer.seek(place, begin or 0)

    async def _connected(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            consumer = AIOKafkaConsumer(**self._settings)
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await consumer.start()
            except BaseException:
                await consumer.stop()
                raise
            self._consumer = consumer
        return self._consumer


def _forever(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()
