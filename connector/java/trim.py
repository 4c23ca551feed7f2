"""``String.trim``, which removes other characters than Python's ``str.strip``."""

from __future__ import annotations

from typing import Final

_REMOVED: Final = "".join(map(chr, range(0x21)))


def trim(text: str) -> str:
    """Return ``text`` without the characters up to U+0020 at both ends. Other white space, such as U+00A0, stays."""
    return text.strip(_REMOVED)
