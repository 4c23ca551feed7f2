"""A compacted Kafka topic for a store in memory: read to its end at the start, then followed, and written with acknowledgements.

Kafka Connect calls this a ``KafkaBasedLog``. It handles keys, values and offsets; the store interprets them. A write applies the record
to the store as soon as Kafka has acknowledged it. The follower reads the same record too, before or after the acknowledgement, and
recognizes it by its offset.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from connector.errors import CdcError, ErrorKind
from connector.io.kafka.client import client_arguments, connection_problem
from connector.log import EventLog
from connector.meters.connection_meter import Traffic
from connector.meters.producer_meter import ProducerMeter
from workers.settings.worker_settings import StoreTopic
from workers.stores.records import RecordError, pass_over

LOG: Final = EventLog(__name__)

_FOLLOW_WAIT_MS: Final = 1_000
"""How long a broker may hold an empty fetch. A long wait saves requests, because the broker answers at once when a record is written.

But aiokafka omits a partition from a fetch while its last records have not been consumed; later records then wait this long.
"""
_FOLLOW_RETRY_SECONDS: Final = 5.0
_NEW_TOPIC_SECONDS: Final = 30.0
_END_SECONDS: Final = 1.0
_MARKER_MS: Final = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of the topic. ``value`` is None for a deletion. ``offset`` and ``partition`` are -1 until the record is written."""

    key: bytes
    value: bytes | None
    offset: int = field(default=-1, compare=False)
    partition: int = field(default=-1, compare=False)


Apply = Callable[[Sequence[Entry]], None]
"""Called with the records that were read or written together, in the topic's order. It must not raise, whatever the records hold."""


class TopicLog(Protocol):
    """The compacted topic ``name`` of one store."""

    name: str

    @property
    def problem(self) -> str:
        """Why the topic is not followed, in one sentence; empty while it is followed, and while Kafka is unreachable."""

    async def start(self, apply: Apply) -> None:
        """Read everything up to the present end, then follow the topic. Raises CdcError when the topic cannot be used."""

    async def write(self, entries: Sequence[Entry]) -> None:
        """Write in this order. Return when Kafka has acknowledged all entries and they are applied. Raises CdcError(STORE)."""

    async def catch_up(self) -> None:
        """Return when every record that exists now has been applied. Raises CdcError(STORE) when Kafka does not answer."""

    async def stop(self) -> None:
        """End the follower and close connections. No call may follow."""


