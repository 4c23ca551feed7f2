"""The pattern of a routing step: which topics it is for, and the topic that it makes of one (``Matcher.matches`` and ``replaceFirst``).

RE2 matches in time linear to the text and finds the groups that Java finds. Other patterns (lookaround, back references, possessive
quantifiers, repetitions of what may be empty) are first tried in a process with a time limit
(:class:`connector.ports.Backtracking`). Java would search for hours where that limit is exceeded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import re2

from connector.configdef.options import Options
from connector.errors import CdcError, ErrorKind
from connector.java.regex.findings import Malformed, TooLarge, Unsupported
from connector.java.regex.matching import Pattern
from connector.java.regex.syntax import parse_named
from connector.java.regex.text import NotLinear, linear_capturing_text
from connector.java.regex.tree import repeats_nothing
from connector.ports import OutOfTimeError

Asked = TypeVar("Asked")
Found = TypeVar("Found")

_KNOWN: Final = 1_000
"""The number of results that are remembered."""
_LONGEST: Final = 1_000
"""The length of a text whose results are remembered. Names of topics have 249 characters at most; the values of a column may be longer."""
_LINE_ENDS: Final = frozenset("\n\r\x85\u2028\u2029")
_MOST_SHOWN: Final = 100
"""The number of characters of a pattern that an error quotes."""


class RoutingPattern:
    """A compiled pattern for topics. The results for the last topics are remembered.

    A call raises CdcError(CONFIG_INVALID), which names the property, for a pattern that takes too long.
    """

    def __init__(self, source: str, options: Options, name: str) -> None:
        """Compile the pattern of the option ``name``. Raises ValueError as :meth:`Pattern.compile`."""
        self.pattern: Final = Pattern.compile(source)
        self._linear: Final = _linear(source)
        self._backtrack: Final = options.backtrack
        self._property: Final = f"{options.prefix}{name}"
        self._matched: dict[str, bool] = {}
        self._replaced: dict[tuple[str, str], str | None] = {}

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        found = self._matched.get(text)
        if found is None:
            found = self._linear.fullmatch(text) is not None if self._is_linear(text) else self._backtracked(text)
            _remember(self._matched, text, found, text)
        return found

    def replace_whole(self, text: str, replacement: str) -> str | None:
        """Return what the routers make of a whole match; None where the text does not match. Raises ReplacementError."""
        asked = text, replacement
        if asked in self._replaced:
            return self._replaced[asked]
        replaced = self._replace_first(text, replacement) if self.matches(text) else None
        _remember(self._replaced, asked, replaced, text)
        return replaced

    def _replace_first(self, text: str, replacement: str) -> str:
        """Replace the first match of a text that matches as a whole."""
        if not self._is_linear(text):
            # The search takes the steps that the process took within its limit, or fewer: it may end before the text does.
            return self.pattern.replace_first(text, replacement)
        found = self._linear.search(text)
        named = found.groupdict()
        text_of: Callable[[int], str | None] = lambda number: named[f"g{number}"] if number else found[0]  # noqa: E731
        return text[: found.start()] + self.pattern.expanded(text_of, replacement) + text[found.end() :]

    def _is_linear(self, text: str) -> bool:
        # ``$`` before a line end that ends the text is for the other engine, and so is half a surrogate pair.
        return self._linear is not None and (text.isascii() or _is_unicode(text)) and _LINE_ENDS.isdisjoint(text)

    def _backtracked(self, text: str) -> bool:
        try:
            [places] = self._backtrack([self.pattern.program.pattern], [text])
        except OutOfTimeError:
            source = self.pattern.source
            shown = source if len(source) <= _MOST_SHOWN else f"{source[:_MOST_SHOWN]}…"
            raise CdcError(
                ErrorKind.CONFIG_INVALID,
                f"Property {self._property} holds {shown!r}, which takes too long to match",
                "Write it without lookaround, back references and possessive quantifiers, or without repetitions inside repetitions",
            ) from None
        return bool(places)


def _remember(known: dict[Asked, Found], asked: Asked, found: Found, text: str) -> None:
    if len(text) > _LONGEST:
        return
    if len(known) >= _KNOWN:
        known.clear()
    known[asked] = found


def _linear(source: str) -> Any:
    """Return RE2's program; None for a pattern that RE2 does not match, or may give other groups than Java."""
    options = re2.Options()
    options.log_errors = False
    try:
        tree, _names = parse_named(source)
        return None if repeats_nothing(tree) else re2.compile(linear_capturing_text(tree), options)
    except (NotLinear, Malformed, Unsupported, TooLarge, RecursionError, UnicodeEncodeError, re2.error):
        return None


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)
