"""The layouts of records: the table's columns, its key, and the reading of a payload.

A *layout* is one schema of a topic's values with one schema of its keys. JsonConverter embeds both; without embedded schemas the
columns come from the source's catalog or from the JSON itself. Other converters' schemas come from a registry. Each format has a
*reader* of its payloads; everything after it is the same for all formats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType, IntegerType, LongType, ShortType, StringType, StructField, StructType

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.tables.table import Column
from workers.spark.types import UNAVAILABLE, Sign, kind_of

SOURCE: Final = StructType(
    [
        StructField("ts_ms", LongType()),
        StructField("schema", StringType()),
        StructField("table", StringType()),
        StructField("txId", LongType()),
        StructField("lsn", LongType()),
        StructField("sequence", StringType()),
        StructField("snapshot", StringType()),
    ]
)
"""The fields of an event's source block that are read."""
_OF_CHANGES: Final = ("ts_ms", "txId", "lsn", "snapshot")
"""Those of them that a change has."""
TRANSACTION: Final = StructType(
    [StructField("id", StringType()), StructField("total_order", LongType()), StructField("data_collection_order", LongType())]
)
_NO_TABLES: Final = ("io.debezium.connector.", "io.debezium.schema.")
_CLOUD_EVENT: Final = frozenset({"specversion", "datacontenttype", "dataschema", "data"})
"""Fields of a CloudEvent in Avro. It must not be taken for a row of these columns."""
_PREFIX: Final = "__"
"""Event flattening puts this before the names of the fields it adds (``add.fields.prefix``)."""
ADDED: Final[Mapping[str, DataType]] = {
    "__op": StringType(),
    "__deleted": StringType(),
    "__lsn": LongType(),
    "__ts_ms": LongType(),
    "__source_ts_ms": LongType(),
}
"""The fields that are read."""


Reader = Callable[[SparkColumn, StructType], SparkColumn]
"""Reads a payload as a Spark type. Fields of the type that the payload lacks are null; a payload that is null stays null.

A value that does not fit its schema stops the job, because it must not become null.
"""


def read_json(payload: SparkColumn, of: StructType) -> SparkColumn:
    """The :data:`Reader` of JsonConverter's JSON."""
    return F.from_json(payload, of, {"mode": "FAILFAST"})


def read_json_key(payload: SparkColumn, of: StructType) -> SparkColumn:
    """As :func:`read_json`. A single number or text without escapes is not parsed: Spark makes a parser with a buffer of 8 KB for each key.

    The change of each of 100,000 events with such keys took 1.4 CPU-us less.
    """
    whole = read_json(payload, of)
    if len(of.fields) != 1 or not isinstance(of.fields[0].dataType, (ShortType, IntegerType, LongType, StringType)):
        return whole
    (field,) = of.fields
    mark = '"' if isinstance(field.dataType, StringType) else ""
    head, tail = f"{{{json.dumps(field.name, ensure_ascii=False)}:{mark}", f"{mark}}}"
    inner = F.substr(payload, F.lit(len(head) + 1), F.char_length(payload) - (len(head) + len(tail)))
    plain = payload.startswith(head) & payload.endswith(tail)
    if mark:
        plain &= (F.char_length(payload) >= len(head) + len(tail)) & ~inner.contains("\\") & ~inner.contains(mark)
    value = F.when(plain, inner.try_cast(field.dataType))
    return F.when(payload.isNotNull(), F.struct(F.coalesce(value, whole.getField(field.name)).alias(field.name)))


class Form(Enum):
    """The form of a change."""

    ENVELOPE = auto()
    """Debezium's own form: before, after, op, source."""
    ROW = auto()
    """The form after event flattening (``ExtractNewRecordState``): the row alone; a delete is a tombstone or has ``__deleted``."""


