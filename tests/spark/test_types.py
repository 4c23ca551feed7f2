"""Every kind of value: Debezium's JSON on one side, PostgreSQL's text on the other."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StringType, StructField, StructType

from tests.support.spark.local_frame import local_frame
from workers.spark.types import UNAVAILABLE, Kind, Placeholder, kind_of
from workers.spark.types.digits import plain, unscaled, with_point

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DECIMAL = "org.apache.kafka.connect.data.Decimal"


def unscaled_bytes(number: int) -> str:
    """As Java's BigInteger.toByteArray, in base64."""
    return base64.b64encode(number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)).decode()


def decimal(scale: int, precision: int | None = None) -> dict[str, object]:
    parameters = {"scale": str(scale)} | ({} if precision is None else {"connect.decimal.precision": str(precision)})
    return {"type": "bytes", "name": DECIMAL, "parameters": parameters}


def named(kind: str, name: str) -> dict[str, object]:
    return {"type": kind, "name": name}


def array(items: dict[str, object]) -> dict[str, object]:
    return {"type": "array", "items": items}


VARIABLE = named("struct", "io.debezium.data.VariableScaleDecimal")
DATE = named("int32", "io.debezium.time.Date")
MICRO_TIME = named("int64", "io.debezium.time.MicroTime")
MICRO_TIMESTAMP = named("int64", "io.debezium.time.MicroTimestamp")
ZONED = named("string", "io.debezium.time.ZonedTimestamp")
JSON = named("string", "io.debezium.data.Json")
BITS = named("bytes", "io.debezium.data.Bits")
TEXT: dict[str, object] = {"type": "string"}
GEOMETRY = named("struct", "io.debezium.data.geometry.Geometry")
SPARSE = named("struct", "io.debezium.data.SparseDoubleVector")
FIVE_BITS = BITS | {"parameters": {"length": "5", "__debezium.source.column.type": "BIT"}}
# EWKB of a point (1 2): byte order, type with or without the flag for the SRID, the SRID, x, y.
POINT_4326 = "0101000020E6100000000000000000F03F0000000000000040"
POINT_BARE = "0101000000000000000000F03F0000000000000040"
POINT_BIG = "0020000001000010E63FF00000000000004000000000000000"


@dataclass(frozen=True, slots=True)
class Case:
    """``sent`` is the event's JSON value, ``text`` what the source's query gives, ``other`` a text that must not be equal to it."""

    name: str
    schema: dict[str, object]
    sent: object
    text: str | None
    other: str | None


