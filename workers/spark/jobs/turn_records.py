"""The records of a turn (:mod:`workers.spark.topics.turns`) of a batch, as they are before their tables' changes are planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from workers.spark.effects.in_driver import Held
from workers.spark.tables.later import Later
from workers.spark.topics.known import TopicState
from workers.spark.topics.readings import reading
from workers.spark.topics.survey import Group
from workers.spark.topics.topic import Topic
from workers.spark.topics.turns import Turn


@dataclass(frozen=True, slots=True)
class TurnRecords:
    """The records of a turn, grouped by topic and layout. ``ready`` are the cut records.

    ``states`` has all known topics. ``turns`` and ``topics`` have the topics of these records.
    """

    session: SparkSession
    ready: Later
    groups: Sequence[Group]
    states: Mapping[str, TopicState]
    turns: Mapping[str, Turn]
    topics: Sequence[Topic]
    held: Held | None
    """The records that the driver may decode."""
    divided: int
    """Below this number of changes, one task processes a topic."""

    @property
    def passed_over(self) -> int:
        """The number of records that are skipped."""
        return sum(group.records for topic in self.topics for group in self.turns[topic.name].groups if reading(topic, group) is None)
