"""The bounds of a batch's keys that batches with similar keys share."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import IntegerType, LongType, ShortType, StringType

from workers.spark.sinks.incoming import widened

TYPES = {ShortType(): 16, IntegerType(): 32, LongType(): 64}


@pytest.mark.parametrize("of", TYPES, ids=str)
@given(data=st.data())
def test_wide_bounds_hold_the_keys_and_little_more(of: ShortType | IntegerType | LongType, data: st.DataObject) -> None:
    limit = 1 << (TYPES[of] - 1)
    keys = st.integers(-limit, limit - 1)
    low, high = sorted((data.draw(keys), data.draw(keys)))
    wide_low, wide_high = (int(bound or "") for bound in widened(of, str(low), str(high)))
    assert -limit <= wide_low <= low <= high <= wide_high < limit
    assert max(low - wide_low, wide_high - high) <= (high - low) / 16


def test_similar_keys_have_the_same_wide_bounds() -> None:
    batches = [(17, 999_801), (3, 999_240), (412, 991_118)]
    assert {widened(LongType(), str(low), str(high)) for low, high in batches} == {("0", "1015807")}


def test_bounds_that_are_no_whole_numbers_stay() -> None:
    assert widened(StringType(), "a", "c") == ("a", "c")
    assert widened(LongType(), None, None) == (None, None)