CASES = [
    Case("boolean", {"type": "boolean"}, True, "t", "f"),
    Case("boolean of bit(1)", {"type": "boolean"}, False, "0", "1"),
    Case("smallint", {"type": "int16"}, -32768, "-32768", "-32767"),
    Case("integer", {"type": "int32"}, 2147483647, "2147483647", "0"),
    Case("bigint", {"type": "int64"}, -9223372036854775808, "-9223372036854775808", "9223372036854775807"),
    Case("real", {"type": "float"}, 1e-10, "1e-10", "1e-9"),
    Case("double", {"type": "double"}, 1e300, "1e+300", "1e+299"),
    Case("double NaN", {"type": "double"}, "NaN", "NaN", "0"),
    Case("double infinite", {"type": "double"}, "-Infinity", "-Infinity", "Infinity"),
    Case("text", TEXT, 'q"\\ \t漢😀', 'q"\\ \t漢😀', 'q"\\ \t漢'),
    Case("text null", TEXT, None, None, ""),
    Case("char keeps its blanks", TEXT, "ab   ", "ab   ", "ab"),
    Case("bytea", {"type": "bytes"}, "AP8Q", "\\x00ff10", "\\x00ff11"),
    Case("bytea empty", {"type": "bytes"}, "", "\\x", None),
    Case("decimal", decimal(2, 10), unscaled_bytes(1050), "10.50", "10.51"),
    Case("decimal null", decimal(2, 10), None, None, "0.00"),
    Case("decimal negative", decimal(2, 10), unscaled_bytes(-1), "-0.01", "0.01"),
    Case("decimal of 38 digits", decimal(0, 38), unscaled_bytes(10**38 - 1), "9" * 38, "9" * 37 + "8"),
    Case("decimal of 60 digits", decimal(5, 60), unscaled_bytes(-(10**59)), "-1" + "0" * 54 + ".00000", "-1" + "0" * 54 + ".00001"),
    Case("decimal that was NaN", decimal(2, 10), None, "NaN", None),
    Case("money", decimal(2), unscaled_bytes(2**63 - 1), "92233720368547758.07", "92233720368547758.08"),
    Case("numeric", VARIABLE, {"scale": 1, "value": unscaled_bytes(11)}, "1.10", "1.11"),
    Case("numeric null", VARIABLE, None, None, "0"),
    Case("numeric large", VARIABLE, {"scale": 0, "value": unscaled_bytes(10**40)}, "1" + "0" * 40, "1" + "0" * 39),
    Case("numeric small", VARIABLE, {"scale": 20, "value": unscaled_bytes(-1)}, "-0." + "0" * 19 + "1", "-0." + "0" * 18 + "1"),
    Case("date", DATE, 18321, "2020-02-29", "2020-03-01"),
    Case("date BC", DATE, -735160, "0044-03-15 BC", "0044-03-15"),
    Case("date far", DATE, 2145042905, "5874897-12-31", "infinity"),
    Case("date infinite", DATE, -2147472692, "infinity", "-infinity"),
    Case("time", MICRO_TIME, 49862123456, "13:51:02.123456", "13:51:02.123457"),
    Case("time whole", MICRO_TIME, 43200000000, "12:00:00", "12:00:01"),
    Case("time end of day", MICRO_TIME, 86400000000, "24:00:00", "00:00:00"),
    Case("time in ms", named("int32", "io.debezium.time.Time"), 49862120, "13:51:02.12", "13:51:02.1"),
    Case("time null", MICRO_TIME, None, None, "00:00:00"),
    Case("time in ns", named("int64", "io.debezium.time.NanoTime"), 1000, "00:00:00.000001", "00:00:00"),
    Case("time as text", named("string", "io.debezium.time.IsoTime"), "04:05:11.789Z", "04:05:11.789", "04:05:11"),
    Case("timetz", named("string", "io.debezium.time.ZonedTime"), "11:51:02.123789Z", "11:51:02.123789+00", "11:51:02+00"),
    Case("timestamp", MICRO_TIMESTAMP, 1478267490123456, "2016-11-04 13:51:30.123456", "2016-11-04 13:51:30.123457"),
    Case("timestamp before 1970", MICRO_TIMESTAMP, -1, "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00"),
    Case("timestamp BC", MICRO_TIMESTAMP, -63517820277000000, "0044-03-15 01:02:03 BC", "0044-03-15 01:02:03"),
    Case("timestamp infinite", MICRO_TIMESTAMP, 9223372036825200000, "infinity", "-infinity"),
    Case("timestamp in ms", named("int64", "io.debezium.time.Timestamp"), -1, "1969-12-31 23:59:59.999", "1969-12-31 23:59:59.998"),
    Case("timestamp in ns", named("int64", "io.debezium.time.NanoTimestamp"), -1000, "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00"),
    Case(
        "timestamp cut to ms",
        named("int64", "org.apache.kafka.connect.data.Timestamp"),
        1478267490123,
        "2016-11-04 13:51:30.123456",
        "2016-11-04 13:51:30.124",
    ),
    Case("timestamptz", ZONED, "2016-11-04T11:51:30.120000Z", "2016-11-04 11:51:30.12", "2016-11-04 11:51:30.13"),
    Case("timestamptz BC", ZONED, "-0043-03-15T01:02:03.000000Z", "0044-03-15 01:02:03 BC", "0044-03-15 01:02:03"),
    Case("timestamptz infinite", ZONED, "-infinity", "-infinity", "infinity"),
    Case("interval", named("int64", "io.debezium.time.MicroDuration"), 37091106780000, "37091106780000", "1"),
    Case(
        "uuid", named("string", "io.debezium.data.Uuid"), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", ""
    ),
    Case("json", JSON, '{"b":1.50, "a":[null,true]}', '{"a": [null, true], "b": 1.50}', '{"a": [null], "b": 1.50}'),
    Case("json null inside", JSON, "null", "null", None),
    Case("json with a name twice", JSON, '{"a":1,"a":2}', '{"a":1,"a":2}', '{"a":1,"a":3}'),
    Case("hstore", JSON, '{"k":"v","n":null}', '{"k": "v", "n": null}', '{"k": "v"}'),
    Case("json sent as it is", JSON, '{"b": 1,  "a": 2}', '{"a":2,"b":1}', '{"a":2}'),
    Case("hstore as map", {"type": "map"}, {"n": None, "k": "v"}, '{"k": "v", "n": null}', '{"k": "v"}'),
    Case("bit(5)", BITS, base64.b64encode(b"\x15").decode(), "10101", "10100"),
    Case("bit(64)", BITS, base64.b64encode(b"\x01" + b"\0" * 6 + b"\x80").decode(), "1" + "0" * 62 + "1", "1" + "0" * 63),
    Case("bit zero", BITS, "", "00000", "00001"),
    Case("bit null", BITS, None, None, "0"),
    Case("point", named("struct", "io.debezium.data.geometry.Point"), {"x": 1.5, "y": -2.0, "wkb": "AQ=="}, "(1.5,-2)", "(1.5,2)"),
    Case("point null", named("struct", "io.debezium.data.geometry.Point"), None, None, "(0,0)"),
    Case(
        "geometry",
        GEOMETRY,
        {"wkb": base64.b64encode(bytes.fromhex(POINT_4326)).decode(), "srid": 4326},
        POINT_4326,
        POINT_4326[:-2] + "41",
    ),
    Case("geometry without srid", GEOMETRY, {"wkb": "AQEAAAAAAAAAAADwPwAAAAAAAABA", "srid": None}, POINT_BARE, POINT_4326),
    Case("geometry big end first", GEOMETRY, {"wkb": base64.b64encode(bytes.fromhex(POINT_BIG)).decode(), "srid": 4326}, POINT_BIG, ""),
    Case("line", named("struct", "io.debezium.data.geometry.Line"), {"a": 1.0, "b": -2.5, "c": 0.0}, "{1,-2.5,0}", "{1,2.5,0}"),
    Case(
        "circle",
        named("struct", "io.debezium.data.geometry.Circle"),
        {"center": {"x": 1.0, "y": 2.0, "wkb": None, "srid": None}, "radius": 3.5},
        "<(1,2),3.5>",
        "<(1,2),3>",
    ),
    Case("vector", named("array", "io.debezium.data.DoubleVector"), [1.0, 0.1, 1e-10], "[1,0.1,1e-10]", "[1,0.1]"),
    Case("halfvec", named("array", "io.debezium.data.FloatVector"), [1.0, 0.1], "[1,0.1]", "[1,0.2]"),
    Case("sparsevec", SPARSE, {"dimensions": 9, "vector": [[7, 2.0], [1, 0.5]]}, "{1:0.5,7:2}/9", "{1:0.5}/9"),
    Case("sparsevec of zeros", SPARSE, {"dimensions": 5, "vector": []}, "{}/5", "{}/6"),
    Case("year", named("int32", "io.debezium.time.Year"), 2026, "2026", "2025"),
    Case("bit(5) of a known type", FIVE_BITS, base64.b64encode(b"\x03").decode(), "00011", "00010"),
    Case("date infinite in an array", array(DATE), [-622191234], '["infinity"]', '["-infinity"]'),
    Case("date as text infinite", named("string", "io.debezium.time.IsoDate"), "-5877611-06-22Z", "-infinity", "infinity"),
    Case("time in an array is cut", array(MICRO_TIME), [49862123000, 0], '["13:51:02.123456","24:00:00"]', '["13:51:02.124","00:00:00"]'),
    Case("timestamp in ns infinite", named("int64", "io.debezium.time.NanoTimestamp"), 2**63 - 1, "infinity", "-infinity"),
    Case(
        "timestamp as text infinite", named("string", "io.debezium.time.IsoTimestamp"), "-290308-12-21T19:59:27.6Z", "-infinity", "infinity"
    ),
    Case("text array", array(TEXT), ["a", None, 'q"'], '["a",null,"q\\""]', '["a","","q\\""]'),
    Case("array empty", array(TEXT), [], "[]", None),
    Case("array null", array(TEXT), None, None, "[]"),
    Case("decimal array", array(decimal(2, 10)), ["bg==", None], '["1.10",null]', '["1.10","0.00"]'),
    Case("date array", array(DATE), [17109, None], '["2016-11-04",null]', '["2016-11-05",null]'),
    Case("jsonb array", array(JSON), ['{"a": 1}'], '["{\\"a\\":1}"]', '["{\\"a\\":2}"]'),
    Case("bytea array", array({"type": "bytes"}), ["Af8="], '["\\\\x01ff"]', '["\\\\x01fe"]'),
]


