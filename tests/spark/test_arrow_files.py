"""Files of Delta tables that Arrow writes are read, changed and joined by Spark as its own, and by other readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest
from deltalake import DeltaTable, QueryBuilder

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import DataFrame, SparkSession

from tests.support.spark.duck import duck
from tests.support.spark.sink_rig import FAR_DAYS
from workers.spark.sinks.delta.arrow_files import ArrowFiles
from workers.spark.sinks.delta.commit import DeltaTableFiles
from workers.spark.sinks.delta.readers import MICROSECONDS, PROPERTIES
from workers.spark.types import INFINITE_MICROS

__all__ = ["duck"]
pytestmark = pytest.mark.pg_once

EARLIEST, LATEST = min(INFINITE_MICROS), max(INFINITE_MICROS)
DAYS = (-719_162, -719_163, 2_932_896, -141_438, -1, FAR_DAYS, 4_000_000)
"""Years 1, 0 and 9999; the last day of the Julian calendar; and others that Python does not have."""
MICROS = (-1, -62_135_596_800_000_001, 253_402_300_799_999_999, -12_220_156_800_000_001, -300_000_000_000_000_000, EARLIEST, LATEST)
OCTETS = (b"", b"\x00\xff\\", "ä".encode(), b"\x00", b"x" * 300, b" ", b"\xff")
TEXTS = ("", "ä€😀", "NULL", "a\u0000b", " ", "x" * 300, "\ufffd")


def _casts(values: Sequence[Any], kind: str) -> Sequence[str]:
    return [f"cast({value} as {kind})" for value in values]


def _numbers(values: Sequence[Any], kind: str) -> Sequence[str]:
    return _casts([f"'{value}'" for value in values], kind)


def _bytes(values: Sequence[bytes]) -> Sequence[str]:
    return [f"X'{value.hex()}'" for value in values]


COLUMNS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "flag": ("boolean", ["true", "false", "true", "false", "true", "false", "true"]),
    "short": ("smallint", _numbers((-32768, 32767, 0, -1, 1, 2, 3), "smallint")),
    "number": ("int", _numbers((-(2**31), 2**31 - 1, 0, -1, 1, 2, 3), "int")),
    "long": ("bigint", _numbers((-(2**63), 2**63 - 1, 0, -1, 1, 2, 3), "bigint")),
    "single": ("float", _numbers(("NaN", "-Infinity", "Infinity", "-0.0", "1.5", "1.4E-45", "3.4028235E38"), "float")),
    "double": ("double", _numbers(("NaN", "-Infinity", "Infinity", "-0.0", "1.5", "4.9E-324", "1.7976931348623157E308"), "double")),
    "price": (
        "decimal(12,2)",
        _numbers(("-9999999999.99", "9999999999.99", "-0.01", "0", "0.01", "1", "1.50"), "decimal(12,2)"),
    ),
    "whole": ("decimal(9,0)", _numbers((-999_999_999, 999_999_999, 0, -1, 1, 2, 3), "decimal(9,0)")),
    "wide": (
        "decimal(38,10)",
        _numbers((f"-{'9' * 28}.{'9' * 10}", f"{'9' * 28}.{'9' * 10}", "0", "-0.0000000001", "1", "2", "3"), "decimal(38,10)"),
    ),
    "text": ("string", [f"cast({octets} as string)" for octets in _bytes([text.encode() for text in TEXTS])]),
    "octets": ("binary", _bytes(OCTETS)),
    "day": ("date", [f"date_from_unix_date({days})" for days in DAYS]),
    "zoned": ("timestamp", [f"timestamp_micros({micros}L)" for micros in MICROS]),
    "local": ("timestamp_ntz", [f"cast(timestamp_micros({micros}L) as timestamp_ntz)" for micros in MICROS]),
}
"""Column → its type, and a value of each row as SQL, in a session whose zone is UTC. A row of nulls comes after them."""


@pytest.fixture(autouse=True)
def _sparks_own_times(spark: SparkSession) -> Iterator[None]:
    """Spark writes times with a zone as it does by default, also after a test that has set another type."""
    former = spark.conf.get(MICROSECONDS[0])
    spark.conf.set(MICROSECONDS[0], "INT96")
    yield
    spark.conf.set(MICROSECONDS[0], str(former))


class MadeTable:
    """A Delta table in ``folder``, as the sink for ``readers`` makes it."""

    def __init__(self, spark: SparkSession, folder: Path, columns: str, readers: str = "spark") -> None:
        self.spark, self.folder, self.name = spark, folder, f"delta.`{folder}`"
        properties = ", ".join(f"'{name}' = '{value}'" for name, value in PROPERTIES[readers].items())
        spark.sql(f"CREATE TABLE {self.name} ({columns}) USING delta TBLPROPERTIES ({properties})")

    def sql(self, statement: str) -> DataFrame:
        """Run the statement, in which ``{t}`` is the table."""
        return self.spark.sql(statement.replace("{t}", self.name))

    def files(self) -> DeltaTableFiles:
        made = DeltaTableFiles(self.spark, str(self.folder))
        made.prepare()
        return made

    def add(self, rows: pa.Table) -> None:
        """Add a file that Arrow writes."""
        files = self.files()
        files.commit(files.version + 1, [], [files.write_arrow(rows)], "WRITE", {})

    def read(self) -> pa.Table:
        """The rows as Arrow reads the files one by one."""
        files = self.files()
        arrow = arrow_of(files)
        return pa.concat_tables([arrow.read(str(file.path()), files.vectors.read(file.deletionVector())) for file in files.files()])

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as Spark reads them."""
        return sorted((tuple(row) for row in self.sql("SELECT * FROM {t}").collect()), key=repr)

    def check(self) -> list[tuple[Any, ...]]:
        """The rows, after the check that Arrow and Spark read the same ones."""
        found = self.rows()
        assert sorted(zip(*(column.to_pylist() for column in self.read().columns), strict=True), key=repr) == found
        return found


