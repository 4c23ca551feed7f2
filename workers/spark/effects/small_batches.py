"""Decodes small batches in the driver's memory, by plans that are kept from batch to batch.

A small batch's records are collected by one job for all topics. Each topic's part is then decoded without a job, by the same expressions as
in a large batch (:mod:`workers.spark.topics.events`), and reduced to the last change of each key.

A part is decoded in this way if each change has the whole row: no value was left out, no row moves, nothing is truncated, and the table's
columns and key stay as they are. All other parts are planned as those of large batches.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructType

from workers.spark.effects.moves import held_columns
from workers.spark.effects.reduction import removed
from workers.spark.fallback import Fallbacks
from workers.spark.tables.later import Later
from workers.spark.tables.local_rows import (
    JavaRows,
    NotLocal,
    Projection,
    attributes_of,
    chosen,
    collected,
    effects_kind,
    joined_text,
    key_text,
    keyable,
    local_frame,
)
from workers.spark.tables.table import DELETE, UPSERT, Effects, Table
from workers.spark.topics.events import GONE, Decoding, key_columns, tombstones
from workers.spark.topics.layouts import Layout
from workers.spark.topics.survey import Group
from workers.spark.topics.topic import Topic

RECORDS: Final = 2_000
"""The most records of a small batch. Each of them costs several calls from Python to Java."""
OCTETS: Final = 8 * 1024 * 1024
"""The most bytes of a small batch."""
PLANS: Final = 4_000
"""The most plans that are kept. There is one for each layout of a topic, and one for the layout's tombstones."""
GroupId = tuple[str, int | None, int | None, bool]
Reading = tuple[Group, Layout, Mapping[str, str]]
"""A group, its layout, and its names for the columns of the table's key."""


@dataclass(frozen=True, slots=True)
class Few:
    """The cut records of a small batch, by group."""

    session: SparkSession
    kind: StructType
    rows: Mapping[GroupId, JavaRows]


@dataclass(frozen=True, slots=True)
class _Plan:
    """``projection`` makes of cut records a text for each change (:func:`_reduced`), then columns that ``attributes`` describe."""

    projection: Projection
    attributes: Any


@dataclass(frozen=True, slots=True)
class _Change:
    """A decoded change: where it is in Kafka, its commit, and its place in ``rows``."""

    partition: int
    offset: int
    lsn: int | None
    ts_ms: int | None
    key: str
    rows: int
    place: int


def few(ready: DataFrame, groups: Sequence[Group]) -> Few | None:
    """The records if they are few. ``groups`` are those of ``ready``."""
    records = sum(group.records for group in groups)
    if not records or records > RECORDS or sum(group.octets for group in groups) > OCTETS:
        return None
    ordered = ready.coalesce(1).sortWithinPartitions("topic", "layout", "key_layout", F.col("value").isNull())
    rows, begin = collected(ordered), 0
    found: dict[GroupId, JavaRows] = {}
    for group in sorted(groups, key=_order):
        found[_id(group)] = rows.slice(begin, begin + group.records)
        begin += group.records
    return Few(ready.sparkSession, ready.schema, found)


def _order(group: Group) -> tuple[bytes, bool, int, bool, int, bool]:
    """Spark's order of texts and numbers: by bytes, and nulls first."""
    value, key = group.layout, group.key_layout
    return group.topic.encode(), value is not None, value or 0, key is not None, key or 0, group.empty


def _id(group: Group) -> GroupId:
    return group.topic, group.layout, group.key_layout, group.empty


