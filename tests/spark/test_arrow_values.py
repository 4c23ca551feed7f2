"""Columns that Arrow decodes have the values that Spark's expressions give."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructField, StructType

from tests.spark.test_types import JSON, MICRO_TIME, SPARSE, VARIABLE, ZONED, array, decimal, named
from workers.spark.types import Kind, kind_of
from workers.spark.types.arrow_columns import arrow_column
from workers.spark.types.arrow_values import NotInArrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def octets(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


KINDS: dict[str, Kind] = {
    "boolean": kind_of({"type": "boolean"}),
    "double": kind_of({"type": "double"}),
    "text": kind_of({"type": "string"}),
    "bytes": kind_of({"type": "bytes"}),
    "date": kind_of(named("int32", "io.debezium.time.Date")),
    "iso date": kind_of(named("string", "io.debezium.time.IsoDate")),
    "timestamp in ms": kind_of(named("int64", "io.debezium.time.Timestamp")),
    "timestamp": kind_of(named("int64", "io.debezium.time.MicroTimestamp")),
    "timestamp in ns": kind_of(named("int64", "io.debezium.time.NanoTimestamp")),
    "iso timestamp": kind_of(named("string", "io.debezium.time.IsoTimestamp")),
    "zoned": kind_of(ZONED),
    "time in ms": kind_of(named("int32", "io.debezium.time.Time")),
    "time": kind_of(MICRO_TIME),
    "time in ns": kind_of(named("int64", "io.debezium.time.NanoTime")),
    "iso time": kind_of(named("string", "io.debezium.time.IsoTime")),
    "zoned time": kind_of(named("string", "io.debezium.time.ZonedTime")),
    "decimal": kind_of(decimal(2, 10)),
    "decimal of 18": kind_of(decimal(18, 18)),
    "money": kind_of(decimal(2)),
    "decimal of 38": kind_of(decimal(38, 38)),
    "decimal of 60": kind_of(decimal(5, 60)),
    "decimal of negative scale": kind_of(decimal(-3, 10)),
    "numeric": kind_of(VARIABLE),
}
DAY_MICROS = 86_400_000_000
YEARS = [date(1, 1, 1).toordinal() - 719163, date(9999, 12, 31).toordinal() - 719163]
SECONDS = [86400 * YEARS[0], 86400 * YEARS[1] + 86399, -62167219201, 253402300800, -2208988800, -1, 0, 1]
INT, LONG = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1)
MICROS = [9223372036825200000, -9223372036832400000]
MOMENTS = [
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00.000000Z",
    "1582-10-10T12:00:00.5Z",
    "1900-02-28T23:59:59.999999Z",
    "1969-12-31T23:59:59.999Z",
    "1970-01-01T00:00:00Z",
    "2000-02-29T01:02:03.04Z",
    "9999-12-31T23:59:59.999999Z",
]
CLOCKS = ["00:00:00Z", "04:05:11.789Z", "23:59:59.999999Z", "24:00:00", "Z", ""]
UNSCALED = sorted(
    sign * number + more
    for number in (0, 1, 127, 128, 10**9, 2**63, 2**64, 10**10, 10**18, 10**38, 2**120, 2**127)
    for more in (-1, 0, 1)
    for sign in (1, -1)
)
OCTETS = [*map(octets, UNSCALED), b"", b"\0", b"\xff", b"\0" * 8, b"\xff" * 8, b"\0\x01", b"\xff" * 16, b"\0" * 7 + b"\x05", b"\xff" * 9]
LONGER = [octets(sign * number) for number in (10**60 - 1, 10**60, 2**200, 10**300) for sign in (1, -1)]


def pairs(values: Sequence[bytes], scales: Sequence[int]) -> list[dict[str, object]]:
    return [{"scale": scale, "value": value} for value in values for scale in scales]


EDGES: Mapping[str, list[Any]] = {
    "boolean": [True, False],
    "double": [0.1, -0.0, "-Infinity"],
    "text": ["", "é漢😀", "infinity"],
    "bytes": [b"", b"\0\xff"],
    "date": [0, -1, 1, *YEARS, *INT, -2147472692, -2147472691, -622191234],
    "iso date": ["0000-01-01Z", "0001-01-01", "1582-10-10Z", "1970-01-01Z", "9999-12-31Z", "-5877611-06-21Z", "-5877611-06-22Z"],
    "timestamp in ms": [*(second * 1000 for second in SECONDS), -1, 999, *(micros // 1000 for micros in MICROS)],
    "timestamp": [*(second * 1_000_000 for second in SECONDS), -1, 999_999, *MICROS, *LONG],
    "timestamp in ns": [-1, 1, 999, 1000, 1001, -999, -1000, -1001, *LONG, LONG[0] + 808, LONG[1] - 1],
    "iso timestamp": [*MOMENTS, MOMENTS[-1][:-1], "+294247-01-10T04:00:25.2Z", "-290308-12-21T19:59:27.6Z"],
    "zoned": [*MOMENTS, "infinity", "-infinity"],
    "time in ms": [0, 1, 49862120, 86399999, 86400000, 86400001, INT[1]],
    "time": [0, 1, 10, 49862123456, DAY_MICROS - 1, DAY_MICROS, DAY_MICROS + 1, LONG[1]],
    "time in ns": [0, 1, 999, 1000, 49862123456999, 1000 * DAY_MICROS - 1, 1000 * DAY_MICROS, LONG[1]],
    "iso time": CLOCKS,
    "zoned time": CLOCKS,
    "decimal": OCTETS,
    "decimal of 18": OCTETS,
    "money": [*OCTETS, *LONGER, b"\0" * 17],
    "decimal of 38": OCTETS,
    "decimal of 60": [*OCTETS, *LONGER],
    "decimal of negative scale": OCTETS,
    "numeric": [*pairs([*OCTETS, *LONGER], [0, 1, 9, 38]), *pairs(OCTETS[::3], [-2, 70, 16383]), {"scale": 1, "value": None}, None],
}


def decoded(kind: Kind, values: Sequence[Any]) -> tuple[pa.Array, pa.Array]:
    """The raw column and what Arrow makes of it."""
    assert kind.in_arrow is not None
    raw = arrow_column([as_sent(value) for value in values], kind.raw)
    found = kind.in_arrow(raw)
    assert found.type == to_arrow_type(kind.type, timestamp_utc=True)
    found.validate(full=True)
    return raw, found


def as_sent(value: Any) -> Any:
    """The value as JsonConverter writes it."""
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case {"scale": scale, "value": bytes(octets_)}:
            return {"scale": scale, "value": base64.b64encode(octets_).decode()}
    return value


@pytest.fixture(scope="module")
def decode(spark: SparkSession) -> Mapping[str, Column]:
    """Spark's expressions by kind, of columns with the kinds' names. Making them takes most of the time of a query."""
    return {name: kind.decode(F.col(f"`{name}`")).alias(name) for name, kind in KINDS.items()}


def same_as_spark(spark: SparkSession, decode: Mapping[str, Column], values: Mapping[str, Sequence[Any]]) -> None:
    """One query decodes all columns. Each has nulls too."""
    longest = max(map(len, values.values())) + 1
    columns = {name: decoded(KINDS[name], [*some, *[None] * (longest - len(some))]) for name, some in values.items()}
    kind = StructType([StructField(name, KINDS[name].raw) for name in values])
    sent = spark.createDataFrame(pa.table({name: raw for name, (raw, _) in columns.items()}), kind)
    wanted = sent.select(*(decode[name] for name in values)).toArrow()
    for name, (_, found) in columns.items():
        column = wanted[name].combine_chunks()
        assert found.equals(column), f"{name}: {found.diff(column)}"


def test_values_are_those_that_spark_decodes(spark: SparkSession, decode: Mapping[str, Column]) -> None:
    assert EDGES.keys() == KINDS.keys()
    same_as_spark(spark, decode, EDGES)


def fraction_cut(text: str) -> str:
    return text.rstrip("0") if "." in text else text


def whole_numbers(limit: int) -> st.SearchStrategy[int]:
    return st.integers(-limit, limit)


SHORT = st.binary(max_size=8)
NUMBERS = whole_numbers(10**70).map(octets) | whole_numbers(2**64).map(octets) | SHORT
LIMITED = st.integers(1, 39).flatmap(lambda digits: whole_numbers(10**digits)).map(octets) | st.binary(max_size=18)
STAMPS = st.builds(lambda at, cut: (fraction_cut if cut else str)(at.isoformat()) + "Z", st.datetimes(), st.booleans())
SENT: Mapping[str, st.SearchStrategy[Any]] = {
    "date": st.integers(*INT),
    "iso date": st.dates().map(lambda day: f"{day}Z"),
    "timestamp in ms": whole_numbers(LONG[1] // 1000),
    "timestamp": st.integers(*LONG),
    "timestamp in ns": st.integers(LONG[0] + 808, LONG[1]),
    "iso timestamp": STAMPS,
    "zoned": STAMPS | st.sampled_from(["infinity", "-infinity"]),
    "time in ms": st.integers(0, 86400001),
    "time": st.integers(0, DAY_MICROS + 1),
    "time in ns": st.integers(0, 1000 * DAY_MICROS + 1),
    "iso time": st.times().map(lambda clock: f"{clock}Z") | st.text("Z0:\u6f22"),
    "decimal": LIMITED,
    "decimal of 18": LIMITED,
    "money": LIMITED,
    "decimal of 38": LIMITED,
    "decimal of 60": NUMBERS,
    "numeric": st.builds(lambda scale, value: {"scale": scale, "value": value}, st.integers(-5, 80), NUMBERS),
}


@given(st.fixed_dictionaries({name: st.lists(st.none() | values, max_size=30) for name, values in SENT.items()}))
def test_any_values(spark: SparkSession, decode: Mapping[str, Column], values: Mapping[str, Sequence[Any]]) -> None:
    same_as_spark(spark, decode, values)


REFUSED: Mapping[str, list[Any]] = {
    "iso date": [
        "2021-02-29Z",
        "10000-01-01Z",
        "+10000-01-01",
        "-0001-01-01Z",
        "2020-01-01ZZ",
        "2020-1-1",
        "2020-01-01 ",
        "+292278994-08-16",
    ],
    "timestamp in ms": [*LONG, LONG[1] // 1000 + 1],
    "timestamp in ns": [LONG[0] + 1, LONG[0] + 807],
    "iso timestamp": ["2020-02-30T00:00:00Z", "2020-01-01T00:00:00.1234567Z", "2020-01-01 00:00:00", "2020-01-01T24:00:00Z", "infinity"],
    "zoned": [
        "2020-02-30T00:00:00Z",
        "2020-01-01T00:00:60Z",
        "2020-01-01T00:00:00",
        "2020-01-01T00:00:00+00:00",
        "2020-01-01T00:00:00Z\n",
        "2020-01-01T00:00:00.Z",
        "+10000-01-01T00:00:00Z",
        "-0043-03-15T01:02:03.000000Z",
        "\u0662020-01-01T00:00:00Z",
        "Infinity",
        "",
    ],
    "time in ms": [-1, LONG[1]],
    "time": [-1],
    "time in ns": [-1],
    "decimal of 60": [b"\0" * 9, b"\x7f" * 2000],
    "numeric": [
        {"scale": None, "value": b"\1"},
        {"scale": 16384, "value": b"\1"},
        {"scale": -(2**31), "value": b"\1"},
        {"scale": 2, "value": b"\0" * 9},
    ],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in REFUSED.items() for value in values])
def test_other_values_are_left_to_spark(name: str, value: object) -> None:
    for values in ([value], [None, *EDGES[name], value]):
        with pytest.raises(NotInArrow):
            decoded(KINDS[name], values)


@pytest.mark.parametrize(
    ("name", "value"), [("timestamp in ms", LONG[1]), ("timestamp in ns", LONG[0] + 1), ("timestamp in ns", LONG[0] + 807)]
)
def test_spark_refuses_what_overflows(spark: SparkSession, name: str, value: int) -> None:
    decode = KINDS[name].decode
    with pytest.raises(PySparkException, match="ARITHMETIC_OVERFLOW"):
        spark.range(1).select(decode(F.col("id") + F.lit(value))).collect()


def test_no_values() -> None:
    for kind in KINDS.values():
        _, found = decoded(kind, [])
        assert len(found) == 0


def test_part_of_a_column() -> None:
    for name, kind in KINDS.items():
        raw, found = decoded(kind, EDGES[name])
        assert kind.in_arrow is not None
        assert kind.in_arrow(raw.slice(1, 3)).equals(found.slice(1, 3)), name


@pytest.mark.parametrize(
    "schema",
    [
        array({"type": "string"}),
        array(named("int32", "io.debezium.time.Date")),
        {"type": "map"},
        SPARSE,
        named("struct", "io.debezium.data.geometry.Point"),
        named("struct", "io.debezium.data.geometry.Geometry"),
        named("array", "io.debezium.data.DoubleVector"),
        named("bytes", "io.debezium.data.Bits"),
    ],
    ids=str,
)
def test_other_kinds_are_left_to_spark(schema: dict[str, object]) -> None:
    assert kind_of(schema).in_arrow is None


def test_text_and_intervals_are_unchanged() -> None:
    for schema in (JSON, named("string", "io.debezium.data.Uuid"), named("string", "io.debezium.time.Interval"), {"type": "struct"}):
        raw, found = decoded(kind_of(schema), ["", None, "P1Y"])
        assert found.equals(raw)
    raw, found = decoded(kind_of(named("int64", "io.debezium.time.MicroDuration")), [1, None])
    assert found.equals(raw)
