"""Tables, batches of effects on them and what a sink shows then, for the tests of the sinks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from workers.spark.sinks.delta.held_arrow import in_arrow
from workers.spark.tables.later import Later
from workers.spark.tables.local_rows import local
from workers.spark.tables.table import DELETE, LSN, POSITION, UPSERT, Column, Effects, Sink, Table
from workers.spark.types import INFINITE_DAYS, INFINITE_MICROS, Kind, kind_of

Rows = Sequence[tuple[str, tuple[Any, ...], tuple[Any, ...] | None, list[str]]]


def kind(name: str, logical: str | None = None, **parameters: object) -> Kind:
    """The kind of a field whose schema says this."""
    return kind_of({"type": name, "name": logical, "parameters": parameters})


def money(precision: int, scale: int) -> Kind:
    """The kind of ``numeric(precision, scale)``."""
    return kind_of(
        {
            "type": "bytes",
            "name": "org.apache.kafka.connect.data.Decimal",
            "parameters": {"scale": str(scale), "connect.decimal.precision": str(precision)},
        }
    )


def array(item: Kind) -> Kind:
    """The kind of an array of ``item``."""
    return replace(kind_of({"type": "array", "items": {"type": "string"}}), type=ArrayType(item.type), item=item)


def table(*columns: Column, key: tuple[str, ...] = ("id",), name: str = "t") -> Table:
    """The table ``s.t``, or of another name, of these columns."""
    return Table("s", name, columns, key)


def effects(spark: SparkSession, of: Table, rows: Rows, truncated: int | None = None, lsn: int | None = 100) -> Effects:
    """What a batch does to the table ``of``: ``rows`` as :func:`up` and :func:`down` make them."""
    key = StructType(
        [StructField(name, next((c.kind.type for c in of.columns if c.name == name), StringType())) for name in of.key or (POSITION,)]
    )
    row = StructType([StructField(column.name, column.kind.type) for column in of.columns])
    if not rows:
        # JSON has no maps with other keys than texts, of which no row is needed here.
        shapes = {"op": "string", "key": key, "row": row, "kept": "array<string>", "lsn": "bigint"}
        none = spark.range(0).select(*(F.lit(None).cast(shape).alias(name) for name, shape in shapes.items()))
        return Effects(of, Later.of(none), truncated)
    document = [
        {
            "op": op,
            "key": dict(zip(key.names, identity, strict=True)),
            "row": None if values is None else dict(zip(row.names, values, strict=True)),
            "kept": kept,
            "lsn": lsn,
        }
        for op, identity, values, kept in rows
    ]
    # Through JSON, which needs no Python worker.
    shape = f"array<struct<op: string, key: {_ddl(key)}, row: {_ddl(row)}, kept: array<string>, lsn: bigint>>"
    return Effects(of, Later.of(spark.range(1).select(F.inline(F.from_json(F.lit(json.dumps(document)), shape)))), truncated)


def few(spark: SparkSession, of: Table, rows: Rows, lsn: int = 200) -> Effects:
    """As :func:`effects` on a table that an earlier batch filled, with rows in the driver."""
    found = effects(spark, of, rows, lsn=lsn)
    return replace(found.with_rows(local(found.rows)), known=True)


def by_arrow(found: Effects) -> Effects:
    """The effects with their rows in Arrow too, if these are whole, as a batch has them that Python decodes."""
    return replace(found, arrow=in_arrow(found))


def _ddl(of: StructType) -> str:
    """A struct's type as text in which names may hold any letters."""
    return "struct<" + ", ".join(f"`{f.name.replace('`', '``')}`: {f.dataType.simpleString()}" for f in of.fields) + ">"


def up(*values: Any, kept: Sequence[str] = (), key: int = 1) -> tuple[str, tuple[Any, ...], tuple[Any, ...], list[str]]:
    """A row with these values, the first ``key`` of which are its key; the columns ``kept`` stay as they are in the mirror."""
    return UPSERT, values[:key], values, list(kept)


def down(*key: Any) -> tuple[str, tuple[Any, ...], None, list[str]]:
    """The row of this key goes."""
    return DELETE, key, None, []


def shown(sink: Sink, of: Table) -> list[tuple[Any, ...]]:
    """The mirror's rows as a reader finds them, without the mirror's own columns."""
    found = sink.read(of)
    assert found is not None
    assert found.columns[-1] == (LSN if of.key else POSITION)
    return sorted((tuple(row) for row in found.drop(LSN, POSITION).collect()), key=repr)


def names(sink: Sink, of: Table) -> list[str]:
    """The mirror's columns without its own."""
    found = sink.read(of)
    assert found is not None
    return [name for name in found.columns if name not in {LSN, POSITION}]


