"""Texts of double precision, in the ranges where Java writes them otherwise than PostgreSQL."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connector.java.floats import java_double
from connector.types.floating import encode_double


@given(st.floats(1e6, 1e16) | st.integers(10**6, 10**16).map(float) | st.floats(-1e8, -1e6))
@example(1e7)
@example(9_999_999.999999998)
@example(999_999_999_999_999.9)
@example(1e15)
@example(-1e7)
def test_a_large_number_is_written_as_java_writes_its_value(value: float) -> None:
    shown = repr(value).removesuffix(".0") if abs(value) < 1e15 else f"{value:e}"
    assert encode_double(shown.encode()) == java_double(float(shown))


@pytest.mark.parametrize(
    ("text", "wanted"), [("15000012.5", "1.50000125E7"), ("10000000", "1.0E7"), ("123456789012345", "1.23456789012345E14")]
)
def test_only_the_point_has_another_place(text: str, wanted: str) -> None:
    assert encode_double(text.encode()).decode() == wanted
