"""Numbers as people read them, and sparklines."""

from __future__ import annotations

import pytest

from tests.support.each_case import each_case
from workers.console.figures import HEIGHT, WIDTH, count, duration, size, sparkline


@each_case(
    ("number", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (1536, "1.5 KB"),
        (10 * 1024, "10 KB"),
        (1024**2, "1.0 MB"),
        (1024**4, "1.0 TB"),
        (2000 * 1024**4, "2000.0 TB"),
    ],
)
def test_size_is_in_the_largest_unit_that_leaves_one(number: int, shown: str) -> None:
    assert size(number) == shown


@each_case(
    ("seconds", "shown"),
    [
        (0.0, "0 ms"),
        (0.25, "250 ms"),
        (1.0, "1 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (60.0, "1 min"),
        (61.0, "1 min 1 s"),
        (3599.6, "1 h 0 min"),
        (3900.0, "1 h 5 min"),
    ],
)
def test_duration_has_at_most_two_units(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0"), (0.25, "0.2"), (9.96, "10.0"), (5, "5"), (12.7, "13"), (1234567, "1\u2009234\u2009567")]
)
def test_count_separates_thousands_and_keeps_a_decimal_below_ten(number: float, shown: str) -> None:
    assert count(number) == shown


@pytest.mark.parametrize("rates", [[], [3.0]])
def test_fewer_than_two_rates_make_no_line(rates: list[float]) -> None:
    assert sparkline(rates) == ""


def test_the_highest_rate_touches_the_top_and_the_last_the_right_edge() -> None:
    points = [tuple(map(float, point.split(","))) for point in sparkline([0.0, 50.0, 100.0]).split()]
    assert points == [(0.0, HEIGHT - 1), (WIDTH / 2, HEIGHT / 2), (float(WIDTH), 1.0)]


def test_rates_of_zero_are_a_line_at_the_bottom() -> None:
    assert sparkline([0.0, 0.0]) == f"0.0,{HEIGHT - 1:.1f} {WIDTH:.1f},{HEIGHT - 1:.1f}"
