"""The values of key properties in the names of MBeans."""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = re.compile(r"[\w\-%. \t]*", re.ASCII)
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "*": "\\*", "?": "\\?", "\n": "\\n"})


def key_value(text: str) -> str:
    """Return ``text`` as an ObjectName holds it: quoted, with escapes, if it has characters other than word characters and ``-%. ``."""
    return text if _PLAIN.fullmatch(text) else f'"{text.translate(_ESCAPES)}"'
