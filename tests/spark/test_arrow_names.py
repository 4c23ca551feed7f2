"""The names that Python gives to new rows are those that Spark gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from workers.spark.effects.arrow_names import NotNamed, nameable, names, same_settings
from workers.spark.effects.places import positioned
from workers.spark.types.digits import scaled

Event = tuple[str, int | None, int | None, int, int, int | None]
"""What is known of a record: op, LSN, transaction, partition, offset, order in the transaction."""
HASHED: Event = ("c", 0x1A2B, 77, 0, 5, None)
KINDS: dict[str, pa.DataType] = {
    "short": pa.int16(),
    "int": pa.int32(),
    "long": pa.int64(),
    "boolean": pa.bool_(),
    "text": pa.string(),
    "date": pa.date32(),
    "local": pa.timestamp("us"),
    "zoned": pa.timestamp("us", "UTC"),
    "cents": pa.decimal128(10, 2),
    "units": pa.decimal128(38, 0),
    "fine": pa.decimal128(38, 38),
    "wide": pa.decimal128(30, 9),
}
SCHEMA = pa.schema(KINDS.items())


def table(**columns: Sequence[Any]) -> pa.Table:
    """Rows with some of the columns of :data:`KINDS`."""
    return pa.table(columns, pa.schema([(name, KINDS[name]) for name in columns]))


def by_python(rows: pa.Table, events: Sequence[Event]) -> list[str]:
    found: list[str] = names(rows, *map(list, zip(*events, strict=True))).to_pylist()
    return found


def by_spark(spark: SparkSession, rows: pa.Table, events: Sequence[Event]) -> list[str]:
    op, lsn, tx, partition, offset, order = zip(*events, strict=True)
    flat = rows.combine_chunks()
    struct = pa.StructArray.from_arrays([column.chunk(0) for column in flat.columns], fields=list(flat.schema))
    given = {
        "op": pa.array(op, pa.string()),
        "lsn": pa.array(lsn, pa.int64()),
        "tx": pa.array(tx, pa.int64()),
        "partition": pa.array(partition, pa.int32()),
        "offset": pa.array(offset, pa.int64()),
        "total_order": pa.array(order, pa.int64()),
        "row": struct,
    }
    whole = pa.table(given)
    # Otherwise Spark takes timestamps without zone for those with one.
    frame = spark.createDataFrame(whole, from_arrow_schema(whole.schema, prefer_timestamp_ntz=True))
    return [found[0] for found in positioned(frame).select("key.__position").collect()]


def assert_same(spark: SparkSession, rows: pa.Table, events: Sequence[Event] | None = None) -> None:
    events = [HASHED] * len(rows) if events is None else events
    assert by_python(rows, events) == by_spark(spark, rows, events)


@contextmanager
def changed(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    former = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, str(former))


NUMBERS = st.none() | st.integers(-(2**63), 2**63 - 1)
EVENTS: st.SearchStrategy[Event] = st.tuples(
    st.sampled_from("ccr"), NUMBERS, NUMBERS, st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1), st.none() | NUMBERS
)
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))  # noqa: DTZ001 - of a type without zone


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    largest = 10**precision - 1
    # As a tuple of digits, since arithmetic rounds to 28 digits.
    return st.integers(-largest, largest).map(lambda number: Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale)))


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "short": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "boolean": st.booleans(),
    "text": st.text() | st.text('\\"/\x00\x1f\x7f\n\u2028é😀a'),
    "date": st.dates(),
    "local": MOMENTS,
    "zoned": MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC)),
    "cents": decimals(10, 2),
    "units": decimals(38, 0),
    "fine": decimals(38, 38) | decimals(5, 38),
    "wide": decimals(30, 9) | decimals(3, 9),
}
ROWS = st.fixed_dictionaries({name: st.none() | some for name, some in VALUES.items()})


@given(st.lists(st.tuples(ROWS, EVENTS), min_size=1, max_size=30))
def test_rows_of_all_types_have_the_same_names(spark: SparkSession, some: list[tuple[dict[str, Any], Event]]) -> None:
    assert_same(spark, pa.Table.from_pylist([row for row, _ in some], SCHEMA), [event for _, event in some])


@given(st.lists(ROWS, min_size=1, max_size=50))
def test_rows_with_a_hash_have_the_same_names(spark: SparkSession, rows: list[dict[str, Any]]) -> None:
    assert_same(spark, pa.Table.from_pylist(rows, SCHEMA))


def test_each_character_has_the_same_escape(spark: SparkSession) -> None:
    codes = [*range(0x300), 0x2028, 0x2029, 0xD7FF, 0xE000, 0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF]
    characters = [chr(code) for code in codes]
    assert_same(spark, table(text=[*characters, *(f"a{character}b" for character in characters)]))
    # A name with all of them.
    row = pa.table({"".join(characters): ["x", "y"], "a.b": [1, 2], 'q"\\\n': ["z", None], "é 😀": [True, False], "": [3, 4]})
    assert_same(spark, row)


def test_texts_of_all_lengths_have_the_same_hash(spark: SparkSession) -> None:
    assert_same(spark, table(text=["x" * length for length in range(200)]))
    # Jackson writes long texts in parts, which may divide a pair of surrogates.
    long = [f"{'x' * length}{end * 20}" for length in (1_985, 1_999, 3_990, 3_999, 4_000, 70_000) for end in ("😀", '"', "\x01", "é")]
    assert_same(spark, table(text=long))


def test_edges_have_the_same_texts(spark: SparkSession) -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    moments = [
        epoch,
        # It is rounded down, before 1970 too.
        datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
        datetime(1960, 2, 29, 0, 0, 0, 1, UTC),
        datetime(2020, 1, 2, 3, 4, 5, 678_999, UTC),
        datetime(1, 1, 1, tzinfo=UTC),
        # The days that the calendar left out in 1582.
        datetime(1582, 10, 10, 12, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
        None,
    ]
    local = [moment and moment.replace(tzinfo=None) for moment in moments]
    assert_same(spark, table(zoned=moments, local=local, date=[moment and moment.date() for moment in moments]))
    zero, one, small = Decimal(0), Decimal("0.000000001"), Decimal("0.000001")
    assert_same(spark, table(wide=[zero, one, -one, small, -small, Decimal("1e20"), None], cents=[zero, -zero, *[Decimal("-0.01")] * 5]))
    assert_same(spark, table(long=[-(2**63), 2**63 - 1, 0, None], boolean=[True, False, None, None]))


@pytest.mark.parametrize("event", [("c", None, None, 0, 0, None), ("r", None, None, 3, 10**18, 5), ("r", -1, 4, 0, 1, None)])
@pytest.mark.parametrize("others", [[], [HASHED]], ids=["alone", "with others"])
def test_places_have_the_same_names(spark: SparkSession, event: Event, others: list[Event]) -> None:
    events = [event, *others]
    assert_same(spark, table(int=range(len(events))), events)


def test_orders_and_numbers_are_filled_and_cut_as_by_spark(spark: SparkSession) -> None:
    events: list[Event] = [("c", lsn, tx, 0, 1, order) for lsn in (0, 255, -1) for tx in (0, None) for order in (0, 7, -7, 10**15, None)]
    assert_same(spark, table(int=range(len(events))), events)


def test_rows_in_several_chunks_are_named(spark: SparkSession) -> None:
    rows = pa.concat_tables([table(int=[1, 2], text=["a", None]), table(int=[3], text=['"'])])
    assert by_python(rows, [HASHED] * 3) == by_spark(spark, rows, [HASHED] * 3)
    assert names(rows[:0], [], [], [], [], [], []).to_pylist() == []


def test_decimals_that_spark_reads_from_bytes_have_the_same_text(spark: SparkSession) -> None:
    numbers = [0, 1, -1, 1_230, 10**20, -(10**29)]
    octets = [number.to_bytes(13, "big", signed=True) for number in numbers]
    wide = scaled(F.col("octets"), DecimalType(30, 9))
    read = spark.createDataFrame(pa.table({"octets": octets, "at": range(len(numbers))})).select(
        "at", F.struct(wide.alias("wide")).alias("row")
    )
    fields = {"op": F.lit("c"), "lsn": F.lit(1), "tx": F.lit(2), "partition": F.lit(0), "total_order": F.lit(None).cast("long")}
    rows = read.withColumns({**fields, "offset": F.col("at")})
    found = [row[0] for row in positioned(rows).select("key.__position").collect()]
    values = [Decimal(number).scaleb(-9) for number in numbers]
    assert by_python(table(wide=values), [("c", 1, 2, 0, at, None) for at in range(len(numbers))]) == found


@pytest.mark.parametrize(
    "column",
    [
        pa.array([date(2020, 1, 1).toordinal(), 2_932_897], pa.int32()).cast(pa.date32()),
        pa.array([-719_163], pa.int32()).cast(pa.date32()),
        pa.array([253_402_300_800_000_000], pa.int64()).cast(pa.timestamp("us")),
        pa.array([-62_135_596_800_000_001], pa.int64()).cast(pa.timestamp("us", "UTC")),
        pa.array([0], pa.int64()).cast(pa.timestamp("us", "Europe/Paris")),
        pa.array([0], pa.int64()).cast(pa.timestamp("ms")),
        pa.array([1.0]),
        pa.array([[1]]),
        pa.array([b"x"]),
        pa.array([Decimal(100)], pa.decimal128(3, -2)),
        # A surrogate without its other half, and a byte that begins no character.
        pa.array([b"\xed\xa0\x80"]).view(pa.string()),
        pa.array([b"\xff"]).view(pa.string()),
    ],
    ids=lambda column: str(column.type),
)
def test_values_whose_text_is_not_known_are_refused(column: pa.Array) -> None:
    rows, event = pa.table({"some": column}), ("c", 1, 2, 0, 1)
    with pytest.raises(NotNamed):
        by_python(rows, [(*event, None)] * len(rows))
    # With an order the row's text is not needed.
    assert by_python(rows, [(*event, 3)] * len(rows)) == ["0000000000000001/2/000000000003"] * len(rows)


@pytest.mark.parametrize(
    ("kind", "whether"),
    [
        (ShortType(), True),
        (IntegerType(), True),
        (LongType(), True),
        (BooleanType(), True),
        (StringType(), True),
        (DateType(), True),
        (TimestampNTZType(), True),
        (TimestampType(), True),
        (DecimalType(38, 10), True),
        (DecimalType(3, -2), False),
        (StringType("UTF8_LCASE"), False),
        (CharType(3), False),
        (VarcharType(3), False),
        (DoubleType(), False),
        (FloatType(), False),
        (BinaryType(), False),
        (ArrayType(StringType()), False),
        (StructType([StructField("a", StringType())]), False),
    ],
    ids=str,
)
def test_types_whose_text_is_known(kind: DataType, whether: bool) -> None:
    assert nameable(StructType([StructField("a", StringType()), StructField("b", kind)])) == whether


def test_a_row_without_columns_is_not_named() -> None:
    assert not nameable(StructType([]))


def test_settings_that_change_spark_s_text_are_recognized(spark: SparkSession) -> None:
    assert same_settings(spark)
    # The legacy formats have no such day.
    rows = table(text=[None], zoned=[datetime(2020, 1, 1, tzinfo=UTC)], date=[date(1582, 10, 10)])
    for name, value in [
        ("spark.sql.session.timeZone", "America/New_York"),
        ("spark.sql.jsonGenerator.ignoreNullFields", "false"),
        ("spark.sql.legacy.timeParserPolicy", "LEGACY"),
    ]:
        with changed(spark, name, value):
            assert not same_settings(spark)
            assert by_python(rows, [HASHED]) != by_spark(spark, rows, [HASHED])
    assert same_settings(spark)
    assert_same(spark, rows)
    with changed(spark, "spark.sql.jsonGenerator.ignoreNullFields", "True"):
        assert same_settings(spark)
        assert_same(spark, rows)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.jsonGenerator.writeNullIfWithDefaultValue", "false"),
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.json.useUnsafeRow", "true"),
        ("spark.sql.datetime.java8API.enabled", "true"),
        ("spark.sql.timestampType", "TIMESTAMP_NTZ"),
    ],
)
def test_other_settings_leave_the_names_as_they_are(spark: SparkSession, name: str, value: str) -> None:
    moment = datetime(1969, 1, 2, 3, 4, 5, 678_901, UTC)
    with changed(spark, name, value):
        assert_same(spark, table(text=[None, '"\x01'], zoned=[moment, None], wide=[Decimal(0), None]))
