"""The survey of records in Arrow's columns, however Spark and Arrow divide them; without Spark."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

import pyarrow as pa

from workers.spark.topics.arrow_records import ArrowRecords
from workers.spark.topics.survey import AVRO_SIGNS, Group, Signs
from workers.spark.types import Sign

SIGNS = Signs({Sign.TEXT: "absent", Sign.OCTETS: "YWJz"}, '"op":"t"', '"snapshot":"first')
TEXTS = ["x", '{"a":"absent"}', None, '{"op":"t"}', "é漢😀 YWJz", '{"snapshot":"first_in"}', "", "abs", "ent"]


def table(texts: pa.Array, keys: pa.Array | None = None) -> pa.Table:
    """Each text in a topic of its own: 0, 1 and so on."""
    count = len(texts)
    return pa.table(
        {
            "topic": pa.array([str(at) for at in range(count)], pa.string()),
            "partition": pa.array([1] * count, pa.int32()),
            "offset": pa.array(range(count), pa.int64()),
            "timestamp": pa.array([1_999] * count, pa.timestamp("us", tz="UTC")),
            "layout": pa.array([5] * count, pa.int64()),
            "key_layout": pa.array([None] * count, pa.int64()),
            "value": texts,
            "key": pa.nulls(count, pa.string()) if keys is None else keys,
            "came": pa.array([False] * count, pa.bool_()),
            "left": pa.array([at == 0 for at in range(count)], pa.bool_()),
        }
    )


def flags(group: Group) -> tuple[bool, bool, bool]:
    return group.placeholders, group.truncates, group.begins


@pytest.mark.parametrize("of", [pa.string(), pa.large_string()], ids=str)
def test_signs_are_found(of: pa.DataType) -> None:
    found = ArrowRecords(table(pa.array(TEXTS, of))).groups(SIGNS)
    none = (False, False, False)
    wanted = [none, (True, False, False), none, (False, True, False), (True, False, False), (False, False, True), none, none, none]
    assert [flags(group) for group in found] == wanted


def test_parts_of_arrays_are_searched_alone() -> None:
    whole = pa.array(["absent", *TEXTS, "absent"])
    parts = pa.chunked_array([whole.slice(1, 1), whole.slice(7, 0), whole.slice(8, 2)])
    assert [flags(group) for group in ArrowRecords(table(parts)).groups(SIGNS)] == [(False, False, False)] * 3
    # Two texts, one after the other, are not one.
    assert [flags(group)[0] for group in ArrowRecords(table(whole.slice(0, 2))).groups(SIGNS)] == [True, False]


def test_a_group_has_its_records() -> None:
    records = ArrowRecords(table(pa.array(["é", None]), pa.array(["{}", "k"])))
    first, second = records.groups(SIGNS)
    assert first == Group("0", 5, None, False, 1, 4, False, False, False, True, 1, (1, 0))
    assert second == Group("1", 5, None, True, 1, 1, False, False, False, False, 1, (1, 1))
    assert [records.of(group)["offset"].to_pylist() for group in (first, second)] == [[0], [1]]


def test_without_texts_each_value_may_lack_something() -> None:
    assert [flags(group)[0] for group in ArrowRecords(table(pa.array(["x", None]))).groups(AVRO_SIGNS)] == [True, False]


def test_no_records_have_no_groups() -> None:
    assert ArrowRecords(table(pa.array([], pa.string()))).groups(SIGNS) == []
