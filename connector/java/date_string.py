"""The text that ``java.util.Date.toString`` makes of a time, in UTC."""

from __future__ import annotations

from typing import Final

from connector.java.calendar import DAY_MS, civil, weekday

_DAYS: Final = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def date_string(ms: int) -> str:
    """Return the text of a time in ms since 1970-01-01: ``Tue Nov 14 22:13:20 UTC 2023``. A year BC has no sign."""
    days, rest = divmod(ms, DAY_MS)
    year, month, day = civil(days)
    seconds = rest // 1000
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{_DAYS[weekday(days)]} {_MONTHS[month - 1]} {day:02} {clock} UTC {year if year > 0 else 1 - year}"
