"""A time zone's offsets from UTC for any year that 64 bits can tell, and the texts of ``java.time`` that have an offset.

Times are counted in seconds: of the zone's own clock where a name says local, since 1970 in UTC otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from connector.types.temporal.calendar import days_from_civil, iso_year

DAY: Final = 86_400
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - the zone's own clock
_CYCLE: Final = 146_097 * DAY
"""The calendar repeats after 400 years, with its days of the week."""
_FIRST: Final = days_from_civil(2, 1, 1) * DAY
_LAST: Final = days_from_civil(9990, 1, 1) * DAY
_REPEATED: Final = days_from_civil(2400, 1, 1) * DAY
_MOST: Final = 18 * 3600

_OFFSET: Final = re.compile(r"[+-]\d{2}:\d{2}(:\d{2})?", re.ASCII)
_TIME: Final = (
    r"(?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{0,9}))?)?(?P<offset>[Zz]|[+-]\d{2}:\d{2}(?::\d{2})?)"
)
_ZONED_TIME: Final = re.compile(_TIME, re.ASCII)
_ZONED_TIMESTAMP: Final = re.compile(r"(?P<year>\d{4}|-\d{4,9}|\+\d{5,9})-(?P<month>\d{2})-(?P<day>\d{2})[Tt]" + _TIME, re.ASCII)


@dataclass(frozen=True, slots=True)
class Zone:
    """A place with its rules, or a fixed offset in seconds."""

    place: ZoneInfo | None
    fixed: int = 0

    @classmethod
    def named(cls, name: str) -> Zone:
        """Read ``Europe/Berlin`` or ``+05:30``. Raises ValueError for a name that is neither, or an offset beyond 18 hours."""
        if _OFFSET.fullmatch(name):
            return cls(None, _seconds(name))
        try:
            return cls(ZoneInfo(name))
        except (ZoneInfoNotFoundError, OSError):
            raise ValueError("Time zone is unknown") from None

    def at_local(self, seconds: int) -> int:
        """Return the offset of a local time: the earlier of two, and that before a gap (``ZoneRules.getOffset``)."""
        return self.fixed if self.place is None else _offset(_datetime(seconds).replace(tzinfo=self.place))

    def at(self, seconds: int) -> int:
        """Return the offset of an instant."""
        return self.fixed if self.place is None else _offset(_datetime(seconds).replace(tzinfo=UTC).astimezone(self.place))


def _datetime(seconds: int) -> datetime:
    if seconds > _LAST:
        seconds = _REPEATED + (seconds - _REPEATED) % _CYCLE
    return _EPOCH + timedelta(seconds=max(seconds, _FIRST))


def _offset(time: datetime) -> int:
    offset = time.utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _seconds(offset: str) -> int:
    """The seconds of an offset. Raises ValueError beyond 18 hours."""
    if offset in ("Z", "z"):
        return 0
    hours, minutes, seconds = (*map(int, offset[1:].split(":")), 0)[:3]
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > _MOST:
        raise ValueError("Offset from UTC is not within 18 hours")
    return -total if offset[0] == "-" else total


def _time_of_day(found: re.Match[str]) -> int:
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("Time of day is not valid")
    return hour * 3600 + minute * 60 + second


def move_timestamp(text: str, zone: Zone) -> str:
    """Return a timestamp with offset as the zone writes it. Raises ValueError for other text.

    As in Debezium, the zone's offset is that of the same date and time on the zone's own clock, not that of the instant.
    """
    found = _ZONED_TIMESTAMP.fullmatch(text)
    if found is None:
        raise ValueError("Text is no ISO timestamp with an offset")
    year, month, day = int(found["year"]), int(found["month"]), int(found["day"])
    days = days_from_civil(year, month, day)
    if not 1 <= month <= 12 or not 1 <= day <= 31 or _civil(days) != (year, month, day):
        raise ValueError("Date is not valid")
    local = days * DAY + _time_of_day(found)
    offset = zone.at_local(local)
    moved_days, time = divmod(local - _seconds(found["offset"]) + offset, DAY)
    year, month, day = _civil(moved_days)
    return f"{iso_year(year)}-{month:02d}-{day:02d}T{_clock(time, found['fraction'])}{_shown(offset)}"


def move_time(text: str, offset: int) -> str:
    """Return a time of day with offset as it is at another offset. Raises ValueError for other text."""
    found = _ZONED_TIME.fullmatch(text)
    if found is None:
        raise ValueError("Text is no ISO time with an offset")
    return _clock((_time_of_day(found) - _seconds(found["offset"]) + offset) % DAY, found["fraction"]) + _shown(offset)


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a count of days since 1970."""
    cycles, rest = divmod(days - days_from_civil(2000, 1, 1), _CYCLE // DAY)
    date = datetime(2000, 1, 1) + timedelta(days=rest)  # noqa: DTZ001 - a date of the calendar
    return date.year + 400 * cycles, date.month, date.day


def _clock(time: int, fraction: str | None) -> str:
    digits = (fraction or "").rstrip("0")
    return f"{time // 3600:02d}:{time // 60 % 60:02d}:{time % 60:02d}" + (f".{digits}" if digits else "")


def _shown(offset: int) -> str:
    if offset == 0:
        return "Z"
    hours, rest = divmod(abs(offset), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}" + (f":{seconds:02d}" if seconds else "")
