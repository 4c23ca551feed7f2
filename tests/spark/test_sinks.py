"""Every sink brings the same effects to the same table: one suite for Delta, Iceberg, Parquet and PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType

from tests.support.spark.sink_rig import INT, LONG, PLAIN, TEXT, TYPES, Rows, down, effects, money, names, shown, table, up
from workers.spark.failure import UNREADABLE, JobError
from workers.spark.sinks import DeltaPlace, IcebergPlace, ParquetPlace, PostgresPlace, SinkPlace, parquet, sink_of
from workers.spark.sinks.delta.log_folder import LogFolder
from workers.spark.sinks.delta.sink import DeltaSink
from workers.spark.sinks.iceberg.sink import IcebergSink
from workers.spark.sinks.lake import LakeSink
from workers.spark.sinks.postgres import sink as postgres
from workers.spark.sinks.postgres.sink import PostgresSink
from workers.spark.tables.later import Later
from workers.spark.tables.table import ALL, DELETE, LSN, UPSERT, Column, Effects, Sink, Table

if TYPE_CHECKING:
    from tests.fix_pg import PgServer

pytestmark = pytest.mark.pg_once

KINDS = ("delta", "iceberg", "parquet", "postgres")
LONG_FOR = partial(pytest.param, marks=pytest.mark.long)
# `make test` shows for all sinks that rows of all types come, change and go. The rest it shows for the fastest one, and `make test-long`
# for the others.
OTHERS_AT_LENGTH = pytest.mark.parametrize("make", [*map(LONG_FOR, KINDS[:3]), *KINDS[3:]], indirect=True)
# The steps of columns are other ones in a lake.
TWO_AT_LENGTH = pytest.mark.parametrize("make", [LONG_FOR("delta"), "iceberg", LONG_FOR("parquet"), "postgres"], indirect=True)


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path, pg: PgServer) -> Callable[..., Sink]:
    """Makes the sink of the kind under test, always over the same place."""
    what: str = request.param
    database = pg.database("sinks") if what == "postgres" else None

    def made(**options: Any) -> Sink:
        match what:
            case "delta":
                return sink_of(DeltaPlace(str(tmp_path / "delta"), **options), spark)
            case "iceberg":
                # A catalog's settings are read once in a session.
                catalog = f"ice_{tmp_path.name.translate(str.maketrans('[]-', '___'))}"
                return sink_of(IcebergPlace(catalog, {"type": "hadoop", "warehouse": str(tmp_path / "ice")}, **options), spark)
            case "parquet":
                return sink_of(ParquetPlace(str(tmp_path / "parquet"), **options), spark)
            case _:
                assert database is not None
                return sink_of(PostgresPlace(database.dsn, **options), spark)

    return made


def test_rows_come_change_and_go(make: Callable[..., Sink], spark: SparkSession) -> None:
    sink = make()
    assert sink.read(PLAIN) is None
    sink.apply(0, [effects(spark, PLAIN, [])])
    assert shown(sink, PLAIN) == []
    sink.apply(1, [effects(spark, PLAIN, [up(1, "x", 10), up(2, "y", 20), up(3, "z", 30), down(9)])])
    batch = [up(1, "x2", 11), down(2), up(3, "ignored", 31, kept=["a"]), up(4, "no row to keep of", 40, kept=["a"])]
    for _ in range(2):
        sink.apply(2, [effects(spark, PLAIN, batch)])
        assert shown(sink, PLAIN) == [(1, "x2", 11), (3, "z", 31), (4, None, 40)]
    assert [row[LSN] for row in sink.read(PLAIN).select(LSN).distinct().collect()] == [100]  # type: ignore[union-attr]


@OTHERS_AT_LENGTH
def test_truncate_takes_older_rows_only(make: Callable[..., Sink], spark: SparkSession) -> None:
    sink = make()
    sink.apply(0, [effects(spark, PLAIN, [up(1, "old", 1), up(2, "old", 2), up(3, "toast", 3)], lsn=50)])
    sink.apply(1, [effects(spark, PLAIN, [up(4, "snapshot", 4)], lsn=None)])
    sink.apply(2, [effects(spark, PLAIN, [up(5, "later", 5)], lsn=200)])
    batch = [up(1, "new", 10), up(3, "?", 30, kept=["a"]), up(6, "new", 60)]
    # Without its own LSN a row keeps that of the mirror.
    sink.apply(2, [effects(spark, PLAIN, [up(5, "later", 5, kept=[LSN])], lsn=None)])
    for _ in range(2):
        sink.apply(3, [effects(spark, PLAIN, batch, truncated=100, lsn=150)])
        assert shown(sink, PLAIN) == [(1, "new", 10), (3, None, 30), (5, "later", 5), (6, "new", 60)]
    for _ in range(2):
        sink.apply(4, [effects(spark, PLAIN, [], truncated=180)])
        assert shown(sink, PLAIN) == [(5, "later", 5)]


@OTHERS_AT_LENGTH
def test_row_without_key_comes_once(make: Callable[..., Sink], spark: SparkSession) -> None:
    sink, keyless = make(), table(Column("id", INT), Column("a", TEXT), key=())
    batch: Rows = [(UPSERT, ("p1",), (1, "x"), []), (UPSERT, ("p2",), (1, "x"), [])]
    for _ in range(2):
        sink.apply(0, [effects(spark, keyless, batch)])
        assert shown(sink, keyless) == [(1, "x"), (1, "x")]
    later = [*batch, (UPSERT, ("p3",), (2, None), [])]
    sink.apply(1, [effects(spark, keyless, later, lsn=200)])
    assert shown(sink, keyless) == [(1, "x"), (1, "x"), (2, None)]
    sink.apply(2, [effects(spark, keyless, [(UPSERT, ("p1",), (3, "again"), [])], truncated=300, lsn=300)])
    assert shown(sink, keyless) == [(3, "again")]
    rows: Rows = [(UPSERT, (name,), (at, "x"), []) for at, name in enumerate(("A/1/x", "A/10/x", "A/r/0/5", "A/r/0/7"), 4)]
    sink.apply(3, [effects(spark, keyless, rows, lsn=400)])
    ranges = (("A/1/", "A/10"), ("A/r/0/", "A/r/0/7"))
    again: Rows = [(UPSERT, ("A/r/0/8",), (8, "x"), []), (UPSERT, ("A/r/0/7",), (7, "x"), [])]
    for _ in range(2):
        sink.apply(4, [replace(effects(spark, keyless, again, truncated=400, lsn=400), replaced=ranges)])
        assert shown(sink, keyless) == [(5, "x"), (7, "x"), (8, "x")]


@OTHERS_AT_LENGTH
def test_key_that_comes_and_goes(make: Callable[..., Sink], spark: SparkSession) -> None:
    sink = make()
    keyless = table(Column("id", INT), Column("a", TEXT), key=())
    keyed = replace(keyless, key=("id",))
    sink.apply(0, [effects(spark, keyless, [(UPSERT, ("p1",), (1, "x"), []), (UPSERT, ("p2",), (2, "y"), [])])])
    sink.apply(1, [effects(spark, keyed, [up(1, "x2"), down(2), up(3, "z")])])
    assert shown(sink, keyed) == [(1, "x2"), (3, "z")]
    sink.apply(2, [effects(spark, keyless, [(UPSERT, ("p9",), (1, "twin"), [])])])
    assert shown(sink, keyless) == [(1, "twin"), (1, "x2"), (3, "z")]
    other = replace(keyless, key=("a", "id"))
    batch: Rows = [(UPSERT, ("z", 3), (3, "z"), []), (DELETE, ("twin", 1), None, [])]
    sink.apply(3, [effects(spark, other, batch)])
    assert shown(sink, other) == [(1, "x2"), (3, "z")]


@OTHERS_AT_LENGTH
def test_null_is_a_value_of_a_key(make: Callable[..., Sink], spark: SparkSession) -> None:
    sink, of = make(), table(Column("x", INT), Column("y", TEXT), Column("v", INT), key=("x", "y"))
    sink.apply(0, [effects(spark, of, [up(0, "a", 0, key=2)])])
    sink.apply(1, [effects(spark, of, [up(1, None, 1, key=2), up(None, "b", 2, key=2), up(None, None, 3, key=2), up(1, "a", 4, key=2)])])
    batch = [up(1, None, 10, key=2), down(None, "b"), up(None, None, 30, key=2), up(1, "a", 40, key=2), up(2, None, 5, key=2)]
    for _ in range(2):
        sink.apply(2, [effects(spark, of, batch)])
        assert shown(sink, of) == sorted([(0, "a", 0), (1, None, 10), (None, None, 30), (1, "a", 40), (2, None, 5)], key=repr)


@OTHERS_AT_LENGTH
def test_names_of_any_letters(make: Callable[..., Sink], spark: SparkSession) -> None:
    sink = make()
    odd = Table(
        "My.Schema",
        'a "quoted" `t`, 50%\'s',
        tuple(Column(name, TEXT) for name in ("Id.x", "a`b", 'q"q', "it's", "with space, (and) {more}=;", "ä%s", "back\\slash", "UPPER")),
        ("Id.x", "a`b"),
    )
    values = tuple("abcdefgh")
    for _ in range(2):
        sink.apply(0, [effects(spark, odd, [up(*values, key=2), up(*values[1:], "a", key=2)])])
    sink.apply(1, [effects(spark, odd, [up(*values[:2], *"123456", key=2, kept=["it's", "a`b"])])])
    assert shown(sink, odd) == [("a", "b", "1", "d", "3", "4", "5", "6"), ("b", "c", "d", "e", "f", "g", "h", "a")]
    more = replace(odd, columns=(*(replace(c, name="it'll") if c.name == "it's" else c for c in odd.columns), Column("n.n", INT, 5)))
    sink.apply(2, [effects(spark, more, [down(*values[1:3])])])
    assert names(sink, more) == [column.name for column in more.columns]
    assert shown(sink, more) == [("a", "b", "1", "d", "3", "4", "5", "6", 5)]


@pytest.mark.long
def test_names_and_keys_that_look_like_references(make: Callable[..., Sink], spark: SparkSession) -> None:
    # Spark's SQL replaces ${env:HOME}, ${system:user.dir} and ${<setting>} in any statement, even in quotes, unless this is disabled.
    column, key = "${env:HOME}", '${env:PATH} `${spark.app.name}` "x".y'
    sink, of = make(), Table("${env:USER}", "t${env:HOME}", (Column("id", TEXT), Column(column, TEXT), Column("n", INT)), ("id",))
    sink.apply(0, [effects(spark, of, [up(key, "a", 1), up("other", column, 2)])])
    for _ in range(2):
        sink.apply(1, [effects(spark, of, [up(key, "b", 3, kept=[column]), up("other", "c", 4)])])
        assert names(sink, of) == ["id", column, "n"]
        assert shown(sink, of) == [(key, "a", 3), ("other", "c", 4)]
    renamed = replace(of, columns=(of.columns[0], Column("${env:PATH}", TEXT), of.columns[2], Column("${env:USER}", TEXT, column)))
    sink.apply(2, [effects(spark, renamed, [down("other")])])
    assert names(sink, renamed) == ["id", "${env:PATH}", "n", "${env:USER}"]
    assert shown(sink, renamed) == [(key, "a", 3, column)]


@OTHERS_AT_LENGTH
def test_tables_side_by_side(make: Callable[..., Sink], spark: SparkSession) -> None:
    sink = make()
    tables = [replace(PLAIN, name=f"t{number}") for number in range(3)]
    sink.apply(0, [effects(spark, of, [up(number, of.name, number)]) for number, of in enumerate(tables)])
    for number, of in enumerate(tables):
        assert shown(sink, of) == [(number, of.name, number)]


@OTHERS_AT_LENGTH
def test_table_of_two_topics_has_the_rows_of_both(make: Callable[..., Sink], spark: SparkSession) -> None:
    sink = make()
    other = replace(PLAIN, name="other")
    batch = [
        effects(spark, PLAIN, [up(1, "first", 1), up(3, "first", 1)], truncated=ALL),
        effects(spark, other, [up(9, "other", 9)]),
        effects(spark, PLAIN, [up(2, "second", 2), up(3, "second", 2)]),
    ]
    for number in range(2):
        sink.apply(number, batch)
        assert shown(sink, PLAIN) == [(1, "first", 1), (2, "second", 2), (3, "second", 2)]
        assert shown(sink, other) == [(9, "other", 9)]


@TWO_AT_LENGTH
def test_columns_follow_the_source(make: Callable[..., Sink], spark: SparkSession) -> None:
    sink = make()
    sink.apply(0, [effects(spark, PLAIN, [up(1, "7", 10), up(2, "8.6", 20), up(3, None, None)])])
    renamed = table(Column("id", INT), Column("A", TEXT), Column("b", LONG), Column("n", TEXT))
    sink.apply(1, [effects(spark, renamed, [up(2, "8.6", 20, "n")])])
    assert names(sink, renamed) == ["id", "A", "b", "n"]
    assert shown(sink, renamed) == [(1, "7", 10, None), (2, "8.6", 20, "n"), (3, None, None, None)]
    defaults = table(*renamed.columns, Column("d", INT, 5), Column("m", money(10, 2), "AN4="))
    sink.apply(2, [effects(spark, defaults, [up(2, "8.6", 20, "n", None, None)])])
    assert shown(sink, defaults) == [
        (1, "7", 10, None, 5, Decimal("2.22")),
        (2, "8.6", 20, "n", None, None),
        (3, None, None, None, 5, Decimal("2.22")),
    ]
    dropped = table(Column("id", INT), Column("A", TEXT), Column("d", INT, 5))
    sink.apply(3, [effects(spark, dropped, [])])
    assert names(sink, dropped) == ["id", "A", "d"]
    # A column that the events had left out so far, in the middle; then the same columns again.
    shown_now = table(Column("id", INT), Column("A", TEXT), Column("h", INT), Column("d", INT, 5))
    for _ in range(2):
        sink.apply(3, [effects(spark, shown_now, [])])
        assert shown(sink, table(Column("id", INT)))[0][:2] == (1, "7")
        assert sorted(names(sink, shown_now)) == ["A", "d", "h", "id"]
    retyped = table(Column("id", LONG), Column("A", INT), Column("d", TEXT))
    for _ in range(2):
        sink.apply(4, [effects(spark, retyped, [up(2**40, 1, "x")])])
        assert shown(sink, retyped) == [(1, 7, "5"), (2**40, 1, "x"), (2, 9, None), (3, None, "5")]


@pytest.mark.long
def test_columns_go_the_way_that_the_events_showed(make: Callable[..., Sink], spark: SparkSession) -> None:
    sink = make()
    sink.apply(0, [effects(spark, PLAIN, [up(1, "x", 10)])])
    wider = table(*PLAIN.columns, Column("n", TEXT, "n"))
    renamed = table(Column("id", INT), Column("a", TEXT), Column("count", LONG), Column("n", TEXT, "n"))
    newest = table(*renamed.columns[:3], Column("m", TEXT, "n"), Column("more", INT))
    batch = replace(effects(spark, newest, [up(2, "y", 20, "m", 5)]), passed=(wider, renamed))
    for _ in range(2):
        sink.apply(1, [batch])
        assert shown(sink, newest) == [(1, "x", 10, "n", None), (2, "y", 20, "m", 5)]
    sink.apply(2, [replace(effects(spark, newest, [down(2)]), passed=(newest,))])
    assert shown(sink, newest) == [(1, "x", 10, "n", None)]


@OTHERS_AT_LENGTH
def test_dropped_columns_may_stay(make: Callable[..., Sink], spark: SparkSession) -> None:
    sink = make(drop_columns=False)
    sink.apply(0, [effects(spark, PLAIN, [up(1, "x", 10), up(2, "y", 20)])])
    less = table(Column("id", INT), Column("b", LONG))
    for _ in range(2):
        sink.apply(1, [effects(spark, less, [up(1, 11), up(3, 30)])])
        found = sink.read(less)
        assert found is not None
        assert sorted(tuple(row) for row in found.select("id", "a", "b").collect()) == [(1, "x", 11), (2, "y", 20), (3, None, 30)]
    # The column that stays does not get the new name of another one.
    four = table(Column("id", INT), Column("a", TEXT), Column("c", TEXT), Column("b", LONG), name="four")
    three, renamed = (replace(four, columns=(four.columns[0], replace(four.columns[2], name=name), four.columns[3])) for name in "cd")
    sink.apply(2, [effects(spark, four, [up(1, "old", "x", 10)])])
    sink.apply(3, [effects(spark, three, [up(2, "y", 20)])])
    for _ in range(2):
        sink.apply(4, [replace(effects(spark, renamed, [up(3, "z", 30)]), former=three)])
        found = sink.read(renamed)
        assert found is not None
        rows = sorted(tuple(row) for row in found.select("id", "a", "d", "b").collect())
        assert (rows, "c" in found.columns) == ([(1, "old", "x", 10), (2, None, "y", 20), (3, None, "z", 30)], False)


def test_values_of_all_types(make: Callable[..., Sink], spark: SparkSession) -> None:
    sink = make()
    of = table(Column("id", INT), *(Column(name, kind_) for name, (kind_, _) in TYPES.items()))
    values = ", ".join(f"'{name}', cast({sql} as {kind_.type.simpleString()})" for name, (kind_, sql) in TYPES.items())
    nulls = ", ".join(f"'{name}', cast(null as {kind_.type.simpleString()})" for name, (kind_, _) in TYPES.items())
    query = "select 'upsert' op, named_struct('id', {n}) key, named_struct('id', {n}, {values}) row, array() kept, 1L lsn"
    sent = spark.sql(" union all ".join([query.format(n=1, values=values), query.format(n=2, values=nulls)]))
    batch = Effects(of, Later.of(sent.withColumn("kept", F.col("kept").cast("array<string>"))))
    for _ in range(2):
        sink.apply(0, [batch])
        found = sink.read(of)
        assert found is not None
        assert shown_as_text(found, TYPES) == shown_as_text(sent.select("row.*"), TYPES)


def shown_as_text(rows: DataFrame, columns: Collection[str]) -> dict[tuple[int, str], str | None]:
    """Each cell as text, which holds all that a value is: bytes as hex, documents as JSON."""
    shape = {field.name: field.dataType for field in rows.schema.fields}

    def text(name: str) -> SparkColumn:
        value = F.col(name)
        if isinstance(shape[name], BinaryType):
            return F.hex(value)
        return F.to_json(value) if isinstance(shape[name], ArrayType | MapType | StructType) else value.cast("string")

    found = rows.select("id", *(text(name).alias(name) for name in columns)).collect()
    return {(row["id"], name): row[name] for row in found for name in columns}


# Where each sink is stopped in three batches (new tables; columns by metadata; columns by a rewrite), and how many calls go well before:
# so one table's batch is in and another's is not, or the columns are done and the rows are not, or a folder is half swapped.
CRASHES: dict[str, list[list[tuple[Any, str, int]]]] = {
    "delta": [[(LogFolder, "add", 1)], [(LakeSink, "_statement", 1)], [(DeltaSink, "rewrite", 0), (LakeSink, "_bring", 0)]],
    "iceberg": [[(LakeSink, "_bring", 1)], [(LakeSink, "_statement", 1)], [(IcebergSink, "rewrite", 0), (LakeSink, "_bring", 0)]],
    "parquet": [
        [(parquet._Folders, "swap", 0)],
        [(parquet._Folders, "_rename", calls) for calls in (1, 2, 3)],
        [(parquet, "batch_rows", 1)],
    ],
    "postgres": [[(PostgresSink, "_bring", 1)], [(postgres, "inserts", 1)], [(PostgresSink, "_note", 0), (PostgresSink, "_stage", 1)]],
}


@OTHERS_AT_LENGTH
def test_crash_at_any_point_is_repaired(make: Callable[..., Sink], spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    sink, other = make(), replace(PLAIN, name="other")
    changed = table(Column("id", INT), Column("b", LONG), Column("n", TEXT))
    wide = table(*changed.columns, Column("d", INT, 7))
    batches = [
        [effects(spark, PLAIN, [up(1, "x", 10), up(2, "y", 20)]), effects(spark, other, [up(1, "x", 10), up(3, "w", 30)])],
        [effects(spark, changed, [up(2, 21, "n")]), effects(spark, other, [up(1, "x2", 11), up(5, "z", 50)])],
        [effects(spark, wide, [up(3, 30, None, 8)]), effects(spark, other, [down(3)])],
    ]
    crashed = 0
    for number, (of, places) in enumerate(zip(batches, CRASHES[kind_of_sink(sink)], strict=True)):
        for place, name, calls in places:
            with monkeypatch.context() as patch:
                patch.setattr(place, name, stops(getattr(place, name), calls))
                try:
                    sink.apply(number, of)
                except RuntimeError:
                    crashed += 1
            # Readers always find a table.
            assert number == 0 or sink.read(other) is not None
        sink = make()
        sink.apply(number, of)
    assert crashed == sum(map(len, CRASHES[kind_of_sink(sink)]))
    assert shown(sink, wide) == [(1, 10, None, 7), (2, 21, "n", 7), (3, 30, None, 8)]
    assert shown(sink, other) == [(1, "x2", 11), (5, "z", 50)]


def stops(call: Callable[..., Any], calls: int) -> Callable[..., Any]:
    left = [calls]

    def stopping(*arguments: Any, **named: Any) -> Any:
        if not left[0]:
            raise RuntimeError("the machine stopped")
        left[0] -= 1
        return call(*arguments, **named)

    return stopping


def kind_of_sink(sink: Sink) -> str:
    return type(sink).__name__.removesuffix("Sink").lower()


@OTHERS_AT_LENGTH
def test_missing_table_is_not_created_again(make: Callable[..., Sink], spark: SparkSession) -> None:
    sink = make()
    batch = replace(effects(spark, PLAIN, [up(1, "x", 10)]), known=True)
    with pytest.raises(JobError, match=r"The table .*t.* is gone, .* start once with --rebuild s\.t\.") as refused:
        sink.apply(3, [batch])
    assert refused.value.code == UNREADABLE
    assert sink.read(PLAIN) is None
    sink.apply(0, [replace(batch, known=False)])
    sink.apply(1, [batch])
    # All rows are replaced, whatever made them, in one commit.
    keyless = replace(PLAIN, key=(), name="k")
    rows: Rows = [(UPSERT, (f"p{at}",), (at, "k", at), []) for at in range(3)]
    sink.apply(2, [effects(spark, keyless, rows)])
    again = [effects(spark, PLAIN, [up(2, "y", 20)], truncated=ALL, lsn=None), effects(spark, keyless, rows[:1], truncated=ALL)]
    for _ in range(2):
        sink.apply(3, again)
        assert (shown(sink, PLAIN), shown(sink, keyless)) == ([(2, "y", 20)], [(0, "k", 0)])


@pytest.mark.parametrize("format_", ["delta", "iceberg", "parquet"])
def test_place_that_cannot_be_written_is_named(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    (tmp_path / "file").touch()
    folder = str(tmp_path / "file" / "tables")
    places: dict[str, SinkPlace] = {
        "delta": DeltaPlace(folder),
        "iceberg": IcebergPlace(f"ice_{tmp_path.name.translate(str.maketrans('[]-', '___'))}", {"type": "hadoop", "warehouse": folder}),
        "parquet": ParquetPlace(folder),
    }
    said = rf"The table s\.t could not be read or written at .*{re.escape(folder)}.* \(\w+\)\. Check"
    with pytest.raises(JobError, match=said) as refused:
        sink_of(places[format_], spark).apply(0, [effects(spark, PLAIN, [up(1, "secret", 1)])])
    assert refused.value.code == UNREADABLE


def test_foreign_table_is_not_changed(make: Callable[..., Sink], spark: SparkSession, tmp_path: Path) -> None:
    sink = make()
    clash = table(Column("id", INT), Column("__lsn", INT))
    with pytest.raises(JobError, match="has a column __lsn"):
        sink.apply(0, [effects(spark, clash, [])])
    rows = spark.sql("select 1 id, 'x' a, 10L b")
    match sink:
        case DeltaSink():
            rows.write.format("delta").save(str(tmp_path / "delta" / "s" / "t"))
        case IcebergSink():
            sink.create(spark, PLAIN, "id int, a string, b bigint")
            rows.writeTo(sink.identifier(PLAIN)).append()
        case PostgresSink():
            with psycopg.connect(sink._dsn) as connection:
                connection.execute("CREATE SCHEMA s")
                connection.execute("CREATE TABLE s.t AS SELECT 1 id, 'x' a, 10::bigint b")
        case _:
            rows.write.parquet(str(tmp_path / "parquet" / "s" / "t"))
    with pytest.raises(JobError, match="is not a mirror"):
        sink.apply(0, [effects(spark, PLAIN, [up(1, "y", 20)], truncated=1000)])
    found = sink.read(PLAIN)
    assert found is not None
    assert [tuple(row) for row in found.collect()] == [(1, "x", 10)]
