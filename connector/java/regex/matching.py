"""A Java pattern that is matched, with its groups and replacements (``java.util.regex.Matcher``).

Matching is done by :mod:`re` and backtracks as Java does: use it for short texts that come seldom (topic names), or where the caller
bounds the work. Patterns over many names are matched by :mod:`connector.catalog.name_matcher`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from connector.java.regex.findings import Malformed, TooLarge, Unsupported
from connector.java.regex.syntax import parse_named
from connector.java.regex.text import capturing_text
from connector.java.regex.translation import LONGEST, problem


class ReplacementError(ValueError):
    """A replacement that refers to no group, or ends within an escape. The text is Java's."""


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

    def replace_whole(self, text: str, replacement: str) -> str | None:
        """Return what Kafka's routers make of a whole match (``matches`` and then ``replaceFirst``); None where the text does not match."""
        return self.replace_first(text, replacement) if self.matches(text) else None

    def replace_first(self, text: str, replacement: str) -> str:
        """Replace the first match. Raises ReplacementError."""
        return self._replace(text, replacement, count=1)

    def replace_all(self, text: str, replacement: str) -> str:
        """Replace every match. Raises ReplacementError."""
        return self._replace(text, replacement, count=0)

    def _replace(self, text: str, replacement: str, count: int) -> str:
        return self.program.sub(lambda found: self._expanded(found, replacement), text, count)

    def _expanded(self, found: re.Match[str], replacement: str) -> str:
        """The replacement with its references filled in, as ``Matcher.appendExpandedReplacement`` does it."""
        out: list[str] = []
        at = 0
        while at < len(replacement):
            sign = replacement[at]
            if sign == "\\":
                if at + 1 == len(replacement):
                    raise ReplacementError("character to be escaped is missing")
                out.append(replacement[at + 1])
                at += 2
            elif sign == "$":
                number, at = self._reference(replacement, at + 1)
                out.append("" if number and found[f"g{number}"] is None else found[f"g{number}" if number else 0])
            else:
                out.append(sign)
                at += 1
        return "".join(out)

    def _reference(self, replacement: str, at: int) -> tuple[int, int]:
        """The group's number that is named at ``at``, and the place behind its name."""
        if at == len(replacement):
            raise ReplacementError("Illegal group reference: group index is missing")
        if replacement[at] == "{":
            end = replacement.find("}", at)
            name = replacement[at + 1 : end]
            if end < 0 or not name:
                raise ReplacementError("named capturing group is missing trailing '}'")
            if name not in self.names:
                raise ReplacementError(f"No group with name {{{name}}}")
            return self.names[name], end + 1
        if replacement[at] not in "0123456789":
            raise ReplacementError("Illegal group reference")
        most = self.program.groups
        number = int(replacement[at])
        if number > most:
            raise ReplacementError(f"No group {number}")
        at += 1
        while at < len(replacement) and replacement[at] in "0123456789" and number * 10 + int(replacement[at]) <= most:
            number = number * 10 + int(replacement[at])
            at += 1
        return number, at


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
