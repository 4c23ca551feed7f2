"""Verifies that a mirror equals its source table, and names the keys that differ.

The executors that read the sides compute the rows' checksums. First they sum the checksums by buckets of keys: only a few numbers per
bucket leave the executors, without a shuffle. Then only the rows of differing buckets are grouped by key. If the source is in use,
differences are compared again with a later snapshot of it before they are reported.

The checksum of a value is xxHash64 of its canonical text (``Kind.text``, ``Kind.normal``). The checksum of a row is that of its values'
checksums. It detects accidents, not forgeries: one wrong row remains undetected with probability 2^-64.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import NumericType

from workers.spark.compare.checksums import BUCKETS, SIGNS, Shape, checksums, shape_of
from workers.spark.compare.verdict import BOTH, MIRROR, SOURCE, Difference, Verdict
from workers.spark.failure import UNREADABLE, JobError
from workers.spark.source.lsn import lsn_text
from workers.spark.source.relation import table_columns
from workers.spark.source.snapshot import Snapshot, exported_snapshot, read_texts
from workers.spark.tables.table import Table

FEW_KEYS: Final = 100_000
"""Up to this number of keys are sent to every executor for a further look. More are joined by a shuffle."""
PAUSE_SECONDS: Final = 0.5

ReadMirror = Callable[[], DataFrame | None]
"""Reads the present mirror (``Sink.read``); None if it does not exist."""
HasReached = Callable[[int], bool]
"""Whether the mirror holds everything that the source committed up to this LSN."""


def verify(
    spark: SparkSession,
    dsn: str,
    table: Table,
    mirror: ReadMirror,
    *,
    keys: int = 20,
    partitions: int | None = None,
    reached: HasReached | None = None,
    patience: float = 600,
    rounds: int = 3,
) -> Verdict:
    """Compare the source's table with its mirror. At most ``keys`` of the differing keys are named.

    The source is read in one snapshot and in parallel (``partitions`` ranges of pages; by default the number depends on the size). The
    mirror's own columns (``__lsn``, ``__position``) are not compared. A table without a key, or whose key cannot be compared, is a
    multiset of rows.

    Without ``reached`` the source must not change. With it, each comparison waits until the mirror has reached the position of the
    source's snapshot. Differing keys are compared again, up to ``rounds`` times in all, until none differs or all differ as before. Keys
    that differ in another way at the last comparison are counted as changing, and the verdict is not equal.

    Raises JobError(UNREADABLE) when the mirror does not reach the position within ``patience`` seconds, and psycopg's and Spark's errors
    when a side cannot be read. No error contains a value of a cell.
    """
    with _snapshot(dsn, table, reached, patience) as snapshot:
        frame = mirror()
        if frame is None:
            return Verdict(table.full_name, position=snapshot.position, absent=MIRROR)
        shape = shape_of(table, table_columns(snapshot.connection, snapshot.table), frame)
        both = checksums(read_texts(spark, snapshot, shape.columns, partitions), frame, shape)
        position = snapshot.position
        rows, buckets = _look(both)
        if not buckets:
            return _verdict(table, shape, rows, position)
        if len(buckets) < BUCKETS:
            both = both.where(F.col("bucket").isin(buckets))
        found = _found(_grouped(both, shape).withColumn("changing", F.lit(False)), shape)
    try:
        for _ in range(rounds - 1 if reached is not None else 0):
            if found.settled:
                break
            with _snapshot(dsn, table, reached, patience) as snapshot:
                both = checksums(read_texts(spark, snapshot, shape.columns, partitions), _still(mirror(), table), shape)
                earlier, found = found, _again(both, shape, found)
                earlier.rows.unpersist()
                position = snapshot.position
        return _verdict(table, shape, rows, position, found, keys)
    finally:
        found.rows.unpersist()


@contextmanager
def _snapshot(dsn: str, table: Table, reached: HasReached | None, patience: float) -> Iterator[Snapshot]:
    """Hold a snapshot of the source's table whose position the mirror has reached. Raises JobError."""
    with exported_snapshot(dsn, (table.schema, table.name)) as snapshot:
        _await(snapshot.position, reached, patience)
        yield snapshot


