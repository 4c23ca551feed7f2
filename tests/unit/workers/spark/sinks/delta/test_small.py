"""The rows that are held of small tables, and the order of groups; without Spark."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql.types import StructType

from workers.spark.effects.reduction import removed as removed_by
from workers.spark.effects.small_batches import _order
from workers.spark.sinks.delta.small import SmallDelta
from workers.spark.tables.local_rows import keyable
from workers.spark.tables.table import Column, Table
from workers.spark.topics.known import Truncate
from workers.spark.topics.survey import Group
from workers.spark.types import kind_of

TABLE = Table("s", "t", (Column("id", kind_of({"type": "int32"})), Column("a", kind_of({"type": "string"}))), ("id",))
MAPPED = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
FIELDS = [
    {"name": "id", "type": "integer", "nullable": True, "metadata": MAPPED},
    {"name": "a", "type": "string", "nullable": True, "metadata": MAPPED},
    {"name": "__lsn", "type": "long", "nullable": True, "metadata": MAPPED},
]


def test_mirrors_have_the_columns_of_their_tables() -> None:
    def same(fields: list[dict[str, Any]]) -> bool:
        return SmallDelta("spark").same_columns(StructType.fromJson({"type": "struct", "fields": fields}), TABLE)

    assert same(FIELDS)
    wider = {**FIELDS[0], "type": "long"}
    others = [FIELDS[:2], [FIELDS[1], FIELDS[0], FIELDS[2]], [wider, *FIELDS[1:]], [*FIELDS, {**FIELDS[1], "name": "b"}]]
    assert not any(same(fields) for fields in others)


def test_keys_whose_texts_may_differ_for_equal_values_are_left_to_spark() -> None:
    kinds = {"int64": True, "string": True, "boolean": True, "bytes": True, "double": False, "float": False}
    for kind, known in kinds.items():
        assert keyable(Table("s", "t", (Column("id", kind_of({"type": kind})),), ("id",))) is known
    assert not keyable(Table("s", "t", TABLE.columns, ()))


def test_groups_are_in_the_order_of_spark() -> None:
    def group(topic: str, layout: int | None, key: int | None, *, empty: bool = False) -> Group:
        return Group(
            topic, layout, key, empty, 1, 1, placeholders=False, truncates=False, begins=False, moves=False, newest_ms=0, sample=(0, 0)
        )

    ordered = [
        group("a", None, 1, empty=True),
        group("a", -5, None),
        group("a", -5, -1),
        group("a", 5, 0),
        group("\uffff", None, None),
        group("\U00010000", None, None),
    ]
    assert sorted((ordered[at] for at in (3, 0, 5, 1, 4, 2)), key=_order) == ordered


@pytest.mark.parametrize(
    ("partition", "offset", "lsn", "ts_ms", "removed"),
    [
        (0, 9, 500, 500, True),
        (0, 11, 50, 50, False),
        (1, 99, 50, 100, True),
        (1, 99, 100, 50, False),
        (1, 99, 50, 101, False),
        (1, 99, None, 50, False),
        (1, 99, 50, None, False),
    ],
)
def test_truncates_of_earlier_batches_count(partition: int, offset: int, lsn: int | None, ts_ms: int | None, *, removed: bool) -> None:
    assert removed_by([Truncate(0, 10, 100, 100)], partition, offset, {"lsn": lsn, "ts_ms": ts_ms}) is removed


def test_the_last_change_before_a_blocking_snapshot_is_in_it() -> None:
    begins = [Truncate(0, 10, 100, 100, 7)]
    assert removed_by(begins, 1, 50, {"lsn": 100, "ts_ms": 200, "txId": 7}, "c")
    # The snapshot's own rows, and another transaction's.
    assert not removed_by(begins, 1, 50, {"lsn": 100, "ts_ms": 200, "txId": 7}, "r")
    assert not removed_by(begins, 0, 50, {"lsn": 100, "ts_ms": 200, "txId": 8}, "c")
