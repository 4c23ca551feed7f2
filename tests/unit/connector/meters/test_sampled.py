from __future__ import annotations

import math

from connector.meters.sampled import Sampled


def test_without_values() -> None:
    sampled = Sampled()
    assert math.isnan(sampled.average(5))
    assert math.isnan(sampled.largest(5))
    assert sampled.rate(5) == 0


def test_two_windows_count() -> None:
    sampled = Sampled()
    sampled.add(4, 100)
    sampled.add(8, 110)
    assert (sampled.average(110), sampled.largest(110)) == (6, 8)
    sampled.add(3, 135)
    assert (sampled.average(135), sampled.largest(135)) == (5, 8)
    # The first window is over by two.
    assert (sampled.average(165), sampled.largest(165)) == (3, 3)
    assert math.isnan(sampled.average(400))


def test_a_rate_is_per_second_of_at_least_one_window() -> None:
    sampled = Sampled()
    sampled.add(60, 100)
    assert sampled.rate(100) == 2
    assert sampled.rate(130) == 2
    assert sampled.rate(145) == 60 / 45
    assert sampled.rate(200) == 0
