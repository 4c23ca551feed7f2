"""The source's catalog, asked for one table at a time: for events that embed no schema."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from workers.spark.catalog import CatalogColumn
from workers.spark.json_schemas import Catalog
from workers.spark.source import table_columns


def catalog_of(dsn: str) -> Catalog:
    """Tells of a table's columns as they are when it is asked. Raises psycopg's errors."""

    def columns(schema: str, name: str) -> Sequence[CatalogColumn]:
        with psycopg.connect(dsn) as connection:
            # Composite types are not sent by default.
            return [column for column in table_columns(connection, (schema, name)) if column.kind != "c"]

    return columns
