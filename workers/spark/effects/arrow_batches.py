"""Decodes batches of JSON in the driver, in Python: the last change of each key, or the new rows of a table without a key.

Spark's ``from_json`` decodes a record in 5 CPU-us if Java has compiled the code for its schema, and in many times as much before that. Here
a change that a later one of the batch replaces is not decoded, and ``orjson`` needs no preparation for a schema. What follows ``from_json``
is Spark's own, as in :mod:`workers.spark.effects.small_batches`: the columns are computed by the same expressions, without a job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import BooleanType, IntegerType, LongType, ShortType, StringType, StructField, StructType

from workers.spark.effects.places import positioned
from workers.spark.effects.reduction import removed
from workers.spark.effects.small_batches import Reading, special
from workers.spark.fallback import Fallbacks
from workers.spark.tables.local_rows import JavaRows, NotLocal, Projection, attributes_of, effects_kind, gathered, local_frame, local_rows
from workers.spark.tables.table import DELETE, UPSERT, Effects
from workers.spark.topics.arrow_records import ArrowRecords
from workers.spark.topics.events import fitted_key, fitted_row
from workers.spark.topics.layouts import Form, Layout, read_json
from workers.spark.topics.survey import Group
from workers.spark.topics.topic import Topic
from workers.spark.types.arrow_columns import OtherJson, arrow_column, arrow_rows
from workers.spark.types.kind import same

PLANS: Final = 4_000
"""The most projections that are kept. There is one for each layout of a topic, and one for the layout's tombstones."""
_KEYS: Final = (ShortType, IntegerType, LongType, StringType)
"""The types of key columns of which JsonConverter writes each value in one way only."""
_OPS: Final = frozenset("crud")
_NEW: Final = frozenset("cr")


class _Unfit(Exception):  # noqa: N818 - a condition, which is handled here
    """The records of this batch need Spark's functions."""


class ArrowBatches:
    """Decodes the parts of batches, and keeps the projections for the next ones."""

    def __init__(self) -> None:
        self._plans: dict[object, Projection] = {}
        self._others: set[object] = set()
        """The layouts of which a value had another form than JsonConverter's. Spark decodes their records from then on."""
        self._fallbacks: Final = Fallbacks("The decoding of rows")

    def effects(self, session: SparkSession, records: ArrowRecords, topic: Topic, readings: Sequence[Reading]) -> Effects | None:
        """A topic's effects; None if Spark must decode its records.

        It must if a change may not have its whole row, if something is truncated, or if the columns or the key change in the batch; also if
        a table's key has other types than whole numbers and text, and if several new rows of a table without a key have the same LSN.
        """
        if not readings or topic.passed or any(_for_spark(topic, *reading) for reading in readings):
            return None
        layouts = {(topic.name, group.layout, group.key_layout) for group, _, _ in readings}
        if not layouts.isdisjoint(self._others):
            return None
        try:
            parts = [_Part(topic, reading, records.of(reading[0])) for reading in readings]
            chosen = _last(parts) if topic.table.key else _new(parts)
            made = [self._made(session, part, places) for part, places in zip(parts, chosen, strict=True) if places]
        except _Unfit:
            return None
        except OtherJson:
            self._others |= layouts
            return None
        except TypeError as error:
            # A value that cannot be compared, in a field that is not a column. It might be an error of this module too.
            self._others |= layouts
            self._fallbacks.report(topic.table.full_name, error)
            return None
        except (NotLocal, Py4JError, PySparkException, pa.ArrowException) as error:
            self._fallbacks.report(topic.table.full_name, error)
            return None
        rows = local_frame(session, attributes_of(session, effects_kind(topic.table)), gathered(session, made))
        return Effects(topic.table, rows, former=topic.known, forms=topic.forms)

    def _made(self, session: SparkSession, part: _Part, places: Sequence[int]) -> JavaRows:
        """The effects of the records at these places."""
        # Spark would take a struct of SRID and bytes for its own type of geometries if it had to find the types.
        frame = session.createDataFrame(part.read(places), part.kind)
        rows = local_rows(frame)
        if rows is None:
            # They have more bytes than spark.sql.execution.arrow.localRelationThreshold.
            raise _Unfit
        identity = (part.group.topic, part.group.layout, part.group.key_layout, part.group.empty, part.topic.shape)
        plan = self._plans.get(identity)
        if plan is None:
            plan = Projection(session, frame.schema, part.effects)
            if len(self._plans) >= PLANS:
                self._plans.clear()
            self._plans[identity] = plan
        return plan.run(rows)


