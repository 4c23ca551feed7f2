"""Shows small tables on a terminal, each beside its source."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType

from workers.spark.compare.side_by_side import Comparison, compare, table_text
from workers.spark.source.catalog import CatalogColumn
from workers.spark.source.relation import rows_as_text, snapshot, table_columns
from workers.spark.tables.table import Column, Sink, Table


def show(spark: SparkSession, dsn: str, tables: Sequence[Table], sink: Sink, rows: int, stream: TextIO | None = None) -> bool:
    """Print each mirror beside its source, ``rows`` lines at most, differing ones first. Returns whether all are equal.

    The source's rows pass through this process. For large tables use :mod:`workers.spark.compare.verify`.
    Raises psycopg's errors.
    """
    to = stream or sys.stdout
    unequal = []
    with snapshot(dsn) as connection:
        for table in tables:
            catalog = {column.name: column for column in table_columns(connection, (table.schema, table.name))}
            mirror = sink.read(table)
            if not catalog or mirror is None:
                to.write(f"\n{table.full_name}: {'the source' if not catalog else 'the mirror'} has no such table.\n")
                unequal.append(table.full_name)
                continue
            there = catalog.keys() & {*mirror.columns}
            common = [column for column in table.columns if column.name in there and _comparable(column, catalog[column.name])]
            if not common:
                to.write(f"\n{table.full_name}: no column of the mirror can be compared.\n")
                unequal.append(table.full_name)
                continue
            source = rows_as_text(spark, connection, (table.schema, table.name), common)
            comparison = compare(mirror, source, common, rows)
            aside = sorted({*catalog, *(column.name for column in table.columns)} - {column.name for column in common})
            to.write(_report(table, comparison, aside))
            if comparison.different:
                unequal.append(table.full_name)
    to.write(f"\nNot equal: {', '.join(unequal)}.\n" if unequal else "\nAll tables are equal.\n")
    to.flush()
    return not unequal


def _comparable(column: Column, source: CatalogColumn) -> bool:
    """Whether PostgreSQL's text can be compared with the value. A bytea sent as text may be base64 or hex; the schema does not say."""
    encoded = source.type == "bytea" and isinstance(column.kind.type, StringType)
    return column.kind.comparable and not encoded


def _report(table: Table, comparison: Comparison, aside: Sequence[str]) -> str:
    lines = ["", table.full_name, table_text(comparison)]
    hidden = max(comparison.mirror, comparison.source) - len(comparison.lines)
    if hidden > 0:
        lines.append(f"… and at least {hidden} more")
    if aside:
        lines.append(f"not compared: {', '.join(aside)}")
    verdict = "equal" if comparison.different == 0 else f"{comparison.different} rows differ"
    lines.append(f"{table.full_name}: {comparison.mirror} rows in the mirror, {comparison.source} in the source: {verdict}")
    return "\n".join(lines) + "\n"
