"""Avro records as AvroConverter 7.x writes Debezium's: schemas written by hand after ``AvroData``, values by Spark's own to_avro."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.avro.functions import to_avro
from pyspark.sql.types import BinaryType, LongType, StructType

from tests.support.spark.local_frame import local_frame
from workers.spark.failure import JobError
from workers.spark.topics.avro import connect_schema, read_avro, schema_id, shape_of
from workers.spark.types import kind_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Json = dict[str, object]


def reported(kind: str, name: str, **more: object) -> Json:
    return {"type": kind, **more, "connect.version": 1, "connect.name": name}


def maybe(of: object) -> list[object]:
    return ["null", of]


def field(name: str, of: object, **more: object) -> Json:
    return {"name": name, "type": of, **more}


PRICE = {
    "type": "bytes",
    "scale": 2,
    "precision": 10,
    "connect.version": 1,
    "connect.parameters": {"scale": "2", "connect.decimal.precision": "10"},
    "connect.default": "\u0000\u00c8",
    "connect.name": "org.apache.kafka.connect.data.Decimal",
    "logicalType": "decimal",
}
# Without a precision AvroConverter writes 64, which is more than Spark's decimals have.
MONEY = {
    "type": "bytes",
    "scale": 2,
    "precision": 64,
    "connect.version": 1,
    "connect.parameters": {"scale": "2"},
    "connect.name": "org.apache.kafka.connect.data.Decimal",
    "logicalType": "decimal",
}
VARIABLE = {
    "type": "record",
    "name": "VariableScaleDecimal",
    "namespace": "io.debezium.data",
    "fields": [field("scale", "int"), field("value", "bytes")],
    "connect.doc": "Variable scaled decimal",
    "connect.version": 1,
    "connect.name": "io.debezium.data.VariableScaleDecimal",
}
ENTRY = {
    "type": "record",
    "name": "MapEntry",
    "namespace": "io.confluent.connect.avro",
    "fields": [field("key", {"type": "int", "connect.type": "int16"}), field("value", "double")],
}
SPARSE = {
    "type": "record",
    "name": "SparseDoubleVector",
    "namespace": "io.debezium.data",
    "fields": [field("dimensions", {"type": "int", "connect.type": "int16"}), field("vector", {"type": "array", "items": ENTRY})],
    "connect.version": 1,
    "connect.name": "io.debezium.data.SparseDoubleVector",
}
OWN = {"type": "record", "name": "Own", "namespace": "app", "fields": [field("a", "int"), field("b", maybe("bytes"), default=None)]}
ROW = {
    "type": "record",
    "name": "Value",
    "fields": [
        field("id", "int"),
        field("small", {"type": "int", "connect.type": "int16"}),
        field("name", maybe("string"), default=None),
        # With a default, null comes second.
        field("price", [PRICE, "null"], default="\u0000\u00c8"),
        field("money", maybe(MONEY), default=None),
        field("any", maybe(VARIABLE), default=None),
        field("also", maybe("io.debezium.data.VariableScaleDecimal"), default=None),
        field("data", maybe("bytes"), default=None),
        field("at", maybe(reported("long", "io.debezium.time.MicroTimestamp")), default=None),
        field("day", maybe(reported("int", "org.apache.kafka.connect.data.Date", logicalType="date")), default=None),
        field("tags", maybe({"type": "array", "items": maybe("string")}), default=None),
        field("moments", maybe({"type": "array", "items": maybe(reported("long", "io.debezium.time.MicroTime"))}), default=None),
        field("pairs", maybe({"type": "map", "values": maybe("string")}), default=None),
        field("sparse", maybe(SPARSE), default=None),
        field("own", maybe(OWN), default=None),
    ],
    "connect.name": "shop.public.items.Value",
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "namespace": "shop.public.items",
    "fields": [
        field("before", maybe(ROW), default=None),
        field("after", maybe("Value"), default=None),
        field(
            "source",
            {
                "type": "record",
                "name": "Source",
                "namespace": "io.debezium.connector.postgresql",
                "fields": [
                    field(
                        "snapshot", [reported("string", "io.debezium.data.Enum", **{"connect.default": "false"}), "null"], default="false"
                    ),
                    field("schema", "string"),
                    field("lsn", maybe("long"), default=None),
                ],
                "connect.name": "io.debezium.connector.postgresql.Source",
            },
        ),
        field("op", "string"),
        field("ts_ms", maybe("long"), default=None),
    ],
    "connect.version": 2,
    "connect.name": "shop.public.items.Envelope",
}
TEXT = json.dumps(ENVELOPE)

# What Spark writes: the same names and types, in Spark's terms.
WRITTEN = """struct<
 before: struct<ROW>, after: struct<ROW>, source: struct<snapshot: string, schema: string, lsn: bigint>, op: string, ts_ms: bigint>