class _Part:
    """The records of a group, and how they are read."""

    def __init__(self, topic: Topic, reading: Reading, records: pa.Table) -> None:
        self.topic: Final = topic
        self.group, self._layout, self._key = reading
        self.records: Final = records
        self._events: list[Mapping[str, Any]] | None = None
        """The values of all records, if they have been read."""

    def events(self) -> list[Mapping[str, Any]]:
        """The values of all records."""
        if self._events is None:
            self._events = [{}] * len(self.records) if self.group.empty else _events(self.records["value"])
        return self._events

    def taken(self, name: str, places: Sequence[int]) -> pa.ChunkedArray:
        """A column of the records at these places."""
        return self.records[name].take(pa.array(places, pa.int64()))

    def keys(self, places: Sequence[int]) -> list[Mapping[str, Any]]:
        """The keys of the records at these places."""
        return _objects(self.taken("key", places))

    def identities(self, places: Sequence[int]) -> list[tuple[Any, ...]]:
        """The values of the columns of the table's key, of the records at these places."""
        names = [self._key[name] for name in self.topic.table.key]
        return [tuple(key.get(name) for name in names) for key in self.keys(places)]

    def _at(self, places: Sequence[int]) -> list[Mapping[str, Any]]:
        """The values of the records at these places."""
        if self._events is not None or self.group.empty:
            return [self.events()[at] for at in places]
        return _events(self.taken("value", places))

    def read(self, places: Sequence[int]) -> pa.Table:
        """The columns that :meth:`effects` needs, of the records at these places."""
        key = self._layout.key
        known = arrow_rows(self.keys(places), self._layout.key_type) if key else pa.nulls(len(places), pa.bool_())
        events = self._at(places)
        sources, blocks = ([_object(event.get(name)) for event in events] for name in ("source", "transaction"))
        rows = [None if event.get("op") == "d" else _image(event) for event in events]
        return pa.table(
            {
                "known": known,
                "op": pa.array(["d" if self.group.empty else event["op"] for event in events], pa.string()),
                "image": arrow_rows(rows, self._layout.row_type),
                "lsn": arrow_column([source.get("lsn") for source in sources], LongType()),
                "tx": arrow_column([source.get("txId") for source in sources], LongType()),
                "total_order": arrow_column([block.get("total_order") for block in blocks], LongType()),
                **{name: self.taken(name, places) for name in ("partition", "offset")},
            }
        )

    @property
    def kind(self) -> StructType:
        """The types of the columns of :meth:`read`."""
        return StructType(
            [
                StructField("known", self._layout.key_type if self._layout.key else BooleanType()),
                StructField("op", StringType()),
                StructField("image", self._layout.row_type),
                *(StructField(name, LongType()) for name in ("lsn", "tx", "total_order")),
                StructField("partition", IntegerType()),
                StructField("offset", LongType()),
            ]
        )

    def effects(self, rows: DataFrame) -> DataFrame:
        """The columns of :class:`Effects`, of rows that :meth:`read` has made."""
        table, image = self.topic.table, F.col("image")
        row = F.when(image.isNotNull(), F.struct(*fitted_row(image, self._layout, table, self.topic.former(self.group.layout))))
        if not table.key:
            return positioned(rows.select("op", "lsn", "tx", "partition", "offset", "total_order", row.alias("row")))
        return rows.select(
            F.when(F.col("op") == "d", F.lit(DELETE)).otherwise(F.lit(UPSERT)).alias("op"),
            fitted_key(self._layout, table, self._key).alias("key"),
            row.alias("row"),
            F.array().cast("array<string>").alias("kept"),
            "lsn",
        )

    def removed(self) -> Sequence[bool]:
        """Which of the records an earlier batch's truncate has removed."""
        truncates = self.topic.state.truncates
        if not truncates:
            return [False] * len(self.records)
        places = zip(self.records["partition"].to_pylist(), self.records["offset"].to_pylist(), strict=True)
        read = zip(self.events(), places, strict=True)
        return [removed(truncates, *place, _object(event.get("source")), event.get("op")) for event, place in read]


def _for_spark(topic: Topic, group: Group, layout: Layout, key: Mapping[str, str]) -> bool:
    """Whether Spark must decode records of the group. Pure."""
    table = topic.table
    if special(group, table) or layout.form is not Form.ENVELOPE or layout.reads_value is not read_json:
        return True
    if not table.key:
        return bool(group.begins)
    there, columns = {column.name: column.kind for column in layout.key}, {column.name: column.kind for column in table.columns}
    kinds = [(there[key[name]], columns[name]) for name in table.key]
    return not all(old.decode is same and old.type == new.type and isinstance(new.type, _KEYS) for old, new in kinds)


def _last(parts: Sequence[_Part]) -> list[list[int]]:
    """Of each part the places of those records that are the last ones of their keys. Records without a key have no effect.

    Raises _Unfit if a key has several texts, as after a change of a column's name, or if several converters write to the topic.
    """
    last: dict[str, tuple[int, int, int]] = {}
    for at, part in enumerate(parts):
        keys, offsets = (part.records[name].to_pylist() for name in ("key", "offset"))
        for place, (key, offset, gone) in enumerate(zip(keys, offsets, part.removed(), strict=True)):
            if key is not None and not gone and (key not in last or last[key][0] < offset):
                last[key] = (offset, at, place)
    found: list[list[int]] = [[] for _ in parts]
    for _, at, place in last.values():
        found[at].append(place)
    if len({one for part, places in zip(parts, found, strict=True) for one in part.identities(places)}) < len(last):
        raise _Unfit
    return found


def _new(parts: Sequence[_Part]) -> list[list[int]]:
    """Of each part the places of new rows. Raises _Unfit if their names depend on others (:mod:`workers.spark.effects.places`)."""
    found, names = [], []
    for part in parts:
        events = part.events()
        places = [at for at, (event, gone) in enumerate(zip(events, part.removed(), strict=True)) if event["op"] in _NEW and not gone]
        found.append(places)
        for event in (events[at] for at in places if events[at]["op"] == "c"):
            source = _object(event.get("source"))
            if source.get("lsn") is not None:
                names.append((source["lsn"], source.get("txId"), _object(event.get("transaction")).get("total_order")))
    if len({*names}) < len(names):
        raise _Unfit
    return found


def _events(texts: pa.ChunkedArray) -> list[Mapping[str, Any]]:
    found = _objects(texts)
    if not {event.get("op") for event in found} <= _OPS:
        raise OtherJson
    return found


def _objects(texts: pa.ChunkedArray) -> list[Mapping[str, Any]]:
    try:
        found = [orjson.loads(text) for text in texts.to_pylist()]
    except orjson.JSONDecodeError as error:
        raise OtherJson from error
    return [_object(one) for one in found]


def _object(value: Any) -> Mapping[str, Any]:
    """A value that must be an object or null."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise OtherJson
    return value


def _image(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = event.get("after")
    return None if found is None else _object(found)
