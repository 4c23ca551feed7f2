"""A pattern of a configuration, ready for the engine that can match it: RE2 in time linear to the name, or else :mod:`re`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from connector.java_regex.findings import Malformed, TooLarge, Unsupported
from connector.java_regex.syntax import parse
from connector.java_regex.text import ANY, NotLinear, backtracking_text, linear_text
from connector.java_regex.tree import dots

LONGEST: Final = 65_536
"""How many characters the patterns of one property may have together, less the plain names among them: reading them takes time."""

_LONGEST_TEXT: Final = 1_048_576
"""Classes written out make a text longer; compiling takes RE2 about a second for each five million characters."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+(?:\\?\.[A-Za-z0-9_-]+)*")
_EACH_CASE: Final = {ord(char): f"[{char.upper()}{char.lower()}]" for char in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"}


@dataclass(frozen=True, slots=True)
class Translation:
    """``text`` is for RE2 where ``linear``, else for :mod:`re`; ``dots`` is how many dots a name that it matches has at least."""

    source: str
    text: str
    linear: bool
    dots: int


@lru_cache(maxsize=256)
def translate(pattern: str, *, ignore_case: bool) -> Translation:
    """Raises Malformed for what Java does not compile, Unsupported for what cannot be matched here, TooLarge for what is too much."""
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
    """The same for :mod:`re`, for what RE2 refuses because it is too large."""
    text = backtracking_text(parse(translation.source, ignore_case=ignore_case))
    return Translation(translation.source, text, linear=False, dots=translation.dots)


def too_long(patterns: Iterable[str]) -> str | None:
    """Why the patterns of one property are too many to be read, as a sentence; None where they are not."""
    length = sum(len(pattern) for pattern in patterns if not _PLAIN.fullmatch(pattern))
    if length <= LONGEST:
        return None
    return f"its patterns have {length} characters and may have {LONGEST} beside plain names; write them shorter"


def problem(pattern: str) -> str | None:
    """Why the pattern is refused: ``PatternSyntaxException.getMessage()`` where Java does not compile it, or why it is too large.

    None for others, also for what Java compiles and nothing here can match: that fails the task, for the reference takes it.
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