""".replace(
    "ROW",
    "id: int, small: int, name: string, price: binary, money: binary, any: struct<scale: int, value: binary>,"
    " also: struct<scale: int, value: binary>, data: binary, at: bigint, day: int, tags: array<string>, moments: array<bigint>,"
    " pairs: map<string, string>, sparse: struct<dimensions: int, vector: array<struct<key: int, value: double>>>,"
    " own: struct<a: int, b: binary>",
)
EVENT: Json = {
    "before": None,
    "after": {
        "id": 7,
        "small": -3,
        "name": None,
        "price": "BBo=",
        "money": "AIAAAAAAAAAA",
        "any": {"scale": 1, "value": "Cw=="},
        "also": None,
        "data": "AP8Q",
        "at": -1,
        "day": 18321,
        "tags": ["a", None],
        "moments": [86400000000, None],
        "pairs": {"k": "v", "n": None},
        "sparse": {"dimensions": 9, "vector": [{"key": 1, "value": 0.5}]},
        "own": {"a": 1, "b": "AQ=="},
    },
    "source": {"snapshot": "false", "schema": "public", "lsn": 42},
    "op": "c",
    "ts_ms": 5,
}


def bare(avro: object) -> object:
    """Without logical types: to_avro gets the bare values."""
    if isinstance(avro, list):
        return [bare(part) for part in avro]
    if isinstance(avro, dict):
        return {name: bare(part) for name, part in avro.items() if name not in {"logicalType", "precision", "scale", "default"}}
    return avro


def records(spark: SparkSession, event: Json, number: int = 300) -> DataFrame:
    """One record with the header of the schema ``number``, and one that is null."""
    value = F.from_json("json", WRITTEN.replace("\n", ""), {"mode": "FAILFAST"})
    body = to_avro(value, json.dumps(bare(ENVELOPE)))
    header = F.lit(b"\0" + number.to_bytes(4, "big"))
    frame = local_frame(spark, [(json.dumps(event),)], "json string").select(F.concat(header, body).alias("value"))
    return frame.unionAll(local_frame(spark, [(None,)], "value binary"))


def test_envelope_reads_as_the_json_converters_would(spark: SparkSession) -> None:
    schema = connect_schema(TEXT)
    frame = records(spark, EVENT).select(read_avro(F.col("value"), TEXT).alias("r"), schema_id(F.col("value")).alias("id"))
    shape = frame.schema["r"].dataType
    assert shape.simpleString() == shape_of(schema).simpleString()

    sent = json.loads(json.dumps(EVENT))
    # JsonConverter writes a map whose keys are no strings as pairs.
    sent["after"]["sparse"]["vector"] = [[1, 0.5]]
    json_frame = local_frame(spark, [(json.dumps(sent),)], "json string").select(
        F.from_json("json", shape_of(schema), {"mode": "FAILFAST"}).alias("r")
    )
    first, none = frame.collect()
    assert first["r"] == json_frame.collect()[0]["r"]
    assert (first["id"], none["r"], none["id"]) == (300, None, None)


def test_values_decode(spark: SparkSession) -> None:
    columns = {str(column["field"]): kind_of(column) for column in fields(named(connect_schema(TEXT), "after"))}

    def text(name: str) -> Column:
        return columns[name].text(columns[name].decode(F.col("r.after").getField(name))).alias(name)

    read = records(spark, EVENT).select(read_avro(F.col("value"), TEXT).alias("r")).persist()
    row = read.select(*(text(name) for name in columns)).collect()[0].asDict()
    read.unpersist()
    assert row == {
        "id": "7",
        "small": "-3",
        "name": None,
        "price": "10.50",
        "money": "92233720368547758.08",
        "any": "1.1",
        "also": None,
        "data": "\\x00ff10",
        "at": "1969-12-31 23:59:59.999999",
        "day": "2020-02-29",
        "tags": '["a",null]',
        "moments": '["24:00:00",null]',
        "pairs": '{"k":"v","n":null}',
        "sparse": "{1:0.5}/9",
        "own": '{"a":1,"b":"AQ=="}',
    }


def fields(schema: object) -> list[Json]:
    return cast("list[Json]", cast("Json", schema)["fields"])


def named(schema: object, name: str) -> Json:
    return next(part for part in fields(schema) if part["field"] == name)


def test_schema_is_as_json_converter_embeds_it() -> None:
    schema = connect_schema(TEXT)
    assert (schema["type"], schema["name"], schema["version"]) == ("struct", "shop.public.items.Envelope", 2)
    before, after = named(schema, "before"), named(schema, "after")
    assert before["fields"] == after["fields"]
    assert (after["name"], after["optional"]) == ("shop.public.items.Value", True)
    assert named(after, "small") == {"field": "small", "type": "int16", "optional": False}
    assert named(after, "price") == {
        "field": "price",
        "type": "bytes",
        "optional": True,
        "name": "org.apache.kafka.connect.data.Decimal",
        "version": 1,
        "parameters": {"scale": "2", "connect.decimal.precision": "10"},
        "default": "AMg=",
    }
    assert named(after, "money")["parameters"] == {"scale": "2"}
    assert named(named(after, "sparse"), "vector")["type"] == "map"
    assert named(named(schema, "source"), "snapshot")["default"] == "false"


@pytest.mark.parametrize(
    ("avro", "connect"),
    [
        ("string", {"type": "string", "optional": False}),
        ({"type": "int", "logicalType": "date"}, {"type": "int32", "optional": False, "name": "org.apache.kafka.connect.data.Date"}),
        (
            {"type": "fixed", "name": "D", "size": 16, "logicalType": "decimal", "precision": 20, "scale": 3},
            {
                "type": "bytes",
                "optional": False,
                "name": "org.apache.kafka.connect.data.Decimal",
                "parameters": {"scale": "3", "connect.decimal.precision": "20"},
            },
        ),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, {"type": "string", "optional": False}),
        ({"type": {"type": "long"}}, {"type": "int64", "optional": False}),
    ],
)
def test_avros_own_types(avro: object, connect: Json) -> None:
    assert connect_schema(json.dumps(avro)) == connect


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ('["int", "string"]', "union of several types"),
        ('"Other"', "uses the type 'Other' before"),
        ('{"type": "record", "name": "R"}', "'R' has no list of fields"),
        ("7", "neither a name, a list nor an object"),
    ],
)
def test_schema_that_is_none_is_refused(text: str, said: str) -> None:
    with pytest.raises(JobError, match=said):
        connect_schema(text)


def test_only_records_are_read(spark: SparkSession) -> None:
    with pytest.raises(JobError, match="not a record"):
        read_avro(F.col("value"), '"string"')


def test_flat_rows_and_given_shapes(spark: SparkSession) -> None:
    flat = json.dumps({"type": "record", "name": "R", "fields": [field("id", "long"), field("own", maybe(OWN))]})
    assert shape_of(connect_schema(flat)).simpleString() == "struct<id:bigint,own:string>"
    body = to_avro(F.expr("named_struct('id', 5L, 'own', named_struct('a', 1, 'b', cast(null as binary)))"), flat)
    frame = spark.range(1).select(F.concat(F.lit(b"\0\0\0\0\1"), body).alias("value"))
    wanted = StructType().add("later", BinaryType()).add("id", LongType())
    row = frame.select(read_avro(F.col("value"), flat, wanted).alias("r")).collect()[0]["r"]
    assert tuple(row) == (None, 5)


@pytest.mark.parametrize("value", [b"", b"\1\0\0\0\1\0", b"\0\0\0\0\1", b"\0\0\0\0\1\xff\xff"])
def test_bytes_that_are_no_record_stop_the_job(spark: SparkSession, value: bytes) -> None:
    frame = local_frame(spark, [(bytearray(value),)], "value binary")
    with pytest.raises((Py4JJavaError, PySparkException)):
        frame.select(read_avro(F.col("value"), TEXT)).collect()
