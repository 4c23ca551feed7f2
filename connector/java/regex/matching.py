"""A Java pattern that is matched, with its groups and replacements (``java.util.regex.Matcher``).

Matching is done by :mod:`re` and backtracks, which may take hours where Java takes milliseconds: use it only where the caller bounds the
work. Topics are matched by :mod:`connector.transforms.routing_pattern`, names of tables by :mod:`connector.catalog.name_matcher`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from typing import Self

from connector.java.regex.findings import Malformed, TooLarge, Unsupported
from connector.java.regex.linear import Match
from connector.java.regex.replacement import ReplacementError, expand, parse_replacement
from connector.java.regex.syntax import parse_named
from connector.java.regex.text import capturing_text
from connector.java.regex.translation import LONGEST, problem

__all__ = ["Pattern", "ReplacementError"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern. Groups are numbered from 1, as in Java."""

    source: str
    program: re.Pattern[str]
    names: Mapping[str, int]
    """Name → number of the groups that have names."""

    @classmethod
    def compile(cls, source: str) -> Self:
        """Raises ValueError with Java's text for a malformed pattern, or with the reason why it cannot be matched here."""
        program, names = _compiled(source)
        return cls(source, program, names)

    def matches(self, text: str) -> bool:
        """Whether the whole text matches (``Matcher.matches``)."""
        return self.program.fullmatch(text) is not None

    def finds(self, text: str) -> bool:
        """Whether a part of the text matches (``Matcher.find``)."""
        return self.program.search(text) is not None

    def replace_first(self, text: str, replacement: str) -> str:
        """Replace the first match. Raises ReplacementError."""
        return self._replace(text, replacement, count=1)

    def replace_all(self, text: str, replacement: str) -> str:
        """Replace every match. Raises ReplacementError."""
        return self._replace(text, replacement, count=0)

    def _replace(self, text: str, replacement: str, count: int) -> str:
        found = each_match(text, self.program.search)
        return self.replaced(text, islice(found, count) if count else found, replacement)

    def replaced(self, text: str, matches: Iterable[Match], replacement: str) -> str:
        """Replace these matches. Raises ReplacementError."""
        parts, at = [], 0
        for found in matches:
            parts += [text[at : found.start()], self.expanded(partial(_group, found), replacement)]
            at = found.end()
        return "".join([*parts, text[at:]])

    def expanded(self, text_of: Callable[[int], str | None], replacement: str) -> str:
        """Return the replacement of a match, given the text of each group; of group 0, the match itself. Raises ReplacementError."""
        return expand(parse_replacement(replacement, self.program.groups, self.names), text_of)


def _group(found: Match, number: int) -> str | None:
    group: str | None = found[f"g{number}" if number else 0]
    return group


def each_match(text: str, search: Callable[[str, int], Match | None]) -> Iterator[Match]:
    """Yield the matches as ``Matcher.find`` goes through them: an empty match is followed by one that begins at least a character later."""
    at = 0
    while at <= len(text) and (found := search(text, at)) is not None:
        yield found
        at = found.end() + (found.start() == found.end())


@lru_cache(maxsize=256)
def _compiled(source: str) -> tuple[re.Pattern[str], Mapping[str, int]]:
    if len(source) > LONGEST:
        raise ValueError(f"The pattern has {len(source)} characters and may have {LONGEST}")
    try:
        tree, names = parse_named(source)
        return re.compile(capturing_text(tree)), names
    except Malformed:
        raise ValueError(problem(source)) from None
    except (Unsupported, TooLarge) as unsupported:
        raise ValueError(str(unsupported)) from None
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"The pattern cannot be compiled: {error}") from None
