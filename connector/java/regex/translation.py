"""Translation of a configuration's pattern for an engine: RE2, which matches in time linear to the name, or else :mod:`re`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from connector.java.regex.findings import Malformed, TooLarge, Unsupported
from connector.java.regex.syntax import parse
from connector.java.regex.text import ANY, NotLinear, backtracking_text, linear_text
from connector.java.regex.tree import dots

LONGEST: Final = 65_536
"""The maximum number of characters of all patterns of one property, without those that are plain names. Parsing takes time."""

_LONGEST_TEXT: Final = 1_048_576
"""The maximum length of a translation, in which classes are expanded. RE2 compiles about five million characters in a second."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+(?:\\?\.[A-Za-z0-9_-]+)*")
_EACH_CASE: Final = {ord(char): f"[{char.upper()}{char.lower()}]" for char in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"}


@dataclass(frozen=True, slots=True)
class Translation:
    """A translated pattern: ``text`` is for RE2 if ``linear``, else for :mod:`re`. A name that it matches has at least ``dots`` dots."""

    source: str
    text: str
    linear: bool
    dots: int


@lru_cache(maxsize=256)
def translate(pattern: str, *, ignore_case: bool) -> Translation:
    """Translate a pattern for the engine that can match it.

    Raises Malformed if Java does not compile it, Unsupported if no engine here can match it, TooLarge if it is too large.
    """
    if _PLAIN.fullmatch(pattern):
        return _plain(pattern, ignore_case=ignore_case)
    if len(pattern) > LONGEST:
        raise TooLarge(f"it has {len(pattern)} characters and may have {LONGEST}; write it shorter")
    try:
        tree = parse(pattern, ignore_case=ignore_case)
        try:
            found = Translation(pattern, linear_text(tree), linear=True, dots=dots(tree))
        except NotLinear:
            found = Translation(pattern, backtracking_text(tree), linear=False, dots=dots(tree))
    except (RecursionError, OverflowError, MemoryError):
        raise TooLarge("it takes too much memory to read; write it shorter, with fewer groups in each other") from None
    if len(found.text) > _LONGEST_TEXT:
        raise TooLarge("its character classes make it too large; write it with fewer of them")
    return found


def backtracking(translation: Translation, *, ignore_case: bool) -> Translation:
    """Return the translation for :mod:`re` of a pattern that is too large for RE2."""
    text = backtracking_text(parse(translation.source, ignore_case=ignore_case))
    return Translation(translation.source, text, linear=False, dots=translation.dots)


def too_long(patterns: Iterable[str]) -> str | None:
    """Return a sentence if the patterns of one property are too long together; else None."""
    length = sum(len(pattern) for pattern in patterns if not _PLAIN.fullmatch(pattern))
    if length <= LONGEST:
        return None
    return f"its patterns have {length} characters and may have {LONGEST} beside plain names; write them shorter"


def problem(pattern: str) -> str | None:
    """Return why the pattern is refused: ``PatternSyntaxException.getMessage()`` if Java does not compile it, or why it is too large.

    Returns None for all others, also for a pattern that Java compiles and no engine here can match. Validation accepts that one, as the
    reference does, and the task fails.
    """
    try:
        translate(pattern, ignore_case=True)
    except TooLarge as large:
        return str(large)
    except Unsupported:
        return None
    except Malformed as malformed:
        text = malformed.what
        if malformed.index >= 0:
            text += f" near index {malformed.index}"
        text += f"\n{pattern}"
        if 0 <= malformed.index < len(pattern):
            text += f"\n{' ' * malformed.index}^"
        return text
    return None


def _plain(pattern: str, *, ignore_case: bool) -> Translation:
    parts = [part.replace(".", ANY).replace("-", "\\-") for part in pattern.split("\\.")]
    if ignore_case:
        parts = [part.translate(_EACH_CASE) for part in parts]
    return Translation(pattern, "\\.".join(parts), linear=True, dots=pattern.count("."))
