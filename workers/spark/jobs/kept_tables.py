"""The tables that have the rows of topics: mirrors or histories. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workers.spark.jobs.history import history_table
from workers.spark.tables.table import Table
from workers.spark.topics.known import TopicState
from workers.spark.topics.layouts import Layout
from workers.spark.topics.topic import Topic
from workers.spark.topics.turns import in_force


@dataclass(frozen=True, slots=True)
class KeptTable:
    """``table`` has the rows of ``source``, a table of the source: it is the mirror, with the same name, or the history."""

    source: Table
    table: Table

    @property
    def is_history(self) -> bool:
        """Whether the table is a history."""
        return self.table.full_name != self.source.full_name


def kept_of(topics: Mapping[str, TopicState], layout: Callable[[str, str | None], Layout]) -> list[KeptTable]:
    """The tables that earlier batches have filled, in the order of the topics' names.

    Both the mirror and the history are listed for a state of an older version, which did not store which of them it is.
    """
    found = []
    for name, state in sorted(topics.items()):
        topic = Topic(name, in_force(state), layout)
        if topic.is_table and (state.kept is not None or state.followed is not None):
            both = (topic.table, history_table(topic.table))
            found += [KeptTable(topic.table, one) for one in both if state.kept in (None, one.full_name)]
    return found
