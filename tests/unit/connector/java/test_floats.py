from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.java.floats import as_float32, java_double, java_float
from tests.support.each_case import each_case


@each_case(
    ("value", "wanted"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.001, "0.001"),
        (0.000999, "9.99E-4"),
        (9999999.999999998, "9999999.999999998"),
        (1e7, "1.0E7"),
        (-12345678.0, "-1.2345678E7"),
        (1e21, "1.0E21"),
        (7.25, "7.25"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (2.2250738585072014e-308, "2.2250738585072014E-308"),
        (5e-324, "4.9E-324"),
        (1e-323, "9.9E-324"),
        (1.5e-323, "1.5E-323"),
        (math.nan, '"NaN"'),
        (math.inf, '"Infinity"'),
        (-math.inf, '"-Infinity"'),
        (3, "3.0"),
    ],
)
def test_doubles(value: float, wanted: str) -> None:
    assert java_double(value).decode() == wanted


@each_case(
    ("value", "wanted"),
    [
        (0.1, "0.1"),
        (16777216.0, "1.6777216E7"),
        (9999999.0, "9999999.0"),
        (1234567.0, "1234567.0"),
        (3.4028235e38, "3.4028235E38"),
        (1e-45, "1.4E-45"),
        (3e-45, "2.8E-45"),
        (1.17549435e-38, "1.1754944E-38"),
        (2.0**-96, "1.2621775E-29"),
        (2.0**87, "1.5474251E26"),
        (-(2.0**90), "-1.2379401E27"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (math.nan, '"NaN"'),
        (-math.inf, '"-Infinity"'),
    ],
)
def test_floats(value: float, wanted: str) -> None:
    assert java_float(value).decode() == wanted


def test_a_number_beyond_float32_is_refused() -> None:
    with pytest.raises(ValueError, match="beyond the range"):
        java_float(1e39)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_read_back(value: float) -> None:
    assert float(java_double(value)) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_read_back(value: float) -> None:
    assert as_float32(float(java_float(value))) == value
