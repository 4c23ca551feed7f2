"""Texts of SQL for random values. Each drawer takes the generator of random numbers and whether a snapshot may read the value.

Values that a snapshot shows otherwise on purpose (docs/differences.md) are drawn for the stream only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

Drawer = Callable[[Random, bool], str]

WORDS: Final = (
    "", "a", "hello", "O'Brien", "Ünïcode", "日本語", "😀 emoji", "tab\tand", "line\nbreak", "back\\slash", '{"a":1}', "NULL", "null",
    "trailing  ", " lead", '"quoted"', "x" * 300, "%s", "it's", "__debezium_unavailable_value", "\u0001ctl", "a\u0301",
)  # fmt: skip
DATES: Final = (
    "2024-02-29", "1970-01-01", "1969-12-31", "2000-01-01", "1900-03-01", "9999-12-31", "1582-10-15", "1600-01-01", "0001-01-01",
    "1000-06-15", "12000-01-01", "5874897-12-31",
)  # fmt: skip
STREAMED_DATES: Final = ("infinity", "-infinity", "0044-03-15 BC", "1582-10-10", "4713-01-01 BC")
TIMESTAMPS: Final = (
    "2024-02-29 12:34:56.789012", "1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2000-01-01 00:00:00.5", "1900-01-01 00:00:00",
    "9999-12-31 23:59:59.999999", "1600-01-01 01:02:03.000001", "0001-01-01 00:00:00", "2024-03-31 02:30:00", "12000-01-01 00:00:00",
    "2262-04-11 23:47:16.854775", "2262-04-12", "1677-09-20", "294276-12-31 23:59:59.999999",
)  # fmt: skip
STREAMED_TIMESTAMPS: Final = ("infinity", "-infinity", "0044-03-15 10:00:00 BC", "1582-10-10 01:00:00", "4713-01-01 BC")
NUMBERS: Final = (
    "0", "1", "-1", "1.10", "100", "1e10", "1e-10", "123456789012345678901234567890.123456789", "-0.00", "0.000",
    "1000000000000000000000000", "9.99", "-5000",
)  # fmt: skip


def quote(text: str) -> str:
    """A literal."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def one_of(*texts: str, cast: str = "") -> Drawer:
    return lambda random, _snapshot: quote(random.choice(texts)) + cast


def fixed(text: str) -> Drawer:
    return lambda _random, _snapshot: text


def text(length: int | None = None) -> Drawer:
    return lambda random, _snapshot: quote(random.choice(WORDS)[:length])


def long_text(random: Random, _snapshot: bool) -> str:
    """At times long enough to be stored out of line (TOAST)."""
    if random.random() < 0.6:
        return quote(random.choice(WORDS))
    return f"(SELECT string_agg(md5(i::text || '{random.randint(0, 9)}'), '') FROM generate_series(1, {random.choice((200, 500))}) i)"


def integer(low: int, high: int) -> Drawer:
    return lambda random, _snapshot: str(random.choice((low, high, 0, 1, -1, random.randint(low, high), random.randint(-100, 100))))


def natural(high: int) -> Drawer:
    return lambda random, _snapshot: str(random.choice((1, high, random.randint(1, high))))


def number(random: Random, _snapshot: bool) -> str:
    return quote(random.choice((*NUMBERS, str(random.randint(-(10**6), 10**6) / 1000))))


def decimal(precision: int, scale: int) -> Drawer:
    largest = 10**precision - 1

    def draw(random: Random, _snapshot: bool) -> str:
        value = random.choice((0, largest, -largest, random.randint(-largest, largest), 1, -1, 128, 255, 256, -128, -129, -256))
        value = max(-largest, min(largest, value))
        digits = str(abs(value)).rjust(scale + 1, "0")
        return ("-" if value < 0 else "") + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)

    return draw


def date(random: Random, snapshot: bool) -> str:
    return quote(random.choice(DATES if snapshot else DATES + STREAMED_DATES)) + "::date"


def timestamp(cast: str) -> Drawer:
    def draw(random: Random, snapshot: bool) -> str:
        return quote(random.choice(TIMESTAMPS if snapshot else TIMESTAMPS + STREAMED_TIMESTAMPS)) + cast

    return draw


def interval_of(values: Sequence[str]) -> Callable[[Random], str]:
    def draw(random: Random) -> str:
        low, high = sorted(random.sample(range(len(values)), 2))
        lower = "" if random.random() < 0.15 else f'"{values[low]}"'
        upper = "" if random.random() < 0.15 else f'"{values[high]}"'
        return random.choice("[(") + lower + "," + upper + random.choice("])")

    return draw


def range_of(values: Sequence[str]) -> Drawer:
    draw = interval_of(values)
    return lambda random, _snapshot: "'empty'" if random.random() < 0.15 else quote(draw(random))


def multirange_of(values: Sequence[str]) -> Drawer:
    draw = interval_of(values)
    return lambda random, _snapshot: quote("{" + ",".join(sorted(draw(random) for _ in range(random.randint(0, 2)))) + "}")


def bits(least: int, most: int) -> Drawer:
    def draw(random: Random, _snapshot: bool) -> str:
        return "B'" + "".join(random.choice("01") for _ in range(random.randint(least, most))) + "'"

    return draw


def uuid(random: Random, _snapshot: bool) -> str:
    return quote(f"{random.choice((0, 1, random.getrandbits(128))):032x}")


def data(random: Random, _snapshot: bool) -> str:
    if random.random() < 0.4:
        return f"(SELECT string_agg(decode(md5(i::text || '{random.randint(0, 9)}'), 'hex'), ''::bytea) FROM generate_series(1, 400) i)"
    return random.choice(("'\\x'", "'\\x00'", "'\\xdeadbeef'", "'\\x0001ff7f80'", "decode(repeat('ab', 300), 'hex')")) + "::bytea"


def array(element: Drawer, name: str) -> Drawer:
    """Of dates it takes those after the Gregorian calendar's start: earlier ones differ on purpose in arrays."""
    dated = "date" in name or "timestamp" in name

    def draw(random: Random, snapshot: bool) -> str:
        elements = ("NULL" if random.random() < 0.2 else element(random, snapshot or dated) for _ in range(random.randint(0, 3)))
        return "ARRAY[" + ",".join(elements).replace("0001-01-01", "1700-01-01").replace("1000-06-15", "1700-06-15") + f"]::{name}"

    return draw
