from __future__ import annotations

from connector.meters.histogram import Histogram


def test_a_value_is_in_the_first_bucket_whose_bound_it_does_not_exceed() -> None:
    histogram = Histogram((0.1, 1.0))
    for value in (0.0, 0.1, 0.2, 1.0, 1.5):
        histogram.add(value)
    histogram.add(3.0, 4)
    assert histogram.counts == [2, 2, 5]
    assert (histogram.count, round(histogram.sum, 6)) == (9, 14.8)
