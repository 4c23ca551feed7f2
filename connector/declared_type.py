"""Type modifiers out of types as ``format_type`` prints them: ``numeric(5,2)``, ``timestamp(3) without time zone``, ``text[]``.

Output plugins other than pgoutput tell types in this form. Source: PostgreSQL's ``typmodout`` functions.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from connector.pgoutput import UNTOLD_MODIFIER

_DECLARED: Final = re.compile(
    r"(character varying|character|bpchar|numeric|bit varying|bit|timestamp|time)"
    r"(?:\((\d+)(?:,(-?\d+))?\))?(?: with(?:out)? time zone)?(?:\[\])*"
)
_HEADER: Final = 4
"""VARHDRSZ, which lengths of characters and packed precisions are counted from."""


@lru_cache(maxsize=1024)
def modifier_of(declared: str | None) -> int:
    """The type's atttypmod: -1 without one, ``UNTOLD_MODIFIER`` where the text does not decide it (intervals, extensions' types)."""
    if declared is None:
        return UNTOLD_MODIFIER
    found = _DECLARED.fullmatch(declared)
    if found is None:
        # An interval's fields and precision share one number; an extension's type may put anything in its own.
        return UNTOLD_MODIFIER if "(" in declared or declared.startswith("interval ") else -1
    name, first, scale = found.groups()
    if first is None:
        # A bit or character without a length is printed by another name, or quoted.
        return -1
    number = int(first)
    if name == "numeric":
        return (number << 16 | int(scale or 0) & 0x7FF) + _HEADER
    return number + _HEADER if name.startswith(("character", "bpchar")) else number
