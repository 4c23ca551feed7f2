"""Values of keys as notifications show them."""

from __future__ import annotations

from connector.incremental.key_objects import JavaValue
from connector.notifications.key_text import key_text
from tests.support.each_case import each_case


@each_case(
    ("units", "text"),
    [
        ((0, 0, 1, 2, 3, 59, 123456), "1 days 2 hours 3 mins 59.123456 secs"),
        ((0, 0, 0, 0, 0, 4_000_000, 0), "4000000 secs"),
        ((0, 0, 0, 0, 0, 10, 0), "10 secs"),
        ((0, 0, 0, 0, 0, 1, 500_000), "1.5 secs"),
        ((0, 0, 0, 0, 0, 0, 1), "0.000001 secs"),
        ((0, 0, 0, 0, 0, 0, -730_000), "-0.73 secs"),
        ((0, 0, 0, 0, 0, 0, 0), "0 secs"),
        ((1, -2, 0, 0, 0, 0, 0), "1 years -2 mons"),
    ],
)
def test_intervals_have_all_their_digits(units: tuple[int, ...], text: str) -> None:
    assert key_text(JavaValue("org.postgresql.util.PGInterval", units)) == text