def arrow_of(files: DeltaTableFiles) -> ArrowFiles:
    found = files.arrow
    assert found is not None
    return found


def all_types(spark: SparkSession, folder: Path, readers: str) -> MadeTable:
    return MadeTable(spark, folder, "id int, " + ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items()), readers)


def arrow_rows() -> pa.Table:
    """The rows of :data:`COLUMNS`. The numbers are parsed by Arrow, not by Spark."""

    def numbers(name: str, kind: pa.DataType) -> pa.Array:
        return pa.array([text.split("'")[1] for text in COLUMNS[name][1]]).cast(kind)

    values = {
        "id": pa.array(range(7), pa.int32()),
        "flag": pa.array([True, False, True, False, True, False, True]),
        "short": numbers("short", pa.int16()),
        "number": numbers("number", pa.int32()),
        "long": numbers("long", pa.int64()),
        "single": numbers("single", pa.float32()),
        "double": numbers("double", pa.float64()),
        "price": numbers("price", pa.decimal128(12, 2)),
        "whole": numbers("whole", pa.decimal128(9, 0)),
        "wide": numbers("wide", pa.decimal128(38, 10)),
        "text": pa.array(TEXTS),
        "octets": pa.array(OCTETS),
        "day": pa.array(DAYS, pa.int32()).cast(pa.date32()),
        "zoned": pa.array(MICROS, pa.int64()).cast(pa.timestamp("us", tz="UTC")),
        "local": pa.array(MICROS, pa.int64()).cast(pa.timestamp("us")),
    }
    table = pa.table(values)
    nulls = pa.table([pa.array([7], pa.int32()), *(pa.nulls(1, kind) for kind in table.schema.types[1:])], schema=table.schema)
    return pa.concat_tables([table, nulls])


def inserted(made: MadeTable) -> None:
    """Have Spark write the rows of :data:`COLUMNS`, as one file."""
    rows = [f"({at}, {', '.join(texts[at] for _, texts in COLUMNS.values())})" for at in range(7)]
    made.sql(f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join([*rows, '(7' + ', null' * len(COLUMNS) + ')'])}")


