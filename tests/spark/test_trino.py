"""Trino reads what Spark reads from mirrors for all readers, through changes of rows and columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from tests.support.spark.sink_rig import INT, LONG, PLAIN, TEXT, TYPES, down, effects, money, table, up
from tests.support.spark.trino import Trino, comparable, micros_of, plain, read, trino
from workers.spark.sinks import DeltaPlace, sink_of
from workers.spark.tables.later import Later
from workers.spark.tables.names import quoted
from workers.spark.tables.table import UPSERT, Column, Effects, Sink, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.pg_once, pytest.mark.long]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def server(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    with trino(tmp_path_factory.mktemp("trino"), store) as running:
        running.query("CREATE SCHEMA delta.mirrors")
        yield running


def rows(server: Trino, sink: Sink, of: Table, at: str) -> list[Any]:
    """The mirror's rows, after the check that Trino and Spark read the same values in the same columns."""
    found = sink.read(of)
    assert found is not None
    types = {field.name: field.dataType for field in found.schema}
    assert [name for name, *_ in server.query(f"DESCRIBE {at}")] == [name.lower() for name in types]
    named = ", ".join('"' + name.replace('"', '""') + '"' for name in types)
    theirs = [
        [read(value, kind) for value, kind in zip(row, types.values(), strict=True)] for row in server.query(f"SELECT {named} FROM {at}")
    ]
    ours = comparable(found.select(*(plain(F.col(quoted(name)), kind).alias(name) for name, kind in types.items())).collect())
    for row in (*theirs, *ours):
        for place, kind in enumerate(types.values()):
            if kind.simpleString() == "timestamp" and row[place] is not None:
                # Trino reads Delta's timestamp in milliseconds.
                row[place] //= 1000
    assert sorted(theirs, key=repr) == sorted(ours, key=repr)
    return sorted(theirs, key=repr)


def test_all_types(spark: SparkSession, server: Trino, store: Path) -> None:
    sink = sink_of(DeltaPlace(str(store / "types"), readers="all"), spark)
    # Trino reads Delta's timestamp in milliseconds with a zone in 64 bits, which have no room for what -infinity becomes.
    types = {name: one for name, one in TYPES.items() if name != "zoned_far"}
    of = table(Column("id", INT), *(Column(name, kind) for name, (kind, _) in types.items()))
    values = F.struct(F.lit(1).alias("id"), *(F.expr(text).cast(kind.type).alias(name) for name, (kind, text) in types.items()))
    kept = F.array().cast("array<string>").alias("kept")
    key = F.struct(F.lit(1).alias("id"))
    row = spark.range(1).select(
        F.lit(UPSERT).alias("op"), key.alias("key"), values.alias("row"), kept, F.lit(1).cast("bigint").alias("lsn")
    )
    sink.apply(0, [Effects(of, Later.of(row))])
    server.query("CALL delta.system.register_table('mirrors', 'types', 'local:///types/s/t')")
    rows(server, sink, of, "delta.mirrors.types")
    assert ["zoned", "timestamp(3) with time zone"] in [row[:2] for row in server.query("DESCRIBE delta.mirrors.types")]


def test_changed_rows_and_columns(spark: SparkSession, server: Trino, store: Path) -> None:
    sink, at = sink_of(DeltaPlace(str(store / "changed"), readers="all"), spark), "delta.mirrors.changed"
    sink.apply(0, [effects(spark, PLAIN, [up(1, "x", 10), up(2, "y", 20), up(3, "z", 30)])])
    server.query("CALL delta.system.register_table('mirrors', 'changed', 'local:///changed/s/t')")
    sink.apply(1, [effects(spark, PLAIN, [up(1, "x2", 11), down(2), up(3, "ignored", 31, kept=["a"])])])
    assert [row[:3] for row in rows(server, sink, PLAIN, at)] == [[1, "x2", 11], [3, "z", 31]]
    wide = replace(PLAIN, columns=(Column("id", LONG), Column("name", TEXT), Column("b", money(20, 2)), Column("d", INT, 7)))
    sink.apply(2, [effects(spark, wide, [up(4, "new", "1.50", 8)])])
    assert [row[3] for row in rows(server, sink, wide, at)] == [7, 7, 8]
    narrow = replace(wide, columns=(wide.columns[0], wide.columns[2], wide.columns[3]))
    sink.apply(3, [effects(spark, narrow, [down(3)])])
    assert [row[0] for row in rows(server, sink, narrow, at)] == [1, 4]


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01", 0),
        ("2024-02-29 23:59:59.999999", 1_709_251_199_999_999),
        ("2024-02-29 23:59:59.5 UTC", 1_709_251_199_500_000),
        ("0000-03-01", -62_162_035_200_000_000),
        ("-0001-12-31", -62_167_305_600_000_000),
        ("+10000-01-01", 253_402_300_800_000_000),
    ],
)
def test_the_reader_of_times_counts_right(text: str, micros: int) -> None:
    assert micros_of(text) == micros
