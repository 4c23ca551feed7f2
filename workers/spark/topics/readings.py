"""How the groups of a topic's records are read, and the changes that they hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.failure import TableError
from workers.spark.topics.events import Decoding, together, tombstones
from workers.spark.topics.layouts import Form, Layout
from workers.spark.topics.survey import Group
from workers.spark.topics.topic import LayoutPlace, Topic

MANY: Final = 2_000
"""A layout of which a batch has at least so many records will probably have many in later batches too."""
KEPT: Final = 100
"""The most layouts for which what decodes them is kept. Java keeps all its expressions meanwhile."""


def reading(topic: Topic, group: Group) -> tuple[Layout, Mapping[str, str]] | None:
    """A group's layout, and its names for the columns of the table's key; None if the group is skipped.

    Records with a former key of the table are skipped: a killed connector sent them again, and all of them were applied before the
    table's key changed.
    """
    if topic.state.aside is not None:
        return None
    value = topic.value_of(group.key_layout) if group.empty else group.layout
    layout = topic.layout(value, group.key_layout)
    # Records without a key may be truncates.
    if layout is None or not (topic.has_key(value, group.key_layout) or (group.key_layout is None and not group.empty)):
        return None
    return layout, topic.key_names(value, group.key_layout)


class Readings:
    """Decodes the changes of topics, batch after batch.

    What decodes a group of many records is kept for later ones: for a table of ten columns it is made by 190 calls to Java.
    """

    def __init__(self) -> None:
        self._kept: Final[dict[LayoutPlace, tuple[object, Decoding]]] = {}

    def changes(self, topic: Topic, groups: Sequence[Group], cut: DataFrame) -> DataFrame | None:
        """The changes of a topic's table in its newest layout, without skipped ones; None without changes.

        Raises TableError if the changes of a table without a key do not show which rows are new.
        """
        parts = []
        for group in groups:
            found = reading(topic, group)
            if found is None:
                continue
            layout, key = found
            if layout.form is Form.ROW and not topic.table.key and not {"__op", "__lsn", "__ts_ms"} <= {*layout.added}:
                raise TableError(
                    topic.table.full_name,
                    f"The topic {topic.name} holds flattened rows of a table without a key, and nothing tells new ones from changed or"
                    " repeated ones. Set add.fields=op,lsn,ts_ms,source.ts_ms in the transformation that flattens them, or leave the topic"
                    " out.",
                )
            if group.empty:
                mine = (F.col("topic") == topic.name) & F.col("key_layout").eqNullSafe(group.key_layout) & F.col("value").isNull()
                parts.append(tombstones(cut, mine, layout, topic.table, key))
            else:
                parts.append(self._decoding(topic, group, layout, key).changes(cut))
        return together(parts) if parts else None

    def _decoding(self, topic: Topic, group: Group, layout: Layout, key: Mapping[str, str]) -> Decoding:
        place, shape = (topic.name, group.layout, group.key_layout), topic.shape
        kept = self._kept.get(place)
        if kept is not None and kept[0] == shape:
            return kept[1]
        mine = (F.col("topic") == topic.name) & F.col("key_layout").eqNullSafe(group.key_layout)
        mine &= F.col("value").isNotNull() & F.col("layout").eqNullSafe(group.layout)
        made = Decoding(mine, layout, topic.table, topic.former(group.layout), key)
        if group.records >= MANY:
            if len(self._kept) >= KEPT:
                self._kept.clear()
            self._kept[place] = shape, made
        return made


def of_keys(records: DataFrame, topic: str, keys: Iterable[int | None]) -> DataFrame:
    """The topic's records with one of these key layouts."""
    among = reduce(Column.__or__, (F.col("key_layout").eqNullSafe(key) for key in keys))
    return records.where((F.col("topic") == topic) & among)