class SmallBatches:
    """Decodes the parts of small batches, and keeps the plans for the next ones."""

    def __init__(self) -> None:
        self._plans: dict[object, _Plan] = {}
        self._fallbacks: Final = Fallbacks("The decoding of rows")

    def effects(self, records: Few, topic: Topic, readings: Sequence[Reading]) -> Effects | None:
        """A topic's effects, one for each key that changed; None if the part must be planned as that of a large batch."""
        table = topic.table
        if not readings or topic.passed or not keyable(table) or any(special(group, table) for group, _, _ in readings):
            return None
        try:
            return self._effects(records, topic, readings)
        except (NotLocal, Py4JError, PySparkException) as error:
            # A record that cannot be decoded is described by the way of large batches.
            self._fallbacks.report(table.full_name, error)
            return None

    def _effects(self, records: Few, topic: Topic, readings: Sequence[Reading]) -> Effects:
        session, rows = records.session, []
        last: dict[str, _Change] = {}
        plans = [self._plan(records, topic, reading) for reading in readings]
        for at, (reading, plan) in enumerate(zip(readings, plans, strict=True)):
            made = plan.projection.run(records.rows[_id(reading[0])])
            for change in _changes(plan.projection.texts(made, 0), at):
                known = last.get(change.key)
                if not removed(topic.state.truncates, change.partition, change.offset, {"lsn": change.lsn, "ts_ms": change.ts_ms}) and (
                    known is None or known.offset < change.offset
                ):
                    last[change.key] = change
            rows.append(plan.projection.columns(made, range(1, 6)))
        firsts = [0, *accumulate(int(one.size()) for one in rows)]
        found = chosen(session, rows, sorted(firsts[change.rows] + change.place for change in last.values()))
        rows = local_frame(session, plans[0].attributes, found)
        return Effects(topic.table, Later.of(rows), former=topic.known, forms=topic.forms)

    def _plan(self, records: Few, topic: Topic, reading: Reading) -> _Plan:
        group, layout, key = reading
        # The layouts, in the order of their commits, decide the table's columns and their former names.
        ordered = sorted(topic.state.layouts, key=lambda known: known.newest)
        identity = (_id(group), topic.state.table, tuple((known.value, known.key, known.filled) for known in ordered))
        plan = self._plans.get(identity)
        if plan is None:
            session = records.session
            projection = Projection(session, records.kind, lambda cut: _reduced(_decoded(cut, topic, group, layout, key), topic.table))
            plan = _Plan(projection, attributes_of(session, effects_kind(topic.table)))
            if len(self._plans) >= PLANS:
                self._plans.clear()
            self._plans[identity] = plan
        return plan


def special(group: Group, table: Table) -> bool:
    """Whether the group may have changes without whole rows, or truncates."""
    return group.placeholders or group.truncates or (group.moves and bool(held_columns(table)))


def _decoded(cut: DataFrame, topic: Topic, group: Group, layout: Layout, key: Mapping[str, str]) -> DataFrame:
    mine = F.lit(True)
    if group.empty:
        return tombstones(cut, mine, layout, topic.table, key)
    return Decoding(mine, layout, topic.table, topic.former(group.layout), key).changes(cut)


def _reduced(changes: DataFrame, table: Table) -> DataFrame:
    """One text that describes the change, then the columns of :class:`Effects`."""
    columns = key_columns(table)
    key = key_text([F.col("key").getField(column.name) for column in columns], [column.kind.type for column in columns])
    gone = F.col("op").isin(*GONE)
    described = ("partition", "offset", "lsn", "ts_ms")
    return changes.select(
        joined_text(
            [*(F.col(name).cast("string") for name in described), F.when(F.col("key").isNotNull() & (F.col("op") != "t"), key)]
        ).alias("described"),
        F.when(gone, F.lit(DELETE)).otherwise(F.lit(UPSERT)).alias("op"),
        "key",
        F.when(~gone, F.col("row")).alias("row"),
        F.array().cast("array<string>").alias("kept"),
        F.col("lsn").cast("bigint").alias("lsn"),
    )


def _changes(texts: Sequence[str], rows: int) -> Iterator[_Change]:
    """The changes of rows with a key. Others have no effect."""
    for place, text in enumerate(texts):
        partition, offset, lsn, ts_ms, key = json.loads(text)
        if key is not None:
            yield _Change(
                int(partition), int(offset), None if lsn is None else int(lsn), None if ts_ms is None else int(ts_ms), key, rows, place
            )