def _still(frame: DataFrame | None, table: Table) -> DataFrame:
    """Return the mirror for another comparison. Raises JobError when it was removed after the first one."""
    if frame is None:
        raise JobError(UNREADABLE, f"The mirror of {table.full_name} was removed meanwhile: verify it again.")
    return frame


@dataclass(frozen=True, slots=True)
class _DifferingKeys:
    """Keys that differ.

    ``rows`` (kept on the executors' disks) has ``key``, ``in_source``, ``in_mirror``, ``low``, ``high``, ``cells``, ``changed`` (an array
    of booleans, one per compared column; null unless each side has the key once) and ``changing``. ``settled``: another comparison
    would have the same result.
    """

    rows: DataFrame
    only_source: int
    only_mirror: int
    different: int
    changing: int
    source_rows: int
    changed: tuple[int, ...]
    settled: bool


def _await(position: int, reached: HasReached | None, patience: float) -> None:
    if reached is None:
        return
    end = time.monotonic() + patience
    while not reached(position):
        if time.monotonic() > end:
            text = f"The mirror did not reach the source's position {lsn_text(position)} in {patience:g} s"
            raise JobError(UNREADABLE, f"{text}: see whether it is running, or wait longer.")
        time.sleep(PAUSE_SECONDS)


def _sums() -> list[SparkColumn]:
    sign = F.col("sign")
    return [
        F.count_if(sign == SIGNS[SOURCE]).alias("in_source"),
        F.count_if(sign == SIGNS[MIRROR]).alias("in_mirror"),
        F.sum(F.col("low") * sign).alias("low"),
        F.sum(F.col("high") * sign).alias("high"),
    ]


def _unequal() -> SparkColumn:
    return (F.col("in_source") != F.col("in_mirror")) | (F.col("low") != 0) | (F.col("high") != 0)


def _look(both: DataFrame) -> tuple[tuple[int, int], list[int]]:
    """The number of rows of both sides, and the differing buckets."""
    buckets = both.groupBy("bucket").agg(*_sums()).withColumn("unequal", _unequal()).collect()
    rows = (sum(bucket["in_source"] for bucket in buckets), sum(bucket["in_mirror"] for bucket in buckets))
    return rows, [bucket["bucket"] for bucket in buckets if bucket["unequal"]]


def _grouped(both: DataFrame, shape: Shape) -> DataFrame:
    """The keys that differ (see :class:`_DifferingKeys`, without ``changing``)."""
    if not shape.key:
        # Equal rows may be many, so they are counted before the shuffle.
        rows = both.groupBy("key").agg(*_sums(), F.any_value("cells").alias("cells")).where(_unequal())
        return rows.withColumn("changed", F.lit(None).cast("array<boolean>"))

    def hashes(side: str) -> SparkColumn:
        return F.max(F.when(F.col("sign") == SIGNS[side], F.col("hashes")))

    once = (F.col("in_source") == 1) & (F.col("in_mirror") == 1)
    changed = F.when(once, F.zip_with("of_source", "of_mirror", lambda one, other: one != other))
    # Each key occurs about once on each side, so a count before the shuffle would only sort twice.
    grouped = both.repartition("key").groupBy("key").agg(*_sums(), hashes(SOURCE).alias("of_source"), hashes(MIRROR).alias("of_mirror"))
    return grouped.where(_unequal()).select(
        "key", "in_source", "in_mirror", "low", "high", F.col("key").alias("cells"), changed.alias("changed")
    )


