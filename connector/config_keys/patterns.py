"""Regular expressions in properties: how a list of them is cut up, and why one cannot be used."""

from __future__ import annotations

import re
from typing import Final

from connector.java_regex.translation import problem

_SPLIT: Final = re.compile(r"(?<!\\),")


def split_regexes(text: str) -> list[str]:
    """Split a list of regular expressions at its commas; a backslash keeps a comma. Entries are trimmed, empty ones dropped."""
    return [part.strip().replace("\\,", ",") for part in _SPLIT.split(text) if part.strip()]


def regex_problem(pattern: str) -> str | None:
    """Why ``pattern`` is refused: Java would not compile it (``PatternSyntaxException.getMessage()``), or it is too large; else None."""
    return problem(pattern)
