"""Determines whether a mirror has reached a position of its source.

Two conditions: the connector has sent to Kafka what the source had committed, as its replication slot shows (``confirmed_flush_lsn``,
PostgreSQL manual, "pg_replication_slots": the connector confirms what Kafka has acknowledged); and the mirror has read what Kafka had
then, as the stream's commits show.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg
from pyspark.sql import SparkSession

from workers.spark.failure import UNREADABLE, WRONG, JobError
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror_config import MirrorConfig
from workers.spark.topics.broker import Broker, Offsets

_BEHIND = """
select count(*) filter (where confirmed_flush_lsn - '0/0'::pg_lsn < %(position)s), count(*)
from pg_replication_slots
where slot_type = 'logical' and not temporary and database = current_database() and (%(slot)s::text is null or slot_name = %(slot)s)
"""


def arrival(config: MirrorConfig, dsn: str, spark: SparkSession) -> Callable[[int], bool]:
    """A function that returns whether the mirror holds everything that the source at ``dsn`` committed up to an LSN.

    The connector's slot is ``slot`` of the configuration; without one all logical slots of the database must have reached it. Raises
    JobError when there is none.
    """
    checkpoint = Checkpoint(spark, config.checkpoint)
    ends: dict[int, Offsets] = {}

    def reached(position: int) -> bool:
        if position not in ends:
            if not _confirmed(dsn, position, config.slot):
                return False
            # When the slot has reached the position, Kafka's present records suffice: later records are later changes.
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
        raise JobError(WRONG, f"The source has {named}, so the connector's position is unknown. Set slot, or leave --wait out.")
    return not behind


def end_offsets(spark: SparkSession, config: MirrorConfig) -> Offsets:
    """The present end of each partition of the topics, for a reader of committed records."""
    broker = Broker(spark, config.bootstrap, config.kafka)
    return broker.ends(broker.topics(config.pattern))


def lost(read: Offsets, begins: Offsets, ends: Offsets) -> str | None:
    """A sentence about records that Kafka removed before they were read; None if there are none. Pure.

    ``read`` are the offsets to read next, ``begins`` and ``ends`` those of the existing partitions.
    """
    for (topic, partition), next_ in sorted(read.items()):
        place = topic, partition
        if place not in ends:
            return f"The topic {topic}, of which offset {next_} of partition {partition} comes next, is gone."
        if ends[place] < next_:
            return f"The topic {topic} was made again: offset {next_} of partition {partition} comes next, but it ends at {ends[place]}."
        if begins[place] > next_:
            return (
                f"Kafka has removed records of the topic {topic} that were not read yet (retention): "
                f"offsets {next_} to {begins[place] - 1} of partition {partition}."
            )
    return None


def check_held(spark: SparkSession, config: MirrorConfig, checkpoint: Checkpoint) -> None:
    """Check that Kafka has the records that the stream reads next, unless ``failOnDataLoss`` is false. Raises JobError with the remedy."""
    if config.kafka.get("failOnDataLoss", "true").lower() == "false":
        return
    broker, read = Broker(spark, config.bootstrap, config.kafka), checkpoint.offsets()
    there = broker.topics(config.pattern)
    found = lost(read, broker.begins(there), broker.ends(there))
    if found is not None:
        remedy = (
            "Signal a blocking snapshot of its table to the connector (execute-snapshot, type blocking), then start once with "
            'failOnDataLoss = "false" in [kafka] and --rebuild of the table.'
        )
        raise JobError(UNREADABLE, f"{found} {remedy}")