def exact(made: MadeTable) -> list[tuple[Any, ...]]:
    """The rows that Spark reads, as texts: Python has no year beyond 9999, and no NaN that equals itself."""
    there = {"octets": "hex(octets)", "text": "hex(text)", "zoned": "unix_micros(zoned)", "day": "unix_date(day)"}
    columns = ", ".join(f"cast({there.get(name, name)} as string)" for name in COLUMNS)
    return [tuple(row) for row in made.sql(f"SELECT id, {columns} FROM {{t}} ORDER BY id").collect()]


@pytest.mark.parametrize("readers", ["spark", pytest.param("all", marks=pytest.mark.long)])
def test_spark_and_arrow_read_each_others_rows_of_all_types(
    spark: SparkSession, duck: duckdb.DuckDBPyConnection, tmp_path: Path, readers: str
) -> None:
    ours, sparks = (all_types(spark, tmp_path / name, readers) for name in ("ours", "sparks"))
    rows = arrow_rows()
    former = spark.conf.get(MICROSECONDS[0])
    if readers == "all":
        # As the sink does.
        spark.conf.set(*MICROSECONDS)
    try:
        inserted(sparks)
    finally:
        spark.conf.set(MICROSECONDS[0], str(former))
    ours.add(rows)
    assert len(exact(ours)) == 8
    assert exact(ours) == exact(sparks)
    for made in (ours, sparks):
        assert_same(made.read(), rows)
    # The statistics of the file hide none of the rows.
    # Spark itself fails to look for its first times, which are the last ones here.
    wanted = [(name, text) for name, (_, texts) in COLUMNS.items() for text in texts[:2]]
    looks = " UNION ALL ".join(f"SELECT {at} AS at FROM {{t}} WHERE {name} = {text}" for at, (name, text) in enumerate(wanted))
    found = {row["at"] for row in ours.sql(looks).collect()}
    assert [what for at, what in enumerate(wanted) if at not in found] == []
    for name in ("single", "double"):
        assert [row["id"] for row in ours.sql(f"SELECT id FROM {{t}} WHERE {name} > float('Infinity')").collect()] == [0]
    if readers == "all":
        agreed(duck, ours, sparks)


@pytest.mark.parametrize("readers", ["spark", "all"])
def test_rows_are_found_by_their_bounds(spark: SparkSession, duck: duckdb.DuckDBPyConnection, tmp_path: Path, readers: str) -> None:
    made = MadeTable(spark, tmp_path / "t", "id int, text string, day date, zoned timestamp, local timestamp_ntz", readers)
    # Of the first and of the last one the statistics, in milliseconds, lack some microseconds.
    micros = pa.array([-1_001, 1_704_164_645_678_901, 1_704_164_645_678_999], pa.int64())
    values = {
        "id": pa.array([-1, 0, 7], pa.int32()),
        "text": pa.array(["", "\uff5e", "\U0001f600"]),
        "day": pa.array([-1, 0, 19_782], pa.int32()).cast(pa.date32()),
        "zoned": micros.cast(pa.timestamp("us", "UTC")),
        "local": micros.cast(pa.timestamp("us")),
    }
    made.add(pa.table(values))
    made.sql("INSERT INTO {t} SELECT id + 100, 'zzz', date'2030-01-01', timestamp'2030-01-01', timestamp_ntz'2030-01-01' FROM {t}")
    texts = {name: [str(value) for value in column.cast(pa.string()).to_pylist()] for name, column in values.items()}
    kinds = {"id": "int", "text": "string", "day": "date", "zoned": "timestamp", "local": "timestamp_ntz"}
    others = {**kinds, "text": "varchar", "zoned": "timestamp with time zone", "local": "timestamp"}
    for name, known in texts.items():
        for at, text in enumerate(known):
            (row,) = made.sql(f"SELECT id FROM {{t}} WHERE {name} = cast('{text}' as {kinds[name]})").collect()
            assert row["id"] == values["id"][at].as_py()
            if readers == "all":
                looked = f"SELECT id FROM delta_scan('{made.folder}') WHERE {name} = cast('{text}' as {others[name]})"
                assert duck.execute(looked).fetchall() == [(row["id"],)]
                rust = QueryBuilder().register("mirror", DeltaTable(str(made.folder)))
                found = pa.table(rust.execute(f"SELECT id FROM mirror WHERE {name} = cast('{text}' as {others[name]})").read_all())
                assert found["id"].to_pylist() == [row["id"]]
    first = made.sql("SELECT min(id), min(zoned) = timestamp_micros(-1001L), min(day), max(text), max(id) FROM {t}").first()
    assert first == (-1, True, date(1969, 12, 31), "\U0001f600", 107)


