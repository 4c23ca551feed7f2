"""Matches that RE2 finds in time linear to the text, for the patterns and texts for which they are those of ``java.util.regex.Matcher``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

import re2

from connector.java.regex.findings import Malformed, TooLarge, Unsupported
from connector.java.regex.syntax import parse_named
from connector.java.regex.text import NotLinear, linear_line_text
from connector.java.regex.tree import edges, positions, repeats_nothing

_LINE_ENDS: Final = frozenset("\n\r\x85\u2028\u2029")
_WORD_EDGES: Final = frozenset(("word", "no word"))
_OF_TEXTS: Final = frozenset(("begin", "end"))
_FEW: Final = 12
"""The states of an automaton for so many characters fit into RE2's memory (8 MiB)."""


class Match(Protocol):
    """A match of a pattern, as :mod:`re` has it. Group 0 is the match; the others are ``g1``, ``g2`` and so on."""

    def start(self) -> int:
        """Where the match begins."""

    def end(self) -> int:
        """Where it ends."""

    def __getitem__(self, group: Any, /) -> Any:
        """The text of a group; None for a group that took no part in the match."""


@dataclass(frozen=True, slots=True)
class LinearMatch:
    """A match that RE2 found: the places of its groups in bytes, and where the match begins in characters."""

    data: bytes
    spans: tuple[tuple[int, int], ...]
    begin: int

    def start(self) -> int:
        """Where the match begins."""
        return self.begin

    def end(self) -> int:
        """Where it ends."""
        return self.begin + len(self[0])

    def __getitem__(self, group: int | str) -> Any:
        low, high = self.spans[group if isinstance(group, int) else int(group[1:])]
        return None if low < 0 else self.data[low:high].decode()


@dataclass(frozen=True, slots=True)
class LinearPattern:
    """A pattern for RE2. ``size`` is the length of RE2's program: a text takes at most so many steps for each of its characters.

    ``cost`` is what a search takes for each character: 1, unless RE2's memory may be too small for the automaton.
    """

    program: Any
    size: int
    cost: int
    one_line: bool
    ascii_only: bool

    @classmethod
    def compile(cls, source: str) -> Self | None:
        """Return the pattern; None where RE2 cannot match it, or may give other groups than Java."""
        options = re2.Options()
        options.log_errors = False
        try:
            tree, _names = parse_named(source)
            if repeats_nothing(tree):
                return None
            program = re2.compile(linear_line_text(tree), options)
        except (NotLinear, Malformed, Unsupported, TooLarge, RecursionError, UnicodeEncodeError, re2.error):
            return None
        kinds, size = edges(tree), program.programsize
        # If the memory is too small, RE2 makes the states again for each search, which takes longer than running the program.
        cost = 1 if positions(tree) <= _FEW else 4 * size
        return cls(program, size, cost, not kinds <= _OF_TEXTS | _WORD_EDGES, bool(kinds & _WORD_EDGES))

    def text(self, text: str) -> LinearText | None:
        """Return a text for :class:`LinearText`'s searches; None where RE2 may find other matches in it than Java."""
        if (self.ascii_only and not text.isascii()) or (self.one_line and not (text and _LINE_ENDS.isdisjoint(text))):
            return None
        try:
            return LinearText(self, text.encode())
        except UnicodeEncodeError:
            # Half a surrogate pair.
            return None


class LinearText:
    """Searches in a text. Java's places are characters and RE2's bytes: each place is counted from the one before it."""

    __slots__ = ("_byte", "_character", "_data", "pattern")

    def __init__(self, pattern: LinearPattern, data: bytes) -> None:
        self.pattern = pattern
        self._data = data
        self._character = self._byte = 0

    def search(self, at: int) -> LinearMatch | None:
        """Return the first match that begins at this character or later."""
        return self._match(self.pattern.program.search(self._data, self._byte_of(at)))

    def match(self) -> LinearMatch | None:
        """Return the match at the start of the text."""
        return self._match(self.pattern.program.match(self._data))

    def fullmatch(self) -> LinearMatch | None:
        """Return the match that is the whole text."""
        return self._match(self.pattern.program.fullmatch(self._data))

    def _match(self, found: Any) -> LinearMatch | None:
        if found is None:
            return None
        groups = self.pattern.program.groups
        begin = found.start()
        return LinearMatch(self._data, tuple(found.span(group) for group in range(groups + 1)), self._character_of(begin))

    def _byte_of(self, character: int) -> int:
        if character < self._character:
            self._character = self._byte = 0
        ahead = character - self._character
        # A character has four bytes at most; the last one of these bytes may be a part of one.
        self._byte += len(self._data[self._byte : self._byte + 4 * ahead].decode(errors="ignore")[:ahead].encode())
        self._character = character
        return self._byte

    def _character_of(self, byte: int) -> int:
        if byte < self._byte:
            self._character = self._byte = 0
        self._character += len(self._data[self._byte : byte].decode())
        self._byte = byte
        return self._character
