"""Texts of floating-point numbers, of which Java makes longer ones before version 19."""

from __future__ import annotations

import re
from typing import Final

from connector.java.floats import as_float32

_FORM: Final = re.compile(r"-?(\d+\.\d+)(E-?\d+)?")
_LONG: Final = 16
_LONG_SINGLE: Final = 8
"""Significant digits from which on a text may have more of them than it takes to read the number back."""
_NORMAL: Final = 2.0**-1022
_NORMAL_SINGLE: Final = 2.0**-126
"""Smaller numbers have fewer digits, of which Java may make more, or others."""


def same_number(java: str, own: str, *, single: bool = False) -> bool:
    """Whether the texts are equal, or Java's is such another text of the same number. ``single``: of a number of 32 bits."""
    if java == own:
        return True
    if (one := _FORM.fullmatch(java)) is None or (other := _FORM.fullmatch(own)) is None or (one[2] is None) != (other[2] is None):
        return False
    number, own_number = float(java), float(own)
    if number != own_number and not (single and as_float32(number) == as_float32(own_number)):
        return False
    digits, own_digits = (len(found[1].replace(".", "").strip("0")) for found in (one, other))
    long = digits >= max(own_digits, _LONG_SINGLE if single else _LONG)
    return long or 0 < abs(number) < (_NORMAL_SINGLE if single else _NORMAL)
