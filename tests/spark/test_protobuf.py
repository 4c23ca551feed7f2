"""Records of Confluent's ProtobufConverter: what they show, and how nulls, defaults and names of types are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructType

from connector.converters.converter import ConverterChoice
from connector.converters.protobuf.indexes import index_bytes
from connector.converters.protobuf.mapping import protobuf_file
from connector.converters.protobuf.settings import ProtobufSettings
from connector.converters.protobuf.writer import value_writer
from connector.record.schema import BOOLEAN, BYTES, FLOAT32, FLOAT64, INT32, INT64, STRING, Schema
from tests.support.avro_cases import DATE, TIME, TIMESTAMP, array, mapping, struct
from tests.support.spark.converted_topic import FULL, TOPIC, RecordingRegistry, Written, changes, envelope, flat, rows
from tests.support.spark.local_frame import local_frame
from tests.support.spark.memory_sink import MemorySink
from tests.support.spark.topic_log import EPOCH, Record, frame
from workers.spark.changes import known_topic, typed
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror import Mirror
from workers.spark.source.catalog import CatalogColumn
from workers.spark.topics.formats import Format, json_format, protobuf_format
from workers.spark.topics.id_place import HASHED, IdPlace, SchemaName
from workers.spark.topics.known import Unreadable
from workers.spark.topics.protobuf.definition import message_at
from workers.spark.topics.protobuf.wire import read_message
from workers.spark.topics.registry import SchemaRegistry
from workers.spark.topics.topic import Topic
from workers.spark.types import UNAVAILABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JSON: Final = ConverterChoice("org.apache.kafka.connect.json.JsonConverter", {"replace.null.with.default": "false"})
COLUMNS: Final = [
    CatalogColumn("at", "timestamp", "b", -1, False),
    CatalogColumn("day", "date", "b", -1, False),
    CatalogColumn("document", "jsonb", "b", -1, False),
    CatalogColumn("small", "int4", "b", -1, False),
]
SIZES: Final = [0, 1, 127, 128, 129, 16_383, 16_384, 70_000]
NUMBERS: Final = [0, 1, 127, 128, -1, 2**31 - 1, -(2**31), 300]
EMPTY: Final[dict[str, Any]] = {name: [] for name in ("integers", "flags", "reals", "halves", "texts", "points")} | {"counts": {}}
WRAPPERS: Final = {"wrapper.for.nullables": "true"}


def protobuf(**options: str) -> ConverterChoice:
    given = {"schema.registry.url": "http://r", "ignore.default.for.nullables": "true", **options}
    return ConverterChoice("io.confluent.connect.protobuf.ProtobufConverter", given)


@pytest.fixture
def registry() -> Iterator[RecordingRegistry]:
    with RecordingRegistry() as running:
        yield running


def catalog(schema: str, table: str) -> list[CatalogColumn]:
    assert (schema, table) == ("public", "items")
    return COLUMNS


def without_nulls_in_arrays(values: Any, *, empty: bool = False) -> Any:
    """The changes as Protocol Buffers can have them: no null in an array, and no array or map that is null (``empty``)."""
    parts: dict[str, Any] = {"tags": [], "pairs": {}} if empty else {}

    def image(row: Any) -> Any:
        return row if row is None else {**row, **({"tags": ["a", ""]} if row["tags"] else parts)}

    def change(value: Any) -> Any:
        if value is None or "after" not in value:
            return image(value)
        return {**value, **{side: image(value[side]) for side in ("before", "after")}}

    return [(key, change(value)) for key, value in values]


def shown(spark: SparkSession, records: list[Record], form: Format) -> list[Row]:
    kafka = frame(spark, records)
    found = known_topic(kafka, TOPIC, form)
    assert isinstance(found, Topic), found
    collected: list[Row] = typed(form.cut(kafka), found).orderBy("position.offset").collect()
    return collected


def _values(schema: Schema, size: int, number: int) -> dict[str, Any]:
    """A value of each field: a text of ``size`` bytes, and numbers made of ``number``."""
    found = {
        "integers": [number, 2**62 + number, -number],
        "flags": [True, False, number > 0],
        "reals": [number / 8, -0.0],
        "halves": [0.5, number % 7],
        "texts": ["", "ä" * 3, "x" * size],
        "text": "x" * size,
        "number": number * 2**31,
        "small": number,
        "real": number / 3,
        "half": 0.25,
        "flag": number > 0,
        "octets": bytes([size % 256]) * (size % 300),
        "date": number % 30_000 - 200_000,
        "time": abs(number) % 86_400_000,
        "at": number * 1000 - 1,
        "points": [{"x": 0.0, "y": None}, {"x": 1.5, "y": number}],
        "counts": {number: "x", 0: None},
    }
    assert found.keys() == {field.name for field in schema.fields}
    return found


def _expected(value: dict[str, Any], nothing: str | None) -> dict[str, Any]:
    pairs = [[str(key), nothing if text is None else text] for key, text in value["counts"].items()]
    return {**value, "counts": pairs, "absent": None}


def test_protobuf_shows_the_same_changes(spark: SparkSession, registry: RecordingRegistry) -> None:
    choice = protobuf(**WRAPPERS)
    expected = shown(
        spark,
        Written(registry.resolve, JSON, JSON).records(envelope(), without_nulls_in_arrays(changes(), empty=True)),
        json_format(UNAVAILABLE, None),
    )
    form = protobuf_format(UNAVAILABLE, SchemaRegistry(registry.url, kind="PROTOBUF"), catalog)
    assert shown(spark, Written(registry.resolve, choice, choice).records(envelope(), without_nulls_in_arrays(changes())), form) == expected


def test_names_of_messages_are_cut(spark: SparkSession) -> None:
    """An id or a GUID, and the indexes after it."""
    guid = UUID("01234567-89ab-cdef-0123-456789abcdef")
    second, deep = index_bytes((1,)), index_bytes((0, 3, 300))
    cases: list[tuple[bytes | None, list[tuple[str, bytes]], int | None, bytes | None]] = [
        (b"\0\0\0\0\7\0\x08\1", [], 7, b"\x08\1"),
        (b"\0\0\0\0\7\0", [], 7, b""),
        (b"\0\0\0\0\7" + second + b"ab", [], None, b"ab"),
        (b"\0\0\0\0\7" + deep + b"abc", [], None, b"abc"),
        (b"\0xyz", [("__value_schema_id", b"\1" + guid.bytes + deep)], None, b"\0xyz"),
        (b"no id", [], None, b"no id"),
        (None, [("__value_schema_id", b"\1" + guid.bytes + b"\0")], None, None),
    ]
    records: list[Record] = [(TOPIC, 0, at, EPOCH, None, value, headers) for at, (value, headers, _, _) in enumerate(cases)]
    place = IdPlace(messages=True)
    found = place.cut(frame(spark, records)).orderBy("offset").collect()
    assert [None if row["value"] is None else bytes(row["value"]) for row in found] == [body for _, _, _, body in cases]
    layouts = [row["layout"] for row in found]
    assert [layout if layout is None or layout < HASHED else "hashed" for layout in layouts] == [7, 7, *["hashed"] * 3, None, None]
    assert len({*layouts}) == 5
    names = place.names(frame(spark, records[2:5]))
    expected = [SchemaName(7, (1,)), SchemaName(7, (0, 3, 300)), SchemaName(str(guid), (0, 3, 300))]
    assert [names[TOPIC, 0, at]["value"] for at in (2, 3, 4)] == expected


@pytest.mark.long
def test_flattened_rows_are_the_same(spark: SparkSession, registry: RecordingRegistry) -> None:
    choice = protobuf(**WRAPPERS)
    form = protobuf_format(UNAVAILABLE, SchemaRegistry(registry.url, kind="PROTOBUF"), catalog)
    known, written = without_nulls_in_arrays(rows(), empty=True), without_nulls_in_arrays(rows())
    expected = shown(spark, Written(registry.resolve, JSON, JSON).records(flat(), known), json_format(UNAVAILABLE, None))
    assert shown(spark, Written(registry.resolve, choice, choice).records(flat(), written), form) == expected


def test_definition_without_nulls_is_set_aside(spark: SparkSession, registry: RecordingRegistry) -> None:
    choice = protobuf()
    records = Written(registry.resolve, choice, choice).records(envelope(), without_nulls_in_arrays(changes())[:1])
    form = protobuf_format(UNAVAILABLE, SchemaRegistry(registry.url, kind="PROTOBUF"), None)
    found = known_topic(frame(spark, records), TOPIC, form)
    assert isinstance(found, Unreadable)
    assert "Set optional.for.nullables=true or wrapper.for.nullables=true in the converter" in found.reason


@pytest.mark.long
def test_every_scalar_is_read(spark: SparkSession) -> None:
    """Values at the limits of the forms of numbers and lengths, as labels and as wrappers write them."""
    schema = struct(
        "t.Values",
        integers=array(INT64),
        flags=array(BOOLEAN),
        reals=array(FLOAT64),
        halves=array(FLOAT32),
        texts=array(STRING),
        text=STRING.as_optional(),
        number=INT64.as_optional(),
        small=INT32.as_optional(),
        real=FLOAT64.as_optional(),
        half=FLOAT32.as_optional(),
        flag=BOOLEAN.as_optional(),
        octets=BYTES.as_optional(),
        date=DATE.as_optional(),
        time=TIME.as_optional(),
        at=TIMESTAMP.as_optional(),
        points=array(struct("t.Point", x=FLOAT64, y=INT32.as_optional())),
        counts=mapping(INT32, STRING.as_optional()),
    )
    wanted = StructType.fromDDL(
        "integers array<bigint>, flags array<boolean>, reals array<double>, halves array<float>, texts array<string>, text string, "
        "number bigint, small int, real double, half float, flag boolean, octets binary, date int, time int, at bigint, "
        "points array<struct<x: double, y: int>>, counts array<array<string>>, absent string"
    )
    values = [_values(schema, size, number) for size, number in zip(SIZES, NUMBERS, strict=True)]
    values.append(dict.fromkeys(values[0]) | EMPTY)
    for settings in (ProtobufSettings(wrappers=True), ProtobufSettings(optionals=True)):
        mapped, write = protobuf_file(schema, settings), value_writer(schema, settings)
        message = message_at(mapped.file.text(), mapped.indexes)
        frame_ = local_frame(spark, [(at, bytearray(write(value))) for at, value in enumerate(values)], "at int, octets binary")
        found = frame_.select("at", read_message(F.col("octets"), message, wanted).alias("r")).orderBy("at").collect()
        # A label has no place in an entry of a map, so null is the empty text there.
        nothing = None if settings.wrappers else ""
        assert [row["r"].asDict(recursive=True) for row in found] == [_expected(value, nothing) for value in values]


@pytest.mark.parametrize("octets", [b"\x0a", b"\x0a\x05abc", b"\x08", b"\x09\0\0", b"\x08\x80"])
def test_octets_of_another_message_stop_the_job(spark: SparkSession, octets: bytes) -> None:
    message = message_at("message A { string a = 1; }", (0,))
    read = local_frame(spark, [(bytearray(octets),)], "o binary").select(read_message(F.col("o"), message, StructType.fromDDL("a string")))
    with pytest.raises(Exception, match=r"does not fit its schema of Protocol Buffers|MALFORMED|EOF"):
        read.collect()


@pytest.mark.long
def test_mirror_has_the_rows(spark: SparkSession, registry: RecordingRegistry, tmp_path: Path) -> None:
    choice, sink = protobuf(**WRAPPERS), MemorySink(spark)
    form = protobuf_format(UNAVAILABLE, SchemaRegistry(registry.url, kind="PROTOBUF"), catalog)
    batches = Batches(Checkpoint(spark, str(tmp_path)), form, sink, Mirror(sink))
    records = Written(registry.resolve, choice, choice).records(envelope(), without_nulls_in_arrays(changes()))
    batches.apply(frame(spark, records[:3]), 0)
    assert [(row["id"], row["name"], row["small"]) for row in sink.rows()] == [(1, FULL["name"], 4), (2, None, 0)]
    batches.apply(frame(spark, records[3:]), 1)
    assert sink.rows() == []
