"""Regular expressions in properties: splitting a list of them, and finding why one is refused."""

from __future__ import annotations

import re
from typing import Final

from connector.java.regex.translation import problem

_SPLIT: Final = re.compile(r"(?<!\\),")


def split_regexes(text: str) -> list[str]:
    """Split a list of regular expressions at its commas, except after a backslash. Entries are trimmed, empty ones dropped."""
    return [part.strip().replace("\\,", ",") for part in _SPLIT.split(text) if part.strip()]


def regex_problem(pattern: str) -> str | None:
    """Return why ``pattern`` is refused: Java's ``PatternSyntaxException.getMessage()``, or that it is too large; else None."""
    return problem(pattern)
