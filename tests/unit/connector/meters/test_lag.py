from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.meters.lag import LagMeter


def metered(values: list[int]) -> LagMeter:
    meter = LagMeter()
    for value in values:
        meter.add(value)
    return meter


def test_without_a_value() -> None:
    meter = LagMeter()
    assert (meter.last, meter.least, meter.largest, meter.average, meter.percentile(0.5)) == (-1, None, None, None, None)


def test_a_clock_that_is_ahead_counts_as_no_lag() -> None:
    meter = metered([-5])
    assert (meter.last, meter.least, meter.percentile(0.99)) == (0, 0, 0.0)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=200), st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_percentiles_are_within_one_percent(values: list[int], share: float) -> None:
    meter = metered(values)
    assert (meter.last, meter.least, meter.largest) == (values[-1], min(values), max(values))
    assert meter.average == pytest.approx(sum(values) / len(values))
    exact = sorted(values)[math.ceil(share * len(values)) - 1]
    assert meter.percentile(share) == pytest.approx(exact, rel=0.0101, abs=0.0)