def _again(both: DataFrame, shape: Shape, earlier: _DifferingKeys) -> _DifferingKeys:
    """The keys of ``earlier`` that still differ; those that differ in another way than before are changing."""
    keys = earlier.rows.select("key")
    few = earlier.only_source + earlier.only_mirror + earlier.different + earlier.changing <= FEW_KEYS
    fresh = _grouped(both.join(F.broadcast(keys) if few else keys, "key", "left_semi"), shape)
    state = F.struct("in_source", "in_mirror", "low", "high")
    before = earlier.rows.select("key", state.alias("before"))
    changing = (~state.eqNullSafe(F.col("before"))).alias("changing")
    return _found(fresh.join(before, "key", "left").select(*fresh.columns, changing), shape, settles=True)


def _found(rows: DataFrame, shape: Shape, *, settles: bool = False) -> _DifferingKeys:
    """Cache the rows and count them. ``settles``: they were compared with an earlier result."""
    kept = rows.persist(StorageLevel.DISK_ONLY)
    stays, in_source, in_mirror = ~F.col("changing"), F.col("in_source"), F.col("in_mirror")
    if shape.key:
        only_source, only_mirror = (in_mirror == 0).cast("bigint"), (in_source == 0).cast("bigint")
        different, source_rows = ((in_source > 0) & (in_mirror > 0)).cast("bigint"), in_source
    else:
        only_source, only_mirror = F.greatest(in_source - in_mirror, F.lit(0)), F.greatest(in_mirror - in_source, F.lit(0))
        different, source_rows = F.lit(0).cast("bigint"), only_source
    every = F.lit(True)
    counts = [
        *((number, stays) for number in (only_source, only_mirror, different)),
        (only_source + only_mirror + different, ~stays),
        (source_rows, every),
        *((F.get("changed", F.lit(at)).cast("bigint"), stays) for at in range(len(shape.columns) if shape.key else 0)),
    ]
    figures = kept.agg(*(F.sum(F.when(which, number)) for number, which in counts)).collect()[0]
    first, second, third, moving, of_source, *changed = (int(figure or 0) for figure in figures)
    settled = moving == 0 and (settles or first + second + third == 0)
    return _DifferingKeys(kept, first, second, third, moving, of_source, tuple(changed), settled)


def _verdict(
    table: Table, shape: Shape, rows: tuple[int, int], position: int, found: _DifferingKeys | None = None, keys: int = 0
) -> Verdict:
    source, mirror = rows
    columns = [column.name for column in shape.columns]
    return Verdict(
        table.full_name,
        shape.cells,
        bool(shape.key),
        source,
        mirror,
        source if found is None else max(source - found.source_rows, 0),
        0 if found is None else found.only_source,
        0 if found is None else found.only_mirror,
        0 if found is None else found.different,
        0 if found is None else found.changing,
        {} if found is None else {name: count for name, count in zip(columns, found.changed, strict=False) if count},
        () if found is None else _some(found, shape, keys),
        shape.only_source,
        shape.only_mirror,
        shape.aside,
        position,
    )


def _some(found: _DifferingKeys, shape: Shape, limit: int) -> list[Difference]:
    """At most ``limit`` of the keys, in order, numbers in numeric order. Keys that still change are last."""
    kinds = {column.name: column.kind for column in shape.columns}
    order = [F.col("changing")]
    for at, name in enumerate(shape.cells):
        cell = F.get("cells", F.lit(at))
        order += [cell.try_cast("double"), cell] if isinstance(kinds[name].type, NumericType) else [cell]
    return [_difference(row, shape) for row in found.rows.orderBy(*order).limit(limit).collect()]


def _difference(row: Row, shape: Shape) -> Difference:
    names = [column.name for column in shape.columns]
    changed = tuple(name for name, differs in zip(names, row["changed"] or (), strict=False) if differs)
    in_source, in_mirror = row["in_source"], row["in_mirror"]
    if shape.key:
        where = BOTH if in_source and in_mirror else SOURCE if in_source else MIRROR
    else:
        where = SOURCE if in_source > in_mirror else MIRROR
    return Difference(tuple(row["cells"]), where, changed, in_source, in_mirror, row["changing"])