@pytest.fixture(scope="module")
def shown(spark: SparkSession) -> dict[str, tuple[str | None, str | None, str | None]]:
    """By case: the event's value, the source's text and the other text, each as the comparison writes it. One job for all."""
    kinds = [kind_of(case.schema) for case in CASES]
    event = json.dumps({f"c{at}": case.sent for at, case in enumerate(CASES)})
    shape = StructType([StructField(f"c{at}", kind.raw) for at, kind in enumerate(kinds)])
    texts = [text for case in CASES for text in (case.text, case.other)]
    columns = StructType([StructField("event", StringType()), *(StructField(f"t{at}", StringType()) for at in range(len(texts)))])
    frame = local_frame(spark, [(event, *texts)], columns)

    def triple(at: int, kind: Kind) -> Column:
        raw = F.from_json("event", shape, {"mode": "FAILFAST"}).getField(f"c{at}")
        return F.array(kind.text(kind.decode(raw)), kind.normal(F.col(f"t{2 * at}")), kind.normal(F.col(f"t{2 * at + 1}")))

    row = frame.select(*(triple(at, kind).alias(f"r{at}") for at, kind in enumerate(kinds))).collect()[0]
    return {case.name: tuple(row[at]) for at, case in enumerate(CASES)}


# What Debezium could not send cannot be equal.
LOST = {"decimal that was NaN"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_value_equals_postgresqls_text_and_no_other(case: Case, shown: dict[str, tuple[str | None, str | None, str | None]]) -> None:
    topic, source, other = shown[case.name]
    assert (topic == source) is (case.name not in LOST)
    assert (topic is None) is (case.sent is None)
    assert source != other


def test_unscaled_is_exact_for_any_length(spark: SparkSession) -> None:
    edges = [0, 1, 127, 128, 255, 256, 2**63 - 1, 2**63, 2**64, 2**127, 10**9, 10**18, 10**27, 10**38, 10**100, 16**7, 16**14 - 1]
    numbers = [sign * number for number in edges for sign in (1, -1)]
    frame = local_frame(spark, [(str(number), unscaled_bytes(number)) for number in numbers], "number string, bytes string")
    wrong = frame.where(~unscaled(F.unbase64("bytes")).eqNullSafe(F.col("number"))).collect()
    assert wrong == []
    assert frame.count() == len(numbers)


@pytest.mark.parametrize(
    ("integer", "scale", "pointed", "shortest"),
    [
        ("-5", 3, "-0.005", "-0.005"),
        ("0", 2, "0.00", "0"),
        ("12345", 2, "123.45", "123.45"),
        ("-1050", 2, "-10.50", "-10.5"),
        ("100", 0, "100", "100"),
        ("7", -3, "7000", "7000"),
        ("0", -3, "0", "0"),
    ],
)
def test_point_is_placed(spark: SparkSession, integer: str, scale: int, pointed: str, shortest: str) -> None:
    number = with_point(F.lit(integer), F.lit(scale))
    row = spark.range(1).select(number, plain(number)).collect()[0]
    assert tuple(row) == (pointed, shortest)


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        (TEXT, UNAVAILABLE),
        (JSON, UNAVAILABLE),
        (JSON, json.dumps({UNAVAILABLE: UNAVAILABLE}, separators=(",", ":"))),
        ({"type": "map"}, {UNAVAILABLE: UNAVAILABLE}),
        ({"type": "bytes"}, base64.b64encode(UNAVAILABLE.encode()).decode()),
        (array(TEXT), [UNAVAILABLE]),
        (array({"type": "bytes"}), [base64.b64encode(UNAVAILABLE.encode()).decode()]),
        (array({"type": "int32"}), list(UNAVAILABLE.encode())),
        (array(DATE), list(UNAVAILABLE.encode())),
        (array(named("string", "io.debezium.data.Uuid")), ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]),
    ],
)
def test_placeholder_is_known_in_every_shape(spark: SparkSession, schema: dict[str, object], sent: object) -> None:
    kind = kind_of(schema)
    assert kind.held is not None
    frame = local_frame(spark, [(json.dumps({"v": sent}),)], "event string")
    raw = F.from_json("event", StructType([StructField("v", kind.raw)]))["v"]
    assert frame.select(kind.held(raw)).collect()[0][0] is True
    text, placeholder = json.dumps({"v": sent}, separators=(",", ":")), Placeholder.of(UNAVAILABLE)
    assert any(placeholder.sign(sign) in text for sign in kind.signs)


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        (TEXT, "\ufffd\x01"),
        ({"type": "bytes"}, "/wE="),
        (array({"type": "bytes"}), ["/wE="]),
        (array({"type": "int32"}), [-1, 1]),
    ],
)
def test_placeholder_of_bytes(spark: SparkSession, schema: dict[str, object], sent: object) -> None:
    kind = kind_of(schema, "hex:ff01")
    assert kind.held is not None
    frame = local_frame(spark, [(json.dumps({"v": sent}),), (json.dumps({"v": None}),)], "event string")
    raw = F.from_json("event", StructType([StructField("v", kind.raw)]))["v"]
    assert [row[0] for row in frame.select(kind.held(raw)).collect()] == [True, None]
    text, placeholder = json.dumps({"v": sent}, separators=(",", ":")), Placeholder.of("hex:ff01")
    assert any(placeholder.sign(sign) in text for sign in kind.signs)


