"""Patterns of times mean here what they mean to Java's SimpleDateFormat: recorded answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from connector.java.date_format import DateFormat, PatternError
from tests.support.each_case import each_case

NEW_YEAR_2026: Final = 1_767_225_600_000
NOVEMBER_2026: Final = 1_795_775_400_000
LEAP_DAY_2000: Final = 951_782_400_000
RECORDED: Final[dict[str, Any]] = json.loads((Path(__file__).parent / "date_format_recorded.json").read_text(encoding="utf-8"))


@each_case(("pattern", "texts"), RECORDED["written"])
def test_times_are_written_as_java_writes_them(pattern: str, texts: Any) -> None:
    if isinstance(texts, dict):
        with pytest.raises(PatternError) as caught:
            DateFormat.compile(pattern)
        assert str(caught.value) == texts["failed"]
        return
    compiled = DateFormat.compile(pattern)
    assert dict(zip(RECORDED["times"], map(compiled.format, RECORDED["times"]), strict=True)) == dict(
        zip(RECORDED["times"], texts, strict=True)
    )


@each_case(("pattern", "answers"), RECORDED["read"])
def test_texts_are_read_as_java_reads_them(pattern: str, answers: list[Any]) -> None:
    compiled = DateFormat.compile(pattern, NEW_YEAR_2026)
    wanted = {text: None if isinstance(answer, dict) else answer for text, answer in answers}
    assert {text: compiled.parse(text) for text in wanted} == wanted


@each_case(
    ("now", "pattern", "text", "ms"),
    [
        (NOVEMBER_2026, "yy-MM-dd", "46-01-01", 2398377600000),
        (NOVEMBER_2026, "yy-MM-dd", "46-12-31", -725932800000),
        (NOVEMBER_2026, "yy-MM-dd", "47-01-01", -725846400000),
        (NOVEMBER_2026, "yy-MM-dd HH:mm", "46-11-27 10:00", 2426925600000),
        (NOVEMBER_2026, "yy-MM-dd HH:mm Z", "46-11-27 10:00 -0900", -728802000000),
        (NOVEMBER_2026, "YY-'W'ww-u", "46-W02-1", 2398982400000),
        (NOVEMBER_2026, "YY-'W'ww-u", "46-W51-1", -727228800000),
        (NOVEMBER_2026, "yy-MM-dd G", "46-01-01 BC", -126702662400000),
        (NOVEMBER_2026, "yy yy", "46 47", -725846400000),
        (NOVEMBER_2026, "yyyy yy", "2001 46", 2398377600000),
        (NOVEMBER_2026, "yy YY", "46 30", 1893283200000),
        (NOVEMBER_2026, "YY yy", "30 46", 2398377600000),
        (LEAP_DAY_2000, "yy-MM-dd", "46-01-01", -757382400000),
        (LEAP_DAY_2000, "yy-MM-dd", "00-01-01", 946684800000),
        (LEAP_DAY_2000, "yy-MM-dd", "19-12-31", 1577750400000),
        (LEAP_DAY_2000, "yy-MM-dd", "20-02-28", 1582848000000),
        (LEAP_DAY_2000, "yy-MM-dd", "20-02-29", -1572825600000),
    ],
)
def test_years_of_two_digits_lie_around_the_moment(now: int, pattern: str, text: str, ms: int) -> None:
    """Answers of Java for a pattern that was made at this moment."""
    assert DateFormat.compile(pattern, now).parse(text) == ms


@each_case(
    ("pattern", "text", "ms"),
    [
        ("EEE MMM dd HH:mm:ss zzz yyyy", "Mon Jan 01 10:00:00 CET 2024", 1704099600000),
        ("EEE MMM dd HH:mm:ss zzzz yyyy", "Mon Jan 01 10:00:00 Central European Summer Time 2024", 1704096000000),
        ("yyyy-MM-dd HH:mm Z", "2024-01-01 10:00 PDT", 1704128400000),
        ("yyyy-MM-dd HH:mm z", "2024-01-01 10:00 est", 1704121200000),
        ("yyyy-MM-dd HH:mm z", "2024-01-01 10:00 EST5EDT", 1704121200000),
        ("yyyy-MM-dd HH:mm z", "2024-01-01 10:00 MSK", 1704092400000),
        ("yyyy-MM-dd HH:mm z", "2024-01-01 10:00 IST", 1704096000000),
        ("yyyy-MM-dd HH:mm z", "2024-01-01 10:00 WEST", 1704099600000),
        ("yyyy-MM-dd HH:mm z", "2024-01-01 10:00 WITA", 1704070800000),
        ("z HH:mm", "PETT 10:00", None),
        ("yyyy-MM-dd HH:mm z", "2024-01-01 10:00 Greenwich Mean Time", 1704103200000),
        ("yyyy-MM-dd HH:mm z", "2024-01-01 10:00 GMT+02:00", 1704096000000),
        ("yyyy-MM-dd HH:mm z", "2024-01-01 10:00 GMT+2", None),
        ("yyyy-MM-dd HH:mm z", "2024-01-01 10:00 Pacific Time", None),
        ("yyyy-MM-dd HH:mm z", "2024-01-01 10:00 America/New_York", None),
    ],
)
def test_names_of_zones_are_read(pattern: str, text: str, ms: int | None) -> None:
    """Answers of Java 17."""
    assert DateFormat.compile(pattern).parse(text) == ms