def assert_same(found: pa.Table, rows: pa.Table) -> None:
    """Check that the tables have the same rows, whatever their columns' names are."""
    for one, two in zip(found.columns, rows.columns, strict=True):
        # Arrow's NaN is equal to nothing.
        assert str(one.to_pylist()) == str(two.to_pylist()) if pa.types.is_floating(one.type) else one.equals(two)


def agreed(duck: duckdb.DuckDBPyConnection, ours: MadeTable, sparks: MadeTable) -> None:
    """Check that DuckDB and delta-rs read the same rows from both tables."""
    for name, made in (("ours", ours), ("sparks", sparks)):
        duck.execute(f"CREATE OR REPLACE TEMP TABLE duck_{name} AS SELECT * FROM delta_scan('{made.folder}')")
        rust = QueryBuilder().register("mirror", DeltaTable(str(made.folder))).execute("SELECT * FROM mirror")
        duck.register("arrow", rust)
        duck.execute(f"CREATE OR REPLACE TEMP TABLE rust_{name} AS SELECT * FROM arrow")
        duck.unregister("arrow")
    # Spark's times of these tables are in a type that other readers do not read rightly (test_delta_readers.py), if they are far.
    for one, two in (("duck_ours", "duck_sparks"), ("rust_ours", "rust_sparks"), ("duck_ours", "rust_ours")):
        for left, right in ((one, two), (two, one)):
            found_only = f"SELECT count(*) FROM (SELECT * FROM {left} EXCEPT ALL SELECT * FROM {right})"
            assert duck.execute(found_only).fetchone() == (0,), f"{left} has rows that {right} lacks"
    assert duck.execute("SELECT count(*), count(zoned), min(id), max(id) FROM duck_ours").fetchone() == (8, 7, 0, 7)


def test_older_files_are_read_after_changes_of_columns(spark: SparkSession, tmp_path: Path) -> None:
    made = MadeTable(spark, tmp_path / "t", "id smallint, a string, n int, f float, p decimal(6,2)")
    kinds = [pa.int16(), pa.string(), pa.int32(), pa.float32(), pa.decimal128(6, 2)]

    def old(at: int) -> pa.Table:
        return pa.table(
            [pa.array([value], kind) for value, kind in zip((at, f"a{at}", -at, at + 0.5, Decimal(at)), kinds, strict=True)],
            names=list("12345"),
        )

    made.add(old(1))
    made.sql("INSERT INTO {t} VALUES (2, 'a2', -2, 2.5, 2)")
    stale = made.files()
    made.sql("ALTER TABLE {t} ADD COLUMN b date")
    made.sql("ALTER TABLE {t} RENAME COLUMN a TO `a name, of any letters`")
    for change in ("id TYPE int", "n TYPE bigint", "f TYPE double", "p TYPE decimal(12,4)"):
        made.sql(f"ALTER TABLE {{t}} ALTER COLUMN {change}")
    before = made.check()
    assert [row[:5] for row in before] == [(at, f"a{at}", -at, at + 0.5, at) for at in (1, 2)]
    new = [
        pa.array([value], kind)
        for value, kind in (
            (3, pa.int32()),
            ("a3", pa.string()),
            (2**40, pa.int64()),
            (3.25, pa.float64()),
            (Decimal(3), pa.decimal128(12, 4)),
        )
    ]
    made.add(pa.table([*new, pa.array([date(1582, 10, 1)])], names=list("123456")))
    assert [row[:4] for row in made.check()] == [(1, "a1", -1, 1.5), (2, "a2", -2, 2.5), (3, "a3", 2**40, 3.25)]
    made.sql("ALTER TABLE {t} DROP COLUMN n")
    made.sql("INSERT INTO {t} VALUES (4, 'a4', 4.5, 4.1234, date'0001-01-01')")
    assert [row[:3] for row in made.check()] == [(1, "a1", 1.5), (2, "a2", 2.5), (3, "a3", 3.25), (4, "a4", 4.5)]
    # Files of a version that is no longer the newest are still those that it knew.
    assert arrow_of(stale).schema.types == kinds