def test_unknown_struct_is_kept_as_json_but_not_compared() -> None:
    assert not kind_of(named("struct", "com.example.Own")).comparable
    assert not kind_of(array({"type": "struct"})).comparable


def test_geometry_that_may_be_a_box_is_not_compared() -> None:
    geometry = named("struct", "io.debezium.data.geometry.Geometry")
    assert kind_of(geometry).comparable
    assert not kind_of({**geometry, "fields": [{"field": "wkb"}, {"field": "srid"}, {"field": "extensions"}]}).comparable


RICH = [
    (MICRO_TIME, 86400000000, "INTERVAL '1 00:00:00' DAY TO SECOND"),
    (named("int32", "io.debezium.time.Time"), 49862120, "INTERVAL '0 13:51:02.12' DAY TO SECOND"),
    (named("string", "io.debezium.time.IsoTime"), "04:05:11.789Z", "INTERVAL '0 04:05:11.789' DAY TO SECOND"),
    (named("int64", "io.debezium.time.MicroDuration"), -1, "INTERVAL '-0 00:00:00.000001' DAY TO SECOND"),
    (
        named("string", "io.debezium.time.Interval"),
        "P1Y-2M-3DT4H0M-6.5S",
        "{INTERVAL '0-10' YEAR TO MONTH, INTERVAL '-2 20:00:06.5' DAY TO SECOND}",
    ),
    # More than a bigint of microseconds, which PostgreSQL's interval holds in two parts.
    (
        named("string", "io.debezium.time.Interval"),
        "P0Y1M2147483647DT0H0M0S",
        "{INTERVAL '0-1' YEAR TO MONTH, null}",
    ),
    (array(MICRO_TIME), [1, None], "[INTERVAL '0 00:00:00.000001' DAY TO SECOND, null]"),
    (DATE, 0, "1970-01-01"),
]


