from __future__ import annotations

import pytest

from connector.java.date_string import date_string


@pytest.mark.parametrize(
    ("ms", "wanted"),
    [
        (0, "Thu Jan 01 00:00:00 UTC 1970"),
        (-1, "Wed Dec 31 23:59:59 UTC 1969"),
        (1_700_000_000_123, "Tue Nov 14 22:13:20 UTC 2023"),
        (-62_167_219_200_001, "Fri Jan 02 23:59:59 UTC 1"),
        (253_402_300_800_000, "Sat Jan 01 00:00:00 UTC 10000"),
    ],
)
def test_times_have_the_recorded_text(ms: int, wanted: str) -> None:
    assert date_string(ms) == wanted
