"""Lines of cells as a table for a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

WIDEST: Final = 32
"""The most characters of a cell that are printed."""


def cell(value: str | None) -> str:
    """The value on one line: null is ∅, control characters are blanks, and text beyond :data:`WIDEST` is cut."""
    if value is None:
        return "∅"
    clean = "".join(" " if unicodedata.category(letter).startswith("C") else letter for letter in value)
    return clean if len(clean) <= WIDEST else clean[: WIDEST - 1] + "…"


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """The lines with aligned cells, two blanks apart. Wide East Asian characters count as two. All lines have the same number of cells."""
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]

    def padded(line: Sequence[str]) -> str:
        return "  ".join(text + " " * (width - _width(text)) for text, width in zip(line, widths, strict=True)).rstrip()

    return "\n".join(padded(line) for line in lines)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