INT, LONG, TEXT, DOUBLE = kind("int32"), kind("int64"), kind("string"), kind("double")
PLAIN = table(Column("id", INT), Column("a", TEXT), Column("b", LONG))
variable = kind("struct", "io.debezium.data.VariableScaleDecimal")
point = kind("struct", "io.debezium.data.geometry.Point")
sparse = kind("struct", "io.debezium.data.SparseDoubleVector")
STRINGS = MapType(StringType(), StringType())

# A value of each kind as SQL, and as it is shown when read back. Python has no year beyond 9999.
FAR_DAYS, FAR_MICROS = min(INFINITE_DAYS), max(INFINITE_MICROS)
TYPES: dict[str, tuple[Kind, str]] = {
    "boolean": (kind("boolean"), "true"),
    "short": (kind("int16"), "-32768S"),
    "integer": (INT, "2147483647"),
    "long": (LONG, "9223372036854775807L"),
    "float": (kind("float"), "float('NaN')"),
    "double": (DOUBLE, "double('-Infinity')"),
    "decimal": (money(38, 10), "9999999999999999999999999999.9999999999BD"),
    "digits": (variable, f"'{'9' * 60}.{'1' * 60}'"),
    "long_digits": (money(60, 20), f"'-{'8' * 40}.{'7' * 20}'"),
    "text": (TEXT, "'ä\\\\ \\'\"{},NULL\\n'"),
    "empty": (TEXT, "''"),
    "binary": (kind("bytes"), "X'00FF5C22'"),
    "date": (kind("int32", "io.debezium.time.Date"), "date'2024-02-29'"),
    "date_far": (kind("int32", "io.debezium.time.Date"), f"date_from_unix_date({FAR_DAYS})"),
    "date_late": (kind("int32", "io.debezium.time.Date"), "date_from_unix_date(4000000)"),
    "date_bc": (kind("int32", "io.debezium.time.Date"), "date_from_unix_date(-735000)"),
    "local": (kind("int64", "io.debezium.time.MicroTimestamp"), "timestamp_ntz'2024-02-29 23:59:59.999999'"),
    "local_far": (kind("int64", "io.debezium.time.MicroTimestamp"), f"cast(timestamp_micros({FAR_MICROS}L) as timestamp_ntz)"),
    "local_bc": (kind("int64", "io.debezium.time.MicroTimestamp"), "cast(timestamp_micros(-63500000000123456L) as timestamp_ntz)"),
    "zoned": (kind("string", "io.debezium.time.ZonedTimestamp"), "timestamp'2024-02-29 23:59:59.5+02:00'"),
    "zoned_far": (kind("string", "io.debezium.time.ZonedTimestamp"), f"timestamp_micros({min(INFINITE_MICROS)}L)"),
    "texts": (array(TEXT), "array('a,b', null, '', 'NULL', '{\"\\\\}')"),
    "numbers": (array(LONG), "array(1L, null, -3L)"),
    "dates": (array(kind("int32", "io.debezium.time.Date")), f"array(date'0001-01-01', date_from_unix_date({FAR_DAYS}))"),
    "blobs": (array(kind("bytes")), "array(X'00', X'')"),
    "none": (array(TEXT), "cast(array() as array<string>)"),
    "arrays": (array(array(INT)), "array(array(1), array(2, null), null)"),
    "point": (point, "named_struct('x', 1.5D, 'y', -0.25D)"),
    "map": (Kind(STRINGS, STRINGS), "map('n', null, 'k\"', 'v')"),
    "sparse": (sparse, "named_struct('dimensions', 5, 'vector', map(1, 0.5D, 5, -2D))"),
}


def of_all_types() -> tuple[Table, Callable[[SparkSession, int, int], Effects]]:
    """A table with a column of each type, and effects that write two of its rows: one with a value of each type, one of nulls."""
    of = table(Column("id", INT), *(Column(name, kind) for name, (kind, _) in TYPES.items()))

    def made(spark: SparkSession, whole: int, nulls: int) -> Effects:
        def row(key: int, *, filled: bool) -> Any:
            values = ((name, kind, text if filled else "null") for name, (kind, text) in TYPES.items())
            cells = F.struct(F.lit(key).alias("id"), *(F.expr(text).cast(kind.type).alias(name) for name, kind, text in values))
            return F.struct(
                F.lit(UPSERT).alias("op"),
                F.struct(F.lit(key).alias("id")).alias("key"),
                cells.alias("row"),
                F.array().cast("array<string>").alias("kept"),
                F.lit(key).cast("bigint").alias("lsn"),
            )

        rows = spark.range(1).select(F.inline(F.array(row(whole, filled=True), row(nulls, filled=False))))
        return Effects(of, Later.of(rows), known=True)

    return of, made
