"""Rehearses a connector beside the running Kafka Connect: reads the same changes, and compares the records of both."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from connector.runner.context import TaskContext
from workers.cli.failure import CommandError
from workers.cli.kafka import topic_partitions
from workers.cli.takeover.cluster_state import StoredConnector
from workers.cli.takeover.comparison import Comparison, Sample, compare, identity
from workers.cli.takeover.reader_fields import ReaderFields
from workers.settings.worker_settings import WorkerSettings

_JSON_ONLY: Final = frozenset(
    {
        "org.apache.kafka.connect.json.JsonConverter",
        "org.apache.kafka.connect.storage.StringConverter",
        "org.apache.kafka.connect.converters.ByteArrayConverter",
    }
)
"""Converters that ask no schema registry."""
_CONNECT_SECONDS: Final = 30.0
"""How long to wait until Kafka Connect has written what was read here. Its poll and its producer may take seconds."""

_ASK_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """When the reading ends: after so many records, or after so many seconds."""

    events: int
    seconds: float


async def context_of(stored: StoredConnector, settings: WorkerSettings) -> TaskContext:
    """The context of a run that stores nothing. Raises CdcError, and CommandError for converters that would register schemas."""
    from connector.io.regex_process import BacktrackingProcess  # noqa: PLC0415
    from workers.herder.task_plan import TaskPlanner  # noqa: PLC0415
    from workers.settings.converters import converters  # noqa: PLC0415
    from workers.stores.memory import MemoryLog  # noqa: PLC0415
    from workers.stores.offset_store import AllOffsets  # noqa: PLC0415

    planner = TaskPlanner(settings, AllOffsets(MemoryLog()), lambda _name, _topic: None)
    chosen = converters(planner.as_read(await planner.resolve(stored.config)), settings.class_map, settings.converters)
    for side, choice in (("key", chosen.key), ("value", chosen.value)):
        if choice.name not in _JSON_ONLY:
            raise CommandError(
                f"The connector {stored.name} cannot be rehearsed: {side}.converter is {choice.name}, which would register schemas",
                "Compare the events of a copy of the connector with another topic.prefix and another registry.",
            )
    context = await planner.context(stored.name, stored.config)
    return replace(context, exactly_once=None, backtrack=BacktrackingProcess())


async def rehearse(
    stored: StoredConnector, settings: WorkerSettings, plugin: str, limits: Limits, opened: Callable[[], None]
) -> tuple[int, Comparison]:
    """The number of records read here, and the comparison. ``opened`` is called when the reading begins.

    Raises CdcError if database or Kafka cannot be read.
    """
    context = await context_of(stored, settings)
    clients = {**settings.properties, "bootstrap.servers": settings.bootstrap_servers}
    reader = ReaderFields.of(context.config)
    async with _Topics(clients, context.config.get("topic.prefix", ""), stored.topics) as topics:
        here = await _read_here(context, plugin, limits, opened)
        return len(here), compare(here, await topics.written(here, reader), reader) if here else Comparison()


async def _read_here(context: TaskContext, plugin: str, limits: Limits, opened: Callable[[], None]) -> list[Sample]:
    from connector.runner import rehearsal  # noqa: PLC0415

    found: list[Sample] = []
    stop, begun = asyncio.Event(), asyncio.Event()

    def keep(record: rehearsal.KeptRecord) -> None:
        found.append(Sample(record.topic, record.key, record.value, record.headers))
        if len(found) >= limits.events:
            stop.set()

    running = asyncio.create_task(rehearsal.rehearse(context, plugin, keep, lambda _lsn: begun.set(), stop), name="rehearse")
    try:
        beginning = asyncio.create_task(begun.wait(), name="wait for the slot")
        await asyncio.wait({running, beginning}, return_when=asyncio.FIRST_COMPLETED)
        beginning.cancel()
        # The time counts from the slot's creation, which waits for open transactions.
        if begun.is_set():
            opened()
        await asyncio.wait({running}, timeout=limits.seconds)
    finally:
        stop.set()
        await running
    return found[: limits.events]


class _Topics:
    """The topics of the connector, from their ends at the beginning of the rehearsal."""

    def __init__(self, clients: Mapping[str, str], prefix: str, used: Collection[str]) -> None:
        from aiokafka import AIOKafkaConsumer  # noqa: PLC0415

        from connector.io.kafka.client import client_arguments  # noqa: PLC0415

        self._prefix = prefix
        self._used = used
        self._ends: dict[Any, int] = {}
        self._arguments = client_arguments(clients)
        self._consumer: Any = AIOKafkaConsumer(
            group_id=None, enable_auto_commit=False, auto_offset_reset="earliest", isolation_level="read_committed", **self._arguments
        )

    async def __aenter__(self) -> Self:
        await self._consumer.start()
        places = await self._places(lambda topic: topic.startswith(self._prefix) or topic in self._used)
        self._ends = await self._consumer.end_offsets(places) if places else {}
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()

    async def written(self, here: list[Sample], reader: ReaderFields) -> list[Sample]:
        """The records that Kafka Connect has written since the beginning. Waits for those that were read here, within limits."""
        awaited = {identity(sample, reader) for sample in here}
        found: list[Sample] = []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CONNECT_SECONDS):
                await self._seek({sample.topic for sample in here})
                while awaited:
                    for records in (await self._consumer.getmany(timeout_ms=500)).values():
                        for record in records:
                            headers = tuple((name, value) for name, value in record.headers)
                            sample = Sample(record.topic, record.key, record.value, headers)
                            found.append(sample)
                            awaited.discard(identity(sample, reader))
        return found

    async def _seek(self, topics: Collection[str]) -> None:
        """Go to the places where the rehearsal began. Waits for topics that Kafka Connect has yet to create."""
        while True:
            places = await self._places(lambda topic: topic in topics)
            if {place.topic for place in places} == topics:
                break
            await asyncio.sleep(_ASK_SECONDS)
        self._consumer.assign(places)
        for place in places:
            # A topic that did not exist at the beginning has only new records.
            self._consumer.seek(place, self._ends.get(place, 0))

    async def _places(self, wanted: Callable[[str], bool]) -> list[Any]:
        from aiokafka import TopicPartition  # noqa: PLC0415

        found = await topic_partitions(self._arguments, wanted)
        return [TopicPartition(topic, number) for topic, numbers in found.items() for number in numbers]