class Cluster:
    """The worker's shared connections to Kafka: one producer for all stores. It also creates the topics."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._options = {"client_id": "understudy", **client_arguments(properties)}
        self._producer: Any = None
        self.cluster_id = ""
        self.partitions: dict[str, Sequence[int]] = {}
        """Internal topic → its partitions. Empty before :meth:`start`."""

    def consumer(self) -> Any:
        """A consumer without a group that begins at the first record. The caller starts it."""
        from aiokafka import AIOKafkaConsumer  # noqa: PLC0415 (the import takes 70 ms, and REST must listen before)

        return AIOKafkaConsumer(
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            # Kafka Connect's leader writes the config topic in transactions when exactly-once support is enabled (KIP-618).
            isolation_level="read_committed",
            fetch_max_wait_ms=_FOLLOW_WAIT_MS,
            **self._options,
        )

    async def start(self, topics: Mapping[str, StoreTopic]) -> None:
        """Create the missing topics and check the others; then connect the producer.

        ``topics``: prefix of the properties (config.storage, …) → topic. Raises CdcError that names the topic and the property.
        """
        from aiokafka import AIOKafkaProducer  # noqa: PLC0415
        from aiokafka.admin import AIOKafkaAdminClient  # noqa: PLC0415
        from aiokafka.errors import KafkaError  # noqa: PLC0415

        admin = AIOKafkaAdminClient(**self._options)
        producer = AIOKafkaProducer(acks="all", **self._options)
        try:
            await asyncio.gather(admin.start(), producer.start())
            self.cluster_id = (await admin.describe_cluster()).get("cluster_id") or ""
            existing = set(await admin.list_topics())
            await _create_topics(admin, {p: t for p, t in topics.items() if t.name not in existing})
            self.partitions = await _describe(admin, [topic.name for topic in topics.values()])
            await _check_topics(admin, topics, self.partitions)
        except KafkaError as problem:
            await producer.stop()
            raise await self._unusable(problem) from problem
        except BaseException:
            await producer.stop()
            raise
        finally:
            await admin.close()
        self._producer = producer

    async def look(self, names: Sequence[str]) -> list[str]:
        """Find the partitions of those topics that exist, and return the names of the others. Creates nothing and allows no write.

        Raises CdcError that names the brokers.
        """
        from aiokafka.admin import AIOKafkaAdminClient  # noqa: PLC0415
        from aiokafka.errors import KafkaError  # noqa: PLC0415

        admin = AIOKafkaAdminClient(**self._options)
        try:
            await admin.start()
            existing = set(await admin.list_topics())
            self.partitions = await _describe(admin, [name for name in names if name in existing])
        except KafkaError as problem:
            raise await self._unusable(problem) from problem
        finally:
            await admin.close()
        return [name for name in names if name not in existing]

    async def send(self, topic: str, entries: Sequence[Entry]) -> Sequence[tuple[int, int]]:
        """Write and wait for the acknowledgements. Returns (partition, offset) of each entry. Raises CdcError(STORE)."""
        from aiokafka.errors import KafkaError  # noqa: PLC0415

        if self._producer is None:
            raise CdcError(ErrorKind.STORE, f"The topic {topic} cannot be written yet", "Wait until the worker has reached Kafka.")
        try:
            # All entries are passed to the producer before the first result is awaited. So each partition's go in one request, in order.
            futures = [await self._producer.send(topic, entry.value, entry.key) for entry in entries]
            sent = await asyncio.gather(*futures)
        except KafkaError as problem:
            raise CdcError(
                ErrorKind.STORE,
                f"Kafka did not accept a record of the topic {topic}",
                "Check that the brokers run, and that this user may write to the topic.",
                type(problem).__name__,
            ) from problem
        return [(m.partition, m.offset) for m in sent]

    async def _unusable(self, problem: Exception) -> CdcError:
        return await connection_problem(self._options) or CdcError(
            ErrorKind.SINK_UNREACHABLE,
            f"Kafka at {', '.join(self._options['bootstrap_servers'])} cannot be used",
            "Check bootstrap.servers, the security properties, and that the brokers run.",
            type(problem).__name__,
        )

    def traffic(self) -> dict[object, Traffic]:
        """The open connections of the producer, and what each has carried."""
        return _traffic(self._producer)

    async def stop(self) -> None:
        """Close the producer. What Kafka does not acknowledge soon is given up."""
        if self._producer is not None:
            producer, self._producer = self._producer, None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(producer.stop(), _END_SECONDS)


class KafkaLog:
    """:class:`TopicLog` on a topic of Kafka. The topic must exist; :meth:`Cluster.start` creates it."""

    def __init__(self, cluster: Cluster, topic: StoreTopic, meter: ProducerMeter | None = None) -> None:
        self._cluster = cluster
        self._meter = meter or ProducerMeter()
        self.name = topic.name
        self.problem = ""
        self._apply: Apply | None = None
        self._applied: dict[bytes, int] = {}
        """Key → offset of its last applied record. All records of a key are in one partition."""
        self._keyless: dict[int, int] = {}
        """Partition → offset of the last record without a key that was logged."""
        self._consumer: Any = None
        self._follower: asyncio.Task[None] | None = None
        self._second: Any = None
        self._catching_up = asyncio.Lock()

    async def start(self, apply: Apply) -> None:
        """Read all partitions to their present ends; then follow them."""
        from aiokafka import TopicPartition  # noqa: PLC0415

        self._apply = apply
        consumer = self._cluster.consumer()
        try:
            await consumer.start()
            partitions = [TopicPartition(self.name, p) for p in self._cluster.partitions[self.name]]
            consumer.assign(partitions)
            # A broker answers the requests of a connection in order, so the request for the ends would wait for an empty fetch.
            consumer.pause(*partitions)
            ends: dict[Any, int] = await consumer.end_offsets(partitions)
            behind = {p for p, end in ends.items() if end > 0}
            if behind:
                begins: dict[Any, int] = await consumer.beginning_offsets(list(behind))
                behind = {p for p in behind if begins[p] < ends[p]}
            # Only partitions with unread records are fetched, so that no fetch waits at the end of another partition.
            consumer.resume(*behind)
            while behind:
                await self._read(consumer, timeout_ms=200)
                done = {p for p in behind if await consumer.position(p) >= ends[p]}
                consumer.pause(*done)
                behind -= done
            consumer.resume(*partitions)
        except Exception as problem:
            await consumer.stop()
            raise CdcError(
                ErrorKind.STORE,
                f"The topic {self.name} cannot be read",
                "Check that the brokers run, and that this user may read the topic.",
                type(problem).__name__,
            ) from problem
        except BaseException:
            await consumer.stop()
            raise
        self._consumer = consumer
        self._follower = asyncio.create_task(self._follow(consumer), name=f"follow {self.name}")
        self._follower.add_done_callback(self._ended)

    async def write(self, entries: Sequence[Entry]) -> None:
        """Send the entries, wait for the acknowledgements, and apply the entries."""
        began, size = time.monotonic(), sum(len(entry.key) + len(entry.value or b"") for entry in entries)
        if entries:
            self._meter.packed(self.name, len(entries), size, size, began)
        try:
            places = await self._cluster.send(self.name, entries)
        except CdcError:
            self._meter.failed(self.name, len(entries))
            raise
        now = time.monotonic()
        self._meter.answered((now - began) * 1000, now)
        self._take([replace(entry, offset=offset, partition=number) for entry, (number, offset) in zip(entries, places, strict=True)])

    async def catch_up(self) -> None:
        """Read what the follower has not read, over a second connection, because an empty fetch may hold the follower's."""
        async with self._catching_up:
            try:
                if self._second is None:
                    self._second = await self._started_consumer()
                await self._read_behind(self._second)
            except Exception as problem:
                raise CdcError(
                    ErrorKind.STORE,
                    f"The end of the topic {self.name} cannot be read",
                    "Check that the brokers run.",
                    type(problem).__name__,
                ) from problem

    async def _started_consumer(self) -> Any:
        consumer = self._cluster.consumer()
        try:
            await consumer.start()
        except BaseException:
            await consumer.stop()
            raise
        return consumer

    async def _read_behind(self, consumer: Any) -> None:
        follower = self._consumer
        ends: dict[Any, int] = await consumer.end_offsets(follower.assignment())
        places = {partition: await follower.position(partition) for partition in ends}
        behind = {partition for partition, end in ends.items() if places[partition] < end}
        if not behind:
            return
        consumer.assign(list(behind))
        for partition in behind:
            consumer.seek(partition, places[partition])
        while behind:
            # A transaction's marker moves the position without a record, so the wait is short.
            await self._read(consumer, timeout_ms=_MARKER_MS)
            behind = {partition for partition in behind if await consumer.position(partition) < ends[partition]}
        # The consumer keeps the partitions until the next call: after an unassignment its stop may hang.
        consumer.pause(*consumer.assignment())

    def traffic(self) -> dict[object, Traffic]:
        """The open connections of the consumers, and what each has carried."""
        return _traffic(self._consumer, self._second)

    async def stop(self) -> None:
        """End the follower."""
        follower, self._follower = self._follower, None
        if follower is not None:
            follower.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await follower
        for consumer in (self._consumer, self._second):
            if consumer is not None:
                await consumer.stop()
        self._consumer = self._second = None

    async def _follow(self, consumer: Any) -> None:
        from aiokafka.errors import KafkaError  # noqa: PLC0415

        while True:
            try:
                await self._read(consumer, timeout_ms=60_000)
                self.problem = ""
            except Exception as problem:  # noqa: BLE001 (the next records must be read after any failure)
                kind = type(problem).__name__
                if not isinstance(problem, KafkaError):
                    # aiokafka recovers from a lost cluster by itself. This is a defect, in aiokafka or here.
                    self.problem = f"The internal topic {self.name} cannot be followed: {kind}."
                LOG.warning("cannot follow an internal topic, trying again", topic=self.name, error=kind, seconds=_FOLLOW_RETRY_SECONDS)
                await asyncio.sleep(_FOLLOW_RETRY_SECONDS)

    def _ended(self, follower: asyncio.Task[None]) -> None:
        if self._follower is follower:
            kind = "CancelledError" if follower.cancelled() else type(follower.exception()).__name__
            self.problem = f"The internal topic {self.name} is no longer followed: {kind}. Start the worker again."
            LOG.error("an internal topic is no longer followed", topic=self.name, error=kind)

    async def _read(self, consumer: Any, timeout_ms: int) -> None:
        batches = await consumer.getmany(timeout_ms=timeout_ms)
        for records in batches.values():
            for record in records:
                if record.key is None:
                    self._name_keyless(record.partition, record.offset)
            self._take([Entry(record.key, record.value, record.offset, record.partition) for record in records if record.key is not None])

    def _name_keyless(self, partition: int, offset: int) -> None:
        # Two consumers read the topic, and each record must be logged once.
        if self._keyless.get(partition, -1) < offset:
            self._keyless[partition] = offset
            pass_over(self.name, partition, offset, RecordError("it has no key"))

    def _take(self, entries: Sequence[Entry]) -> None:
        fresh = [entry for entry in entries if self._applied.get(entry.key, -1) < entry.offset]
        for entry in entries:
            self._applied[entry.key] = max(entry.offset, self._applied.get(entry.key, -1))
        if fresh and self._apply is not None:
            self._apply(fresh)


