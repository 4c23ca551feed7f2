"""Which Delta tables are changed by this project's own commits; without Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.sinks.delta.plain import is_plain
from workers.spark.tables.table import Column, Table
from workers.spark.types import kind_of

TABLE = Table("s", "t", (Column("id", kind_of({"type": "int32"})), Column("a", kind_of({"type": "string"}))), ("id",))
MAPPED = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
FIELDS = [
    {"name": "id", "type": "integer", "nullable": True, "metadata": MAPPED},
    {"name": "a", "type": "string", "nullable": True, "metadata": MAPPED},
    {"name": "__lsn", "type": "long", "nullable": True, "metadata": MAPPED},
]
MODERN: dict[str, Any] = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["columnMapping", "deletionVectors", "typeWidening"],
    "writerFeatures": ["columnMapping", "deletionVectors", "typeWidening", "invariants", "appendOnly"],
}
LEGACY: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 2}


def metadata(fields: list[dict[str, Any]] = FIELDS, **others: Any) -> dict[str, Any]:
    properties = {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"}
    return {"schemaString": json.dumps({"type": "struct", "fields": fields}), "configuration": properties, "partitionColumns": [], **others}


def test_tables_of_mirrors_are_changed_without_spark() -> None:
    assert is_plain(metadata(), MODERN, TABLE, "spark", "/t")
    assert is_plain(metadata(configuration={}), LEGACY, TABLE, "all", "/t")


@pytest.mark.parametrize(
    ("found", "protocol", "readers"),
    [
        pytest.param(metadata(), MODERN, "all", id="not for all readers"),
        pytest.param(metadata(), {**MODERN, "writerFeatures": [*MODERN["writerFeatures"], "rowTracking"]}, "spark", id="feature"),
        pytest.param(metadata(configuration={"delta.enableChangeDataFeed": "true"}), MODERN, "spark", id="property"),
        pytest.param(metadata(), {"minReaderVersion": 1, "minWriterVersion": 4}, "spark", id="older protocol"),
        pytest.param(metadata(partitionColumns=["a"]), MODERN, "spark", id="partitions"),
        pytest.param(metadata([{**FIELDS[0], "nullable": False}, *FIELDS[1:]]), MODERN, "spark", id="not null"),
        pytest.param(
            metadata([{**FIELDS[0], "metadata": {"delta.generationExpression": "1"}}, *FIELDS[1:]]), MODERN, "spark", id="generated"
        ),
    ],
)
def test_other_tables_are_not(found: dict[str, Any], protocol: dict[str, Any], readers: str) -> None:
    assert not is_plain(found, protocol, TABLE, readers, "/t")
