"""Decodes batches of JSON in the driver, in Python: the last change of each key, or the new rows of a table without a key.

Spark's ``from_json`` decodes a record in 5 CPU-us if Java has compiled the code for its schema, and in many times as much before that. Here
a change that a later one of the batch replaces is not decoded, and ``orjson`` needs no preparation for a schema.

What follows ``from_json`` is Spark's own, as in :mod:`workers.spark.effects.small_batches`: the columns are computed by the same
expressions, without a job. For a sink that takes rows in Arrow, Python computes these columns too, if it knows how; Spark does it then only
if the sink asks for its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import BooleanType, IntegerType, LongType, ShortType, StringType, StructField, StructType

from workers.spark.effects.arrow_names import NotNamed, nameable, names, same_settings
from workers.spark.effects.places import positioned
from workers.spark.effects.reduction import removed
from workers.spark.effects.small_batches import Reading, special
from workers.spark.fallback import Fallbacks
from workers.spark.tables.arrow_rows import ArrowRows
from workers.spark.tables.later import Later
from workers.spark.tables.local_rows import JavaRows, NotLocal, Projection, attributes_of, effects_kind, gathered, local_frame, local_rows
from workers.spark.tables.table import DELETE, LSN, POSITION, UPSERT, Effects, Table
from workers.spark.topics.arrow_records import ArrowRecords
from workers.spark.topics.events import fitted_key, fitted_row, together
from workers.spark.topics.layouts import Form, Layout, read_json
from workers.spark.topics.survey import Group
from workers.spark.topics.topic import Topic
from workers.spark.types.arrow_columns import OtherJson, arrow_column, arrow_rows
from workers.spark.types.arrow_values import NotInArrow
from workers.spark.types.kind import same

PLANS: Final = 4_000
"""The most projections that are kept. There is one for each layout of a topic, and one for the layout's tombstones."""
_KEYS: Final = (ShortType, IntegerType, LongType, StringType)
"""The types of key columns of which JsonConverter writes each value in one way only."""
_AT_ONCE: Final = 10_000
"""So many events are in memory as Python's objects, which take ten times as much as their text."""
_OPS: Final = frozenset("crud")
_NEW: Final = pa.array(["c", "r"])
_NAMED: Final = ("lsn", "tx", "total_order")
"""What the name of a row that was inserted while streaming begins with, or has instead of a hash."""


class _Unfit(Exception):  # noqa: N818 - a condition, which is handled here
    """The records of this batch need Spark's functions."""


