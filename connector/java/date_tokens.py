"""What a pattern of ``SimpleDateFormat`` is made of, and the names that it writes and reads in the locale ``en``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LETTERS: Final = "GyYMLwWDdFEuaHkKhmsSzZX"
NUMERIC: Final = "yYwWDdFuHkKhmsS"
"""Letters that are always numbers; M and L are numbers when they are written once or twice."""
ERAS: Final = ("BC", "AD")
MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
HALVES: Final = ("AM", "PM")
ZONE_NAME: Final = "Coordinated Universal Time"


@dataclass(frozen=True, slots=True)
class Token:
    """A field, which is a letter that is written ``count`` times, or literal text."""

    text: str
    letter: str | None
    count: int

    @property
    def numeric(self) -> bool:
        """Whether the field is a number."""
        return self.letter is not None and (self.letter in NUMERIC or (self.letter in "ML" and self.count <= 2))
