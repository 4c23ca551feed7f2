"""Reads a topic: its end, and the time of each row's arrival."""

from __future__ import annotations

import time
from collections.abc import Collection
from types import TracebackType
from typing import Any, Final, Self

import orjson
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from workers.lab.bench.failure import BenchError

READ_MS: Final = 1_000


class TopicConsumer:
    """A consumer of one topic, outside any group, as an async context manager."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.name = name
        self._admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        self._consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset="earliest")
        self._partitions: list[TopicPartition] = []

    async def __aenter__(self) -> Self:
        try:
            await self._admin.start()
            await self._consumer.start()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._close()

    async def end(self) -> int:
        """The number of records in all partitions; 0 while the topic does not exist."""
        if not self._partitions:
            self._partitions = await self._find()
            if not self._partitions:
                return 0
        return int(sum((await self._consumer.end_offsets(self._partitions)).values()))

    async def value_size(self) -> int:
        """The size of the first record's value in bytes. The topic must have a record."""
        self._consumer.assign(self._partitions)
        await self._consumer.seek_to_beginning()
        return len((await self._consumer.getone()).value or b"")

    async def to_end(self) -> None:
        """Skip the present records."""
        self._consumer.assign(self._partitions)
        await self._consumer.seek_to_end()
        for partition in self._partitions:
            # A seek takes effect at the first read, which may follow the next record. The query of the position applies it now.
            await self._consumer.position(partition)

    async def arrivals(self, wanted: Collection[int], silence: float) -> dict[int, int]:
        """When the rows with the ids ``wanted`` arrived, in nanoseconds of the monotonic clock. Reads on until all have come.

        Raises BenchError when no record arrives for ``silence`` seconds.
        """
        missing, came = set(wanted), {}
        heard = time.monotonic_ns()
        while missing:
            batches = await self._consumer.getmany(timeout_ms=READ_MS)
            now = time.monotonic_ns()
            for records in batches.values():
                for record in records:
                    row = row_id(record.key)
                    if row in missing:
                        missing.discard(row)
                        came[row] = now
            if batches:
                heard = now
            elif now - heard > silence * 1e9:
                raise BenchError(f"{len(missing)} of {len(wanted)} rows have not come to {self.name}, and nothing for {silence:g} s")
        return came

    async def delete(self) -> None:
        """Delete the topic if it exists. It cannot be read afterwards."""
        # A consumer of a deleted topic requests it again, and a broker with automatic creation would create it again.
        await self._consumer.stop()
        if await self._find():
            await self._admin.delete_topics([self.name])

    async def _find(self) -> list[TopicPartition]:
        # All topics are listed, because a request for a missing topic would create it.
        known = {topic["topic"]: topic["partitions"] for topic in await self._admin.describe_topics()}
        return [TopicPartition(self.name, found["partition"]) for found in known.get(self.name, ())]

    async def _close(self) -> None:
        await self._consumer.stop()
        await self._admin.close()


def row_id(key: bytes | None) -> int:
    """The id in a record's JSON key, with or without its schema. Raises BenchError without one."""
    try:
        found: Any = orjson.loads(key or b"")
        return int(found.get("payload", found)["id"])
    except (ValueError, AttributeError, KeyError, TypeError):
        raise BenchError("A record's key is not the row's id in JSON. The delays need JSON keys: leave the phase latency out.") from None