def _traffic(*clients: Any) -> dict[object, Traffic]:
    if not any(clients):
        return {}
    from connector.io.kafka.aiokafka_internals import traffic  # noqa: PLC0415 (as slow as aiokafka, which is imported when a client exists)

    return traffic(*clients)


async def _describe(admin: Any, names: Sequence[str]) -> dict[str, Sequence[int]]:
    """Topic → its partitions. Waits for brokers that do not list a new topic yet."""
    deadline = asyncio.get_running_loop().time() + _NEW_TOPIC_SECONDS
    while True:
        found: dict[str, Sequence[int]] = {
            d["topic"]: sorted(p["partition"] for p in d["partitions"]) for d in await admin.describe_topics(names)
        }
        missing = [name for name in names if not found.get(name)]
        if not missing:
            return found
        if asyncio.get_running_loop().time() > deadline:
            raise CdcError(
                ErrorKind.STORE, f"The topic {missing[0]} was created, but the brokers do not list it", "Look at the brokers' logs."
            )
        await asyncio.sleep(0.02)


async def _create_topics(admin: Any, missing: Mapping[str, StoreTopic]) -> None:
    if not missing:
        return
    from aiokafka.admin import NewTopic  # noqa: PLC0415

    wanted = [
        NewTopic(
            topic.name,
            topic.partitions,
            topic.replication_factor,
            # aiokafka accepts -1, the broker's default (KIP-464), only together with an assignment. An empty assignment has no effect.
            replica_assignments={} if -1 in (topic.partitions, topic.replication_factor) else None,
            topic_configs={**topic.settings, "cleanup.policy": "compact"},
        )
        for topic in missing.values()
    ]
    response = await admin.create_topics(wanted)
    outcome = {row[0]: row for row in response.topic_errors}
    for prefix, topic in missing.items():
        _, code, *rest = outcome[topic.name]
        # 36: another worker created it before. 38: the replication factor is larger than the number of brokers.
        if code in (0, 36):
            LOG.info("internal topic created", topic=topic.name, partitions=topic.partitions)
            continue
        remedy = (
            f"Set {prefix}.replication.factor to at most the number of brokers (it is {topic.replication_factor})."
            if code == 38
            else f"Create it with cleanup.policy=compact, or allow this user to create it, or name another topic in {prefix}.topic."
        )
        detail = str(rest[0] or "") if rest else ""
        raise CdcError(ErrorKind.SINK_REFUSED, f"The internal topic {topic.name} cannot be created", remedy, detail)


