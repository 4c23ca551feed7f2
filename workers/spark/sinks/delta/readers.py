"""Delta tables that every reader understands: their properties, and the check of an existing table. Pure.

Delta's table features are listed in its protocol. delta-rs, DuckDB and Trino read a table only if they know all features of its protocol.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from workers.spark.tables.table import Table

PROPERTIES: Final = {
    "spark": {
        # Columns are renamed and dropped in the metadata only, and may have any name.
        "delta.columnMapping.mode": "name",
        # An update marks rows instead of rewriting their files.
        "delta.enableDeletionVectors": "true",
        "delta.enableTypeWidening": "true",
    },
    # They are written out, because a session's defaults for new tables may have other values.
    "all": {
        "delta.columnMapping.mode": "none",
        "delta.enableDeletionVectors": "false",
        "delta.enableTypeWidening": "false",
        "delta.checkpointPolicy": "classic",
    },
}
"""``readers`` → the properties of a new table."""
MICROSECONDS: Final = ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
"""Spark's setting for times in Parquet files that every reader reads rightly."""
_EXCLUDED: Final = ("columnMapping", "deletionVectors", "typeWidening", "typeWidening-preview", "v2Checkpoint")
_INVALID: Final = re.compile(r"[ ,;{}()\n\t=]")
"""The characters that Parquet's schemas in Spark cannot have in a column's name, unless Delta maps the names."""


def refused_names(table: Table) -> str | None:
    """The refusal of a table with column names that a table without column mapping cannot have; None if there are none."""
    invalid = [column.name for column in table.columns if _INVALID.search(column.name)]
    if not invalid:
        return None
    return (
        f"A Delta table for all readers cannot have the columns {', '.join(invalid)} of {table.full_name}: their names contain a space or "
        'one of ,;{}()=. Rename them in the source, leave them out, or set readers = "spark" in [sink].'
    )


def refused_table(readers: str, table: Table, place: str, features: Collection[str], *, changes: bool) -> str | None:
    """Why the sink for ``readers`` cannot maintain an existing table whose protocol has ``features``; None if it can.

    ``changes``: the table's columns are about to change.
    """
    if readers == "all":
        used = sorted({*features} & {*_EXCLUDED})
        if not used:
            return None
        return (
            f"The table {place} has the Delta features {', '.join(used)}, which not all readers understand. Remove the table and start "
            f'once with --rebuild {table.full_name}, or set readers = "spark" in [sink].'
        )
    if changes and "columnMapping" not in features:
        return (
            f'The columns of {table.full_name} have changed, and the table {place} was made with readers = "all". Set readers = "all" in '
            f"[sink] again, or remove the table and start once with --rebuild {table.full_name}."
        )
    return None
