"""Arrow writes and reads the Parquet files of a Delta table; without Spark's session."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from workers.spark.sinks.delta.arrow_files import ArrowFiles, arrow_schema
from workers.spark.sinks.delta.arrow_stats import stats_of

UTC = pa.timestamp("us", tz="UTC")
KINDS: list[tuple[DataType, pa.DataType]] = [
    (BooleanType(), pa.bool_()),
    (ShortType(), pa.int16()),
    (IntegerType(), pa.int32()),
    (LongType(), pa.int64()),
    (FloatType(), pa.float32()),
    (DoubleType(), pa.float64()),
    (DecimalType(9, 0), pa.decimal128(9, 0)),
    (DecimalType(38, 10), pa.decimal128(38, 10)),
    (StringType(), pa.string()),
    (BinaryType(), pa.binary()),
    (DateType(), pa.date32()),
    (TimestampType(), UTC),
    (TimestampNTZType(), pa.timestamp("us")),
]


def of_columns(folder: Path, *columns: StructField) -> ArrowFiles:
    schema = arrow_schema(StructType([*columns]))
    assert schema is not None
    return ArrowFiles(folder, schema, "4.1.1")


def files(folder: Path, **kinds: pa.DataType) -> ArrowFiles:
    return ArrowFiles(folder, pa.schema(kinds), "4.1.1")


def written(one: ArrowFiles, rows: pa.Table) -> dict[str, Any]:
    made = json.loads(one.write(rows))
    assert [*made] == ["add"]
    return dict(made["add"])


def read(one: ArrowFiles, path: str, *marked: int) -> dict[str, list[Any]]:
    found = one.read(path, BitMap64(marked))
    assert found.schema == one.schema
    found.validate(full=True)
    return dict(found.to_pydict())


@pytest.mark.parametrize(("of", "expected"), KINDS)
def test_scalars_have_the_types_of_sparks_files(of: DataType, expected: pa.DataType) -> None:
    assert arrow_schema(StructType([StructField("a", of)])) == pa.schema([("a", expected)])


@pytest.mark.parametrize(
    "of",
    [
        ByteType(),
        ArrayType(IntegerType()),
        MapType(StringType(), StringType()),
        StructType([StructField("x", IntegerType())]),
        DayTimeIntervalType(),
        VariantType(),
        StringType("UTF8_LCASE"),
    ],
    ids=lambda of: of.simpleString(),
)
def test_other_types_are_left_to_spark(of: DataType) -> None:
    assert arrow_schema(StructType([StructField("a", IntegerType()), StructField("b", of)])) is None


def test_column_that_cannot_be_null_is_left_to_spark() -> None:
    assert arrow_schema(StructType([StructField("a", IntegerType(), nullable=False)])) is None


def test_names_and_numbers_are_those_of_the_files() -> None:
    mapped = {"delta.columnMapping.id": 7, "delta.columnMapping.physicalName": "col-1"}
    found = arrow_schema(StructType([StructField("a b", LongType(), metadata=mapped), StructField("c", LongType())]))
    assert found is not None
    assert [(field.name, field.metadata) for field in found] == [("col-1", {b"PARQUET:field_id": b"7"}), ("c", None)]


def test_file_is_as_sparks_writer_makes_it(tmp_path: Path) -> None:
    mapped = {"delta.columnMapping.id": 7, "delta.columnMapping.physicalName": "col-1"}
    names = [f"c{at}" for at in range(len(KINDS))]
    others = (StructField(name, of) for name, (of, _) in zip(names, KINDS, strict=True))
    one = of_columns(tmp_path, StructField("a", LongType(), metadata=mapped), *others)
    add = written(one, pa.table([pa.nulls(2)] * len(one.schema), names=[field.name for field in one.schema]))
    path = tmp_path / add["path"]
    assert [*tmp_path.iterdir()] == [path]
    state = path.stat()
    assert state.st_mode & 0o777 == 0o644
    assert add == {
        "path": path.name,
        "partitionValues": {},
        "size": state.st_size,
        "modificationTime": state.st_mtime_ns // 1_000_000,
        "dataChange": True,
        "stats": json.dumps(stats_of(pa.table([pa.nulls(2)] * len(one.schema), schema=one.schema))),
    }
    metadata = pq.read_metadata(path)
    assert metadata.metadata == {b"org.apache.spark.version": b"4.1.1"}
    columns = [metadata.row_group(0).column(at) for at in range(len(one.schema))]
    assert {column.compression for column in columns} == {"SNAPPY"}
    assert [column.physical_type for column in columns] == [
        "INT64",
        *("BOOLEAN", "INT32", "INT32", "INT64", "FLOAT", "DOUBLE", "INT32", "FIXED_LEN_BYTE_ARRAY"),
        *("BYTE_ARRAY", "BYTE_ARRAY", "INT32", "INT64", "INT64"),
    ]
    # Arrow's bounds of floating-point numbers are not those of Spark.
    assert [column.path_in_schema for column in columns if not column.is_stats_set] == ["c4", "c5"]
    assert pq.read_schema(path).field("col-1").metadata == {b"PARQUET:field_id": b"7"}


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    one = files(tmp_path, n=pa.int64(), text=pa.string(), octets=pa.binary(), amount=pa.decimal128(12, 2), day=pa.date32(), at=UTC)
    rows = pa.table(
        [
            pa.array([-(2**63), None, 2**63 - 1]),
            pa.array(["", "ä\u0000", None]),
            pa.array([b"", b"\x00\xff", None]),
            pa.array([Decimal("-0.01"), Decimal("9999999999.99"), None], pa.decimal128(12, 2)),
            pa.array([date.min, date.max, None]),
            pa.array([-1, 2**63 - 1, None], pa.int64()).cast(UTC),
        ],
        schema=one.schema,
    )
    assert one.read(written(one, rows)["path"], BitMap64()) == rows


def test_columns_are_taken_by_place_and_cast(tmp_path: Path) -> None:
    one = files(tmp_path, a=pa.int16(), b=pa.string(), at=UTC)
    rows = pa.table(
        [pa.array([1, 2]), pa.array(["x", "x"]).dictionary_encode(), pa.array([0, None], pa.timestamp("us"))], names=list("xya")
    )
    found = one.read(written(one, rows)["path"], BitMap64())
    assert found == pa.table([pa.array([1, 2]), pa.array(["x", "x"]), pa.array([0, None], UTC)], schema=one.schema)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (pa.int16(), pa.table({"a": [2**15]})),
        (pa.string(), pa.table({"a": [b"\xff"]})),
        (pa.decimal128(3, 1), pa.table({"a": [Decimal("1.25")]})),
        (UTC, pa.table({"a": pa.array([1], pa.timestamp("ns"))})),
        (pa.int16(), pa.table({"a": [[1]]})),
        (pa.int16(), pa.table({"a": [1], "b": [1]})),
    ],
)
def test_rows_that_do_not_fit_leave_no_file(tmp_path: Path, kind: pa.DataType, rows: pa.Table) -> None:
    with pytest.raises((ValueError, pa.ArrowException)):
        files(tmp_path, a=kind).write(rows)
    assert not [*tmp_path.iterdir()]


def test_failure_while_writing_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(OSError, match="No space left"):
        files(tmp_path, a=pa.int16()).write(pa.table({"a": [1]}))
    assert not [*tmp_path.iterdir()]


def test_marked_rows_are_left_out(tmp_path: Path) -> None:
    one = files(tmp_path, a=pa.int64())
    path = written(one, pa.table({"a": range(5)}))["path"]
    assert read(one, path, 0, 3) == {"a": [1, 2, 4]}
    assert read(one, path, *range(5)) == {"a": []}
    with pytest.raises(ValueError, match="another file"):
        one.read(path, BitMap64([5]))


def test_older_files_are_read_with_the_tables_columns(tmp_path: Path) -> None:
    old = {
        "dropped": pa.array(["x", "y"]),
        "decimal": pa.array([Decimal("-1.5"), None], pa.decimal128(4, 1)),
        "int": pa.array([-(2**15), None], pa.int16()),
        "byte": pa.array([-1, None], pa.int8()),
        "float": pa.array([0.5, None], pa.float32()),
        "of int": pa.array([-7, None], pa.int32()),
        "in": pa.array([{"x": 1}, None]),
        "a.b": pa.array([1, None], pa.int16()),
    }
    pq.write_table(pa.table(old), tmp_path / "f", store_schema=False)
    new = files(
        tmp_path,
        int=pa.int64(),
        added=pa.string(),
        byte=pa.int32(),
        **{"of int": pa.decimal128(12, 2), "a.b": pa.int16(), "a": pa.int16(), "in.x": pa.int64()},
        float=pa.float64(),
        decimal=pa.decimal128(8, 3),
    )
    assert read(new, "f") == {
        "int": [-(2**15), None],
        "added": [None, None],
        "byte": [-1, None],
        "of int": [Decimal("-7.00"), None],
        "a.b": [1, None],
        "a": [None, None],
        "in.x": [None, None],
        "float": [0.5, None],
        "decimal": [Decimal("-1.500"), None],
    }
    assert read(files(tmp_path, added=pa.string()), "f", 1) == {"added": [None]}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array([1], pa.int64()), pa.int32()),
        (pa.array([1], pa.int64()), pa.string()),
        (pa.array([b"x"]), pa.string()),
        (pa.array([Decimal("1.25")], pa.decimal128(3, 2)), pa.decimal128(3, 1)),
        (pa.array([2**62], pa.int64()), pa.decimal128(10, 0)),
        (pa.array([1], pa.timestamp("us")), UTC),
        (pa.array([1], UTC), pa.timestamp("us")),
        (pa.array([1], pa.timestamp("ns", tz="UTC")), UTC),
    ],
)
def test_file_of_another_type_is_refused(tmp_path: Path, values: pa.Array, kind: pa.DataType) -> None:
    pq.write_table(pa.table({"a": values}), tmp_path / "f", store_schema=False)
    with pytest.raises((ValueError, pa.ArrowException)):
        files(tmp_path, a=kind).read("f", BitMap64())


def test_int96_times_are_read(tmp_path: Path) -> None:
    micros = [-1, 123_456, None, -62_135_596_800_000_000, 9_223_372_036_825_200]
    table = pa.table({"t": pa.array(micros, pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "f", use_deprecated_int96_timestamps=True)
    assert pq.read_metadata(tmp_path / "f").schema.column(0).physical_type == "INT96"
    found = files(tmp_path, t=UTC, new=UTC).read("f", BitMap64([1]))
    assert found["t"].cast(pa.int64()).to_pylist() == [-1, *micros[2:]]
    with pytest.raises(ValueError, match="another type"):
        files(tmp_path, t=pa.timestamp("us")).read("f", BitMap64())


def test_int96_time_that_may_be_another_one_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": pa.array([None, 0], pa.timestamp("us"))}), tmp_path / "f", use_deprecated_int96_timestamps=True)
    with pytest.raises(ValueError, match="times that Arrow cannot read"):
        files(tmp_path, t=UTC).read("f", BitMap64())


def test_paths_are_relative_and_quoted(tmp_path: Path) -> None:
    one = files(tmp_path, a=pa.int64())
    (tmp_path / "a b").mkdir()
    name = "a b/50%25ä.parquet"
    pq.write_table(pa.table({"a": [1]}), tmp_path / name)
    assert read(one, quote(name)) == {"a": [1]}
    for path in (f"{tmp_path}/{quote(name)}", (tmp_path / name).as_uri(), "s3://bucket/f"):
        with pytest.raises(ValueError, match="folder"):
            one.read(path, BitMap64())
    with pytest.raises(FileNotFoundError):
        one.read("missing.parquet", BitMap64())


@pytest.mark.parametrize("key", ["org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96"])
def test_julian_dates_are_refused(tmp_path: Path, key: str) -> None:
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({key: ""}), tmp_path / "f")
    with pytest.raises(ValueError, match="Julian"):
        files(tmp_path, a=pa.int64()).read("f", BitMap64())


def test_names_that_are_there_twice_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "f")
    with pytest.raises(ValueError, match="one name"):
        files(tmp_path, a=pa.int64()).read("f", BitMap64())


def test_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"PAR1")
    with pytest.raises((ValueError, pa.ArrowException)):
        files(tmp_path, a=pa.int64()).read("f", BitMap64())