async def _check_topics(admin: Any, topics: Mapping[str, StoreTopic], partitions: Mapping[str, Sequence[int]]) -> None:
    """Check Kafka Connect's own rules: configurations have one partition, and every topic is compacted, so that no record expires."""
    from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType  # noqa: PLC0415

    names = {topic.name: prefix for prefix, topic in topics.items()}
    for name, prefix in names.items():
        if prefix == "config.storage" and len(partitions[name]) != 1:
            raise CdcError(
                ErrorKind.SINK_REFUSED,
                f"The internal topic {name} has {len(partitions[name])} partitions and must have one: the order of configurations counts",
                "Name a topic with one partition in config.storage.topic.",
            )
    responses = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name, {"cleanup.policy": None}) for name in names])
    for response in responses:
        for code, _, _, name, entries, *_ in response.resources:
            policy = next((entry[1] for entry in entries if entry[0] == "cleanup.policy"), None)
            # A user without DescribeConfigs sees no policy (code 29). Kafka Connect continues in this case too.
            if code == 0 and policy is not None and policy != "compact":
                raise CdcError(
                    ErrorKind.SINK_REFUSED,
                    f"The internal topic {name} has cleanup.policy={policy}, which would lose what is stored in it",
                    f"Set it to compact (kafka-configs --alter --topic {name} --add-config cleanup.policy=compact), "
                    f"or name another topic in {names[name]}.topic.",
                )