def test_rich_values(spark: SparkSession) -> None:
    kinds = [kind_of(schema) for schema, _, _ in RICH]
    event = json.dumps({f"c{at}": sent for at, (_, sent, _) in enumerate(RICH)})
    shape = StructType([StructField(f"c{at}", kind.raw) for at, kind in enumerate(kinds)])
    raw = F.from_json(F.lit(event), shape, {"mode": "FAILFAST"})
    shown = spark.range(1).select(*(kind.shown(raw.getField(f"c{at}")).alias(f"c{at}") for at, kind in enumerate(kinds)))
    assert [part.dataType.simpleString() for part in shown.schema] == [kind.shown_type.simpleString() for kind in kinds]
    row = shown.select(*(F.col(name).cast("string") for name in shown.columns)).collect()[0]
    assert list(row) == [wanted for _, _, wanted in RICH]


def test_values_do_not_depend_on_the_sessions_zone(spark: SparkSession) -> None:
    event = '{"a": 1478267490123456, "b": "2016-11-04T13:51:30.123456Z", "c": 49862123456}'
    kinds = {"a": kind_of(MICRO_TIMESTAMP), "b": kind_of(ZONED), "c": kind_of(MICRO_TIME)}
    raw = F.from_json(F.lit(event), StructType([StructField(name, kind.raw) for name, kind in kinds.items()]))
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = spark.range(1).select(*(kind.decode(raw[name]).alias(name) for name, kind in kinds.items()))
        row = frame.select(F.col("a").cast("string"), F.unix_micros("b"), "c").collect()[0]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert tuple(row) == ("2016-11-04 13:51:30.123456", 1478267490123456, "13:51:02.123456")


def test_schema_of_no_connect_type_is_refused() -> None:
    with pytest.raises(ValueError, match="'decimal' is no Connect type"):
        kind_of({"type": "decimal"})