@dataclass(frozen=True, slots=True)
class Layout:
    """``columns`` are in the order of the schema. ``key`` has the columns of the key's schema, empty without a key."""

    form: Form
    columns: tuple[Column, ...]
    key: tuple[Column, ...]
    added: tuple[str, ...] = ()
    """Fields that event flattening added, with their prefix."""
    reads_value: Reader = read_json
    reads_key: Reader = read_json_key

    def filled(self, texts: Iterable[tuple[str, str]]) -> Layout:
        """The layout with ``filled`` set for these columns. ``texts``: (name, PostgreSQL's text of the value in older rows)."""
        found = dict(texts)
        return replace(self, columns=tuple(replace(column, filled=found.get(column.name)) for column in self.columns)) if found else self

    @property
    def signs(self) -> frozenset[Sign]:
        """The ways in which JSON may show that a value of the row was not sent again."""
        return frozenset(sign for column in self.columns for sign in column.kind.signs)

    @property
    def row_type(self) -> StructType:
        """The Spark type of a row."""
        return StructType([StructField(column.name, column.kind.raw) for column in self.columns])

    @property
    def key_type(self) -> StructType:
        """The Spark type of a key."""
        return StructType([StructField(column.name, column.kind.raw) for column in self.key])

    @property
    def value_type(self) -> StructType:
        """The Spark type of a payload."""
        if self.form is Form.ROW:
            return StructType([*self.row_type.fields, *(StructField(name, ADDED[name]) for name in self.added if name in ADDED)])
        return StructType(
            [
                StructField("before", self.row_type),
                StructField("after", self.row_type),
                StructField("op", StringType()),
                StructField("ts_ms", LongType()),
                StructField("source", SOURCE),
                StructField("transaction", TRANSACTION),
            ]
        )

    @property
    def change_type(self) -> StructType:
        """The part of :attr:`value_type` that a change is made of."""
        if self.form is Form.ROW:
            return self.value_type
        source = StructType([field for field in SOURCE.fields if field.name in _OF_CHANGES])
        kept = (StructField(field.name, source) if field.name == "source" else field for field in self.value_type if field.name != "before")
        return StructType(list(kept))

    def value_of(self, payload: SparkColumn) -> SparkColumn:
        """A payload read as :attr:`value_type`."""
        return self.reads_value(payload, self.value_type)

    def change_of(self, payload: SparkColumn) -> SparkColumn:
        """A payload read as :attr:`change_type`."""
        return self.reads_value(payload, self.change_type)

    def key_of(self, payload: SparkColumn) -> SparkColumn:
        """A key's payload read as :attr:`key_type`."""
        return self.reads_key(payload, self.key_type)


def connect_layout(value: Mapping[str, object], key: Mapping[str, object] | None, placeholder: str = UNAVAILABLE) -> Layout:
    """The layout of Connect's schemas (as JsonConverter embeds them). Raises JobError when the value's schema is not a table's."""
    fields = _fields(value)
    names = {str(field.get("field")): field for field in fields}
    keys = tuple(_column(field, placeholder) for field in _fields(key)) if key is not None and key.get("type") == "struct" else ()
    if {"op", "source", "after"} <= names.keys() and names["after"].get("type") == "struct":
        return Layout(Form.ENVELOPE, tuple(_column(field, placeholder) for field in _fields(names["after"])), keys)
    if value.get("type") != "struct":
        raise JobError(
            UNREADABLE, f"A value's schema is of type {value.get('type')!r}, not a table's row. Leave its topic out with topics."
        )
    if names.keys() >= _CLOUD_EVENT:
        raise JobError(UNREADABLE, "A value is a CloudEvent in Avro. Set format to cloud-events-avro.")
    added = tuple(name for name in names if name.startswith(_PREFIX))
    return Layout(Form.ROW, tuple(_column(field, placeholder) for name, field in names.items() if name not in added), keys, added)


def is_table(schema: Mapping[str, object]) -> bool:
    """Whether the schema can be a table's. Those of heartbeats, transactions, logical messages and notifications cannot."""
    return schema.get("type") == "struct" and not str(schema.get("name")).startswith(_NO_TABLES)


def _fields(schema: Mapping[str, object] | None) -> Sequence[Mapping[str, object]]:
    fields = (schema or {}).get("fields")
    return [field for field in fields if isinstance(field, Mapping)] if isinstance(fields, list) else []


def _column(field: Mapping[str, object], placeholder: str) -> Column:
    return Column(str(field["field"]), kind_of(field, placeholder), field.get("default"))