def test_spark_changes_and_joins_files_of_arrow(spark: SparkSession, tmp_path: Path) -> None:
    made = MadeTable(spark, tmp_path / "t", "id bigint, a string")

    def rows(*ids: int) -> pa.Table:
        return pa.table({"id": pa.array(ids, pa.int64()), "a": [f"a{at}" for at in ids]})

    made.add(rows(*range(10)))
    made.add(rows(10, 11, 12))
    made.sql(
        "MERGE INTO {t} USING (SELECT * FROM VALUES (3L, 'b3'), (11L, null), (20L, 'b20') AS s(id, b)) s ON {t}.id = s.id "
        "WHEN MATCHED AND b IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET a = b WHEN NOT MATCHED THEN INSERT (id, a) VALUES (id, b)"
    )
    made.sql("DELETE FROM {t} WHERE id = 5")
    expected = {at: f"a{at}" for at in (*range(10), 10, 12)} | {3: "b3", 20: "b20"}
    del expected[5]
    assert dict(made.check()) == expected
    # The rows of Arrow's files were marked, and the files stay.
    assert sum(file.deletionVector() is not None for file in made.files().files()) == 2
    made.sql("OPTIMIZE {t}")
    assert dict(made.check()) == expected
    assert len(made.files().files()) == 1
    made.add(rows(30))
    assert dict(made.check()) == expected | {30: "a30"}


def test_table_is_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    scalar, nested = (MadeTable(spark, tmp_path / name, f"id int, a {kind}") for name, kind in (("s", "string"), ("n", "array<int>")))
    files = DeltaTableFiles(spark, str(scalar.folder))
    # The way in which files are written is not known yet.
    assert files.arrow is None
    with pytest.raises(ValueError, match="no files that Arrow writes"):
        files.write_arrow(pa.table({"id": [1], "a": ["x"]}))
    files.prepare()
    assert arrow_of(files).schema.types == [pa.int32(), pa.string()]
    assert nested.files().arrow is None
    add = files.write_arrow(pa.table({"id": [1], "a": ["x"]}))
    assert '"numRecords": 1' in str(add.stats())
    assert arrow_of(files).read(str(add.path()), BitMap64()).num_rows == 1
    assert scalar.rows() == []


@pytest.mark.parametrize(
    "micros",
    [
        -210_866_803_200_000_000,
        *(pytest.param(at, marks=pytest.mark.long) for at in (-210_866_803_200_000_001, -210_866_889_600_000_000, 0)),
    ],
)
def test_ambiguous_time_of_spark_is_refused(spark: SparkSession, tmp_path: Path, micros: int) -> None:
    made = MadeTable(spark, tmp_path / "t", "zoned timestamp")
    made.sql(f"INSERT INTO {{t}} VALUES (timestamp_micros({micros}L))")
    with pytest.raises(ValueError, match="times that Arrow cannot read"):
        made.read()
    made.add(made.sql("SELECT * FROM {t}").toArrow())
    assert [row[0] for row in made.sql("SELECT unix_micros(zoned) FROM {t}").collect()] == [micros, micros]