class ArrowBatches:
    """Decodes the parts of batches, and keeps the projections for the next ones. ``in_arrow``: the sink takes rows in Arrow."""

    def __init__(self, *, in_arrow: bool = False) -> None:
        self._in_arrow: Final = in_arrow
        self._same_names: bool | None = None
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
            read = _last(parts) if topic.table.key else _new(parts)
            arrow = _in_arrow(read) if self._in_arrow and (topic.table.key or self._names(session)) else None
            if arrow is None:
                rows = Later.of(self._rows(session, topic.table, read))
            else:
                rows = Later(lambda: self._asked(session, topic.table, read), session)
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
        return Effects(topic.table, rows, former=topic.known, forms=topic.forms, arrow=arrow)

    def _names(self, session: SparkSession) -> bool:
        """Whether Python names rows as Spark does with the stream's settings, which stay as they are."""
        if self._same_names is None:
            self._same_names = same_settings(session)
        return self._same_names

    def _rows(self, session: SparkSession, table: Table, read: Sequence[tuple[_Part, pa.Table]]) -> DataFrame:
        """The effects, in the driver's memory. Raises _Unfit if Arrow's rows have too many bytes for it."""
        made = [self._made(session, part, rows) for part, rows in read]
        return local_frame(session, attributes_of(session, effects_kind(table)), gathered(session, made))

    def _asked(self, session: SparkSession, table: Table, read: Sequence[tuple[_Part, pa.Table]]) -> DataFrame:
        """As :meth:`_rows`, but a job computes them if they have too many bytes."""
        try:
            return self._rows(session, table, read)
        except _Unfit:
            return together([part.effects(_frame(session, part, rows)) for part, rows in read])

    def _made(self, session: SparkSession, part: _Part, read: pa.Table) -> JavaRows:
        frame = _frame(session, part, read)
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

    def events(self, places: Sequence[int]) -> list[Mapping[str, Any]]:
        """The values of the records at these places."""
        return [{}] * len(places) if self.group.empty else _events(self.taken("value", places))

    def read(self, places: Sequence[int]) -> pa.Table:
        """The columns that :meth:`effects` needs, of the records at these places."""
        return pa.concat_tables(map(self._read, _some(places))).combine_chunks()

    def _read(self, places: Sequence[int]) -> pa.Table:
        key = self._layout.key
        known = arrow_rows(self.keys(places), self._layout.key_type) if key else pa.nulls(len(places), pa.bool_())
        events = self.events(places)
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

    def in_arrow(self, read: pa.Table) -> ArrowRows | None:
        """The effects of rows that :meth:`read` has made; None if only Spark can compute them. Raises NotInArrow and NotNamed."""
        table, columns = self.topic.table, self._columns(read)
        if columns is None:
            return None
        if table.key:
            known = _fields(read["known"], self._layout.key_type)
            keys, own = {name: known[self._key[name]] for name in table.key}, {LSN: read["lsn"]}
        else:
            row = StructType([StructField(column.name, column.kind.type) for column in table.columns])
            # Spark names a row that is null too.
            if read["image"].null_count or not nameable(row):
                return None
            records = (read[name].to_pylist() for name in ("op", "lsn", "tx", "partition", "offset", "total_order"))
            keys = {POSITION: names(pa.table(columns), *records)}
            own = {LSN: read["lsn"], **keys}
        return ArrowRows(pc.not_equal(read["op"], "d"), pa.table(keys), pa.table({**columns, **own}))

    def _columns(self, read: pa.Table) -> Mapping[str, pa.Array] | None:
        """The table's columns. None and NotInArrow as above."""
        table, former = self.topic.table, self.topic.former(self.group.layout)
        if read["image"].null_count == len(read):
            # Deletes have no row, and a tombstone's layout is that of its key.
            return {column.name: pa.nulls(len(read), to_arrow_type(column.kind.type, timestamp_utc=True)) for column in table.columns}
        image, there = _fields(read["image"], self._layout.row_type), {column.name: column for column in self._layout.columns}
        found: dict[str, pa.Array] = {}
        for column in table.columns:
            old = there.get(former.get(column.name, ""))
            if old is None or old.kind.type != column.kind.type or old.kind.in_arrow is None:
                return None
            found[column.name] = old.kind.in_arrow(image[old.name])
        return found

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
        events = (event for some in _some(range(len(self.records))) for event in self.events(some))
        read = zip(events, places, strict=True)
        return [removed(truncates, *place, _object(event.get("source")), event.get("op")) for event, place in read]


def _in_arrow(read: Sequence[tuple[_Part, pa.Table]]) -> ArrowRows | None:
    """The effects in Arrow; None if Spark must compute them."""
    try:
        made = [part.in_arrow(rows) for part, rows in read]
    except (NotInArrow, NotNamed):
        return None
    found = [one for one in made if one is not None]
    if not found or len(found) < len(made):
        return None
    new = [chunk for one in found for chunk in one.new.chunks]
    return ArrowRows(pa.chunked_array(new), pa.concat_tables(one.keys for one in found), pa.concat_tables(one.columns for one in found))


def _some(places: Sequence[int]) -> Iterator[Sequence[int]]:
    """The places, :data:`_AT_ONCE` at once; once none if there are none."""
    return (places[at : at + _AT_ONCE] for at in range(0, max(len(places), 1), _AT_ONCE))


def _frame(session: SparkSession, part: _Part, read: pa.Table) -> DataFrame:
    # Spark would take a struct of SRID and bytes for its own type of geometries if it had to find the types.
    return session.createDataFrame(read, part.kind)


def _fields(column: pa.ChunkedArray, of: StructType) -> Mapping[str, pa.Array]:
    """The fields of a column of structs by their names. They are null where the struct is."""
    return dict(zip(of.names, column.combine_chunks().flatten(), strict=True))


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


def _last(parts: Sequence[_Part]) -> list[tuple[_Part, pa.Table]]:
    """Of each part what :meth:`_Part.read` has of the last records of their keys. Records without a key have no effect.

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
    return [(part, part.read(places)) for part, places in zip(parts, found, strict=True) if places]


def _new(parts: Sequence[_Part]) -> list[tuple[_Part, pa.Table]]:
    """The same of new rows. Raises _Unfit if their names depend on others (:mod:`workers.spark.effects.places`)."""
    found = []
    for part in parts:
        rows = part.read(range(len(part.records)))
        new = pc.and_not(pc.is_in(rows["op"], _NEW), pa.array(part.removed(), pa.bool_()))
        found.append((part, rows.filter(new)))
    streamed = pa.concat_tables(
        rows.filter(pc.and_(pc.equal(rows["op"], "c"), pc.is_valid(rows["lsn"]))).select(_NAMED) for _, rows in found
    )
    if streamed.group_by(_NAMED).aggregate([]).num_rows < len(streamed):
        raise _Unfit
    return [(part, rows) for part, rows in found if len(rows)]


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
