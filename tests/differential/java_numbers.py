"""Texts of floating-point numbers, of which Java makes longer ones before version 19."""

from __future__ import annotations

import re
from typing import Final

from connector.java.floats import as_float32

_FORM: Final = re.compile(r"-?(\d+\.\d+)(E-?\d+)?")
_LONG: Final = 16
_LONG_SINGLE: Final = 8
"""Significant digits from which on a text may have more of them than it takes to read the number back."""


def same_number(java: str, own: str, *, single: bool = False) -> bool:
    """Whether the texts are equal, or Java's is such a longer text of the same number. ``single``: of a number of 32 bits."""
    if java == own:
        return True
    if (one := _FORM.fullmatch(java)) is None or (other := _FORM.fullmatch(own)) is None:
        return False
    digits, own_digits = (len(found[1].replace(".", "").strip("0")) for found in (one, other))
    if digits < max(own_digits, _LONG_SINGLE if single else _LONG) or (one[2] is None) != (other[2] is None):
        return False
    numbers = float(java), float(own)
    return numbers[0] == numbers[1] or (single and as_float32(numbers[0]) == as_float32(numbers[1]))
