# ruff: noqa: DTZ001 - a column's type says whether its times have a zone
"""The statistics of a file that Arrow writes bound its rows, and have the form of Delta's."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from workers.spark.sinks.delta.arrow_stats import stats_of

NAIVE, ZONED = pa.timestamp("us"), pa.timestamp("us", "UTC")


def ends(values: list[Any], of: pa.DataType) -> tuple[Any, Any] | None:
    found = stats_of(pa.table({"c": pa.array(values, of)}))
    assert (found["numRecords"], found["nullCount"], found["tightBounds"]) == (len(values), {"c": values.count(None)}, True)
    assert found["minValues"].keys() == found["maxValues"].keys()
    return (found["minValues"]["c"], found["maxValues"]["c"]) if found["minValues"] else None


@pytest.mark.parametrize(
    ("values", "of", "expected"),
    [
        ([3, None, -5], pa.int16(), (-5, 3)),
        ([2**63 - 1, -(2**63)], pa.int64(), (-(2**63), 2**63 - 1)),
        # By their bytes, as Spark orders them.
        (["b", "", None, "\U0001f600", "\uff5e"], pa.string(), ("", "\U0001f600")),
        (["x" * 200], pa.string(), ("x" * 200, "x" * 200)),
        (["a", "x" * 201], pa.string(), None),
        ([date(2024, 2, 29), date(1, 1, 1)], pa.date32(), ("0001-01-01", "2024-02-29")),
        ([datetime(2024, 1, 2, 3, 4, 5, 678901)], NAIVE, ("2024-01-02T03:04:05.678", "2024-01-02T03:04:05.679")),
        ([datetime(2024, 1, 2, 3, 4, 5, 678000)], ZONED, ("2024-01-02T03:04:05.678Z", "2024-01-02T03:04:05.678Z")),
        ([-1], NAIVE, ("1969-12-31T23:59:59.999", "1970-01-01T00:00:00.000")),
        ([datetime(2024, 1, 2), 9223372036825200000], NAIVE, None),
        ([-2147472692, 0], pa.date32(), None),
        ([None, None], pa.int32(), None),
        ([], pa.int32(), None),
        ([True], pa.bool_(), None),
        ([1.5], pa.float64(), None),
        ([Decimal("1.50")], pa.decimal128(12, 2), None),
        ([b"x"], pa.binary(), None),
    ],
)
def test_bounds_have_the_form_of_delta(values: list[Any], of: pa.DataType, expected: tuple[Any, Any] | None) -> None:
    assert ends(values, of) == expected


@given(st.lists(st.datetimes(datetime(1, 1, 1), datetime(9998, 1, 1)) | st.none()))
def test_times_are_between_their_bounds(values: list[datetime | None]) -> None:
    found, known = ends(values, NAIVE), [value for value in values if value is not None]
    assert (found is None) == (not known)
    if found is not None:
        low, high = map(datetime.fromisoformat, found)
        assert low <= min(known) <= max(known) <= high
        assert (min(known) - low).total_seconds() < 0.001
        assert (high - max(known)).total_seconds() < 0.001
