"""Whether a mirror has got to a position of its source.

Two legs: the connector has brought to Kafka what the source had committed, which its replication slot tells (``confirmed_flush_lsn``,
PostgreSQL manual, "pg_replication_slots": the connector confirms what Kafka has acknowledged); and the mirror has read what Kafka had
then, which the stream's commits tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import psycopg
from pyspark.sql import SparkSession

from workers.spark.failure import WRONG, JobError
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror_config import MirrorConfig

_BEHIND = """
select count(*) filter (where confirmed_flush_lsn - '0/0'::pg_lsn < %(position)s), count(*)
from pg_replication_slots
where slot_type = 'logical' and not temporary and database = current_database() and (%(slot)s::text is null or slot_name = %(slot)s)
"""

Offsets = Mapping[tuple[str, int], int]


def arrival(config: MirrorConfig, dsn: str, spark: SparkSession) -> Callable[[int], bool]:
    """Tells of an LSN of the source at ``dsn`` whether the mirror holds all that was committed up to it.

    The connector's slot is ``slot`` of the configuration; without one all logical slots of the database must have got there. Raises
    JobError when there is none.
    """
    checkpoint = Checkpoint(spark, config.checkpoint)
    ends: dict[int, Offsets] = {}

    def reached(position: int) -> bool:
        if position not in ends:
            if not _confirmed(dsn, position, config.slot):
                return False
            # Once the slot is there, what Kafka has now is enough: later records are of later changes.
            ends[position] = end_offsets(spark, config)
        return covers(checkpoint.offsets(), ends[position])

    return reached


def covers(read: Offsets, ends: Offsets) -> bool:
    """Whether everything before ``ends`` has been read. Pure."""
    return all(end == 0 or read.get(place, 0) >= end for place, end in ends.items())


def _confirmed(dsn: str, position: int, slot: str | None) -> bool:
    with psycopg.connect(dsn) as connection:
        behind, slots = connection.execute(_BEHIND, {"position": position, "slot": slot}).fetchall()[0]
    if not slots:
        named = "no logical replication slot" if slot is None else f"no logical replication slot {slot}"
        raise JobError(WRONG, f"The source has {named}, so nothing tells how far its connector is. Set slot, or leave --wait out.")
    return not behind


def end_offsets(spark: SparkSession, config: MirrorConfig) -> Offsets:
    """Where each partition of the topics ends now, for a reader of committed records."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Kafka's own client, which Spark has loaded
    settings = jvm.java.util.HashMap()
    words = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
    own = {name.removeprefix("kafka."): value for name, value in config.kafka.items() if name.startswith("kafka.")}
    base = {
        "bootstrap.servers": config.bootstrap,
        "key.deserializer": words,
        "value.deserializer": words,
        "isolation.level": "read_committed",
    }
    for name, value in {**base, **own}.items():
        settings.put(name, value)
    consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings)
    try:
        wanted = jvm.java.util.ArrayList()
        for topic, parts in dict(consumer.listTopics()).items():
            if re.fullmatch(config.pattern, topic):
                for part in parts:
                    wanted.add(jvm.org.apache.kafka.common.TopicPartition(topic, part.partition()))
        return {(place.topic(), int(place.partition())): int(end) for place, end in dict(consumer.endOffsets(wanted)).items()}
    finally:
        consumer.close()
