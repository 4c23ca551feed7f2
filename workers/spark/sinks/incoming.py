"""A batch's effects on one table as flat columns with simple names, for the sinks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pyspark import StorageLevel, inheritable_thread_target
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType, DateType, IntegerType, LongType, ShortType, StringType, TimestampNTZType, TimestampType

from workers.spark.failure import TableError
from workers.spark.tables.names import literal
from workers.spark.tables.table import DELETE, LSN, POSITION, Effects, Table, keys_of

LONGEST_BOUND: Final = 200
"""The most characters of a text that bounds a scan. A longer one would only enlarge the statement."""
Ends = tuple[int | bytes, int | bytes]
_BITS: Final[Mapping[type[DataType], int]] = {ShortType: 16, IntegerType: 32, LongType: 64}


@dataclass(frozen=True, slots=True)
class Batch:
    """``count`` rows for a table. For ``truncated`` and ``replaced`` see :class:`Effects`.

    ``nullable`` are the key columns that are null in some row, ``kept`` the columns that some row keeps.
    """

    table: Table
    count: int
    truncated: int | None
    replaced: tuple[tuple[str, str], ...]
    kept: frozenset[str]
    nullable: frozenset[str]

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return keys_of(self.table)


@dataclass(frozen=True, slots=True)
class Incoming(Batch):
    """``rows`` has the columns of :func:`flat`; it is computed once, and counted.

    ``bounds`` are a key column and literals of its lowest and highest value, if the type allows such bounds. ``wide`` are bounds
    that batches with similar keys share. ``ends`` are those values for whole numbers and texts; Python orders them as Spark does.
    ``deletes`` of the rows are deletes.
    """

    rows: DataFrame
    bounds: tuple[str, str, str] | None
    wide: tuple[str, str, str] | None
    ends: Ends | None = None
    deletes: int = 0


def own_columns(table: Table) -> dict[str, DataType]:
    """The mirror's own columns, after the source's. Raises TableError when a column of the source has such a name."""
    own: dict[str, DataType] = {LSN: LongType()} if table.key else {LSN: LongType(), POSITION: StringType()}
    taken = [column.name for column in table.columns if column.name in {LSN, POSITION}]
    if taken:
        said = f"{table.full_name} has a column {taken[0]}, a name that mirrors reserve. Leave the column out."
        raise TableError(table.full_name, said)
    return own


def flat(effects: DataFrame, table: Table) -> DataFrame:
    """The rows of effects with ``op``, ``lsn``, ``kept``, the key's columns as ``k0…`` and the table's as ``c0…``."""
    key, row = F.col("key"), F.col("row")
    return effects.select(
        "op",
        F.col("lsn").cast("bigint").alias("lsn"),
        "kept",
        *(key.getField(name).alias(f"k{at}") for at, name in enumerate(keys_of(table))),
        *(row.getField(column.name).alias(f"c{at}") for at, column in enumerate(table.columns)),
    )


@contextmanager
def incoming(effects: Effects) -> Iterator[Incoming]:
    """The effects as flat columns, computed once. Their rows are kept until the block ends."""
    table, keys = effects.table, keys_of(effects.table)
    rows = flat(effects.rows, table).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        types = [rows.schema[f"k{at}"].dataType for at in range(len(keys))]
        bound = bounding(types)
        found = rows.agg(
            F.count("*"),
            F.coalesce(F.max(F.size("kept")), F.lit(0)),
            F.min(f"k{bound}").cast("string"),
            F.max(f"k{bound}").cast("string"),
            F.count_if(F.col("op") == DELETE),
            *(F.count_if(F.col(f"k{at}").isNull()) for at in range(len(keys))),
        ).first()
        count, most, lowest, highest, deletes, *nulls = found
        if effects.seen is not None:
            effects.seen(count - deletes, deletes)
        # Spark compiles the other aggregates, but no set of arrays. In most batches no column is kept.
        kept = rows.agg(F.array_distinct(F.flatten(F.collect_set("kept")))).first()[0] if most > 0 else ()
        nullable = frozenset(name for name, missing in zip(keys, nulls, strict=True) if missing)
        bounds, wide, ends = (None, None, None) if keys[bound] in nullable else limits(keys[bound], types[bound], lowest, highest)
        yield Incoming(table, count, effects.truncated, effects.replaced, frozenset(kept), nullable, rows, bounds, wide, ends, deletes)
    finally:
        rows.unpersist()


def bounding(types: Sequence[DataType]) -> int:
    """The place of the first key column whose type allows bounds; 0 without one."""
    return next((at for at, of in enumerate(types) if _literal(of, "") is not None), 0)


def limits(
    name: str, of: DataType, lowest: str | None, highest: str | None
) -> tuple[tuple[str, str, str] | None, tuple[str, str, str] | None, Ends | None]:
    """``bounds``, ``wide`` and ``ends`` of :class:`Incoming` for the key column ``name``, of whose values these are the texts."""
    return _bounds(name, of, lowest, highest), _bounds(name, of, *widened(of, lowest, highest)), _ends(of, lowest, highest)


def _bounds(name: str, of: DataType, lowest: str | None, highest: str | None) -> tuple[str, str, str] | None:
    if lowest is None or highest is None:
        return None
    low, high = _literal(of, lowest), _literal(of, highest)
    return None if not low or not high else (name, low, high)


def _ends(of: DataType, lowest: str | None, highest: str | None) -> Ends | None:
    if lowest is None or highest is None:
        return None
    if type(of) in _BITS:
        return int(lowest), int(highest)
    # Spark orders texts by their bytes.
    return (lowest.encode(), highest.encode()) if isinstance(of, StringType) else None


def widened(of: DataType, lowest: str | None, highest: str | None) -> tuple[str | None, str | None]:
    """Whole numbers that are at most a sixteenth of their distance further apart at each end; bounds of other types as they are.

    Spark compiles a statement's numbers into its code. With the exact bounds each MERGE of a batch of compiled size generated 12 classes,
    which Java compiled too; with these it generates none if a batch before it had similar keys.
    """
    bits = _BITS.get(type(of))
    if bits is None or lowest is None or highest is None:
        return lowest, highest
    low, high, limit = int(lowest), int(highest), 1 << (bits - 1)
    step = 1 << max((high - low).bit_length() - 5, 0)
    return str(max(low // step * step, -limit)), str(min(high // step * step + step - 1, limit - 1))


def _literal(of: DataType, text: str) -> str | None:
    """A value's text as a literal of its type; empty if it cannot be written, None for types that cannot bound a scan."""
    match of:
        case ShortType():
            return f"{text}S"
        case IntegerType():
            return text
        case LongType():
            return f"{text}L"
        case StringType():
            return literal(text) if len(text) <= LONGEST_BOUND else ""
        case DateType() | TimestampType() | TimestampNTZType():
            # Years outside 1 to 9999 have a sign, which literals do not accept.
            name = {"date": "DATE", "timestamp": "TIMESTAMP_LTZ", "timestamp_ntz": "TIMESTAMP_NTZ"}[of.simpleString()]
            return "" if text.startswith(("+", "-", "0000")) else f"{name}'{text}'"
        case _:
            return None


def side_by_side(work: Callable[[Effects], None], effects: Sequence[Effects], threads: int) -> None:
    """Run ``work`` on each of ``effects``, up to ``threads`` at once. When all have ended, raise the first failure.

    Effects on one table, which are those of several topics, are in work one after the other, in their order.
    """
    if len(effects) < 2 or threads < 2:
        for one in effects:
            work(one)
        return
    tables: dict[str, list[Effects]] = {}
    for one in effects:
        tables.setdefault(one.table.full_name, []).append(one)

    def in_order(mine: Sequence[Effects]) -> None:
        for one in mine:
            work(one)

    # The threads inherit Spark's local properties (the streaming query's job group), so that stopping the query stops these jobs.
    inherit = inheritable_thread_target(effects[0].session)
    with ThreadPoolExecutor(min(threads, len(tables)), thread_name_prefix="sink") as pool:
        running = [pool.submit(inherit(in_order), mine) for mine in tables.values()]
    for done in running:
        done.result()
