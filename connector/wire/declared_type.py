"""Type modifiers from declared types as ``format_type`` prints them: ``numeric(5,2)``, ``timestamp(3) without time zone``, ``text[]``.

Output plugins other than pgoutput send types in this form. Source: PostgreSQL's ``typmodout`` functions.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from connector.wire.pgoutput import UNTOLD_MODIFIER

_DECLARED: Final = re.compile(
    r"(character varying|character|bpchar|numeric|bit varying|bit|timestamp|time)"
    r"(?:\((\d+)(?:,(-?\d+))?\))?(?: with(?:out)? time zone)?(?:\[\])*"
)
_HEADER: Final = 4
"""VARHDRSZ, which atttypmod adds to lengths of characters and to packed precisions."""


@lru_cache(maxsize=1024)
def modifier_of(declared: str | None) -> int:
    """Return the type's atttypmod: -1 if it has none, ``UNTOLD_MODIFIER`` if the text is ambiguous (intervals, types of extensions)."""
    if declared is None:
        return UNTOLD_MODIFIER
    found = _DECLARED.fullmatch(declared)
    if found is None:
        # An interval's modifier combines fields and precision. The modifier of an extension's type may mean anything.
        return UNTOLD_MODIFIER if "(" in declared or declared.startswith("interval ") else -1
    name, first, scale = found.groups()
    if first is None:
        # PostgreSQL prints a bit or character without a length under another name, or in quotes.
        return -1
    number = int(first)
    if name == "numeric":
        return (number << 16 | int(scale or 0) & 0x7FF) + _HEADER
    return number + _HEADER if name.startswith(("character", "bpchar")) else number
