"""Reads the shop's topics and prints each event as it arrives."""

from __future__ import annotations

import asyncio
import logging
import time
from types import TracebackType
from typing import Final, Self

from aiokafka import AIOKafkaConsumer

from workers.quickstart.demo.events import Event, line

SECONDS: Final = 60.0


class Watch:
    """Follows all topics of a prefix, from their beginnings, as an async context manager."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        # aiokafka logs at every start that no topic exists yet. This is expected in the demo.
        logging.getLogger("aiokafka").setLevel(logging.ERROR)
        # Topics are created while the consumer reads, so it checks often for new ones.
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap, auto_offset_reset="earliest", enable_auto_commit=False, metadata_max_age_ms=100
        )
        self._consumer.subscribe(pattern=rf"^{prefix}\..*")
        self._next: dict[tuple[str, int], int] = {}
        """The first offset of each partition that has not been shown. For each new topic the consumer reads all of them again."""

    async def __aenter__(self) -> Self:
        await self._consumer.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._consumer.stop()

    async def show(self, count: int, seconds: float = SECONDS) -> None:
        """Print the next ``count`` events. Raises TimeoutError with the number of received events after ``seconds``."""
        came = 0
        try:
            async with asyncio.timeout(seconds):
                while came < count:
                    record = await self._consumer.getone()
                    place = (record.topic, record.partition)
                    if record.offset < self._next.get(place, 0):
                        continue
                    self._next[place] = record.offset + 1
                    came += 1
                    event = Event(record.topic, record.key, record.value, time.time_ns() // 1_000_000)
                    print(line(event), flush=True)  # noqa: T201 - the demo's output
        except TimeoutError:
            raise TimeoutError(f"Only {came} of {count} events arrived within {seconds:g} s") from None
