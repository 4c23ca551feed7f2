"""Regular expressions within scripts, with a bound on the work that one may take on one text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import re2

from connector.java.regex.findings import Malformed, Unsupported
from connector.java.regex.linear import LinearPattern, LinearText, Match
from connector.java.regex.matching import Pattern, ReplacementError, each_match
from connector.java.regex.syntax import parse_named
from connector.java.regex.translation import translate
from connector.java.regex.tree import Atomic, Either, Group, Look, Repeat, Sequence
from connector.transforms.scripting.groovy.budget import MOST_MATCHING, text_of_length
from connector.transforms.scripting.groovy.values import Matcher
from connector.transforms.scripting.problem import EvaluationError

_MANY: Final = 10
"""A repetition of more than this is counted as one without an end."""

_MATCHING: Final = 25_000
"""Steps of matching that count as one of the script. Few patterns take as many as they may."""
_BRANCHING: Final = 1_000
"""The same for a pattern whose work grows exponentially: some take all of it, which is a second for the longest text."""
_LONGEST_EXPONENT: Final = 24
"""Texts are shorter than this for such a pattern, if RE2 cannot match it."""
_LOOKED_AT: Final = 1_000
"""Characters of a text that count as one."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A pattern and how its work grows: with this power of the text's length, or exponentially."""

    pattern: Pattern
    power: int
    exponential: bool
    linear: Any = None
    """RE2's program for whole texts, where RE2 can match the pattern: its work needs no bound."""

    def engine(self, text: str) -> Backtracking | LinearText:
        """Return what finds the pattern in a text. Raises EvaluationError where that may take too long."""
        length = len(text) + 1
        if not self._takes_long(length):
            return Backtracking(self.pattern.program, text)
        searched = _searched(self.pattern.source)
        if searched is not None and length * searched.size <= MOST_MATCHING and (linear := searched.text(text)) is not None:
            return linear
        raise EvaluationError("A regular expression may take too long on a text of this length; write it with fewer repetitions")

    def steps(self, length: int) -> int:
        """How many steps of matching a text of this length may take."""
        if self._takes_long(length) and (searched := _searched(self.pattern.source)) is not None:
            # Each match may be looked for in all the rest of the text.
            return length * searched.size + min(length**2 * searched.cost, MOST_MATCHING)
        return (1 << min(length, _LONGEST_EXPONENT)) * (_MATCHING // _BRANCHING) if self.exponential else length**self.power

    def _takes_long(self, length: int) -> bool:
        return (self.exponential and length > _LONGEST_EXPONENT) or length**self.power > MOST_MATCHING


@dataclass(frozen=True, slots=True)
class Backtracking:
    """Finds a pattern in a text with :mod:`re`, whose time only the caller bounds."""

    program: re.Pattern[str]
    text: str

    def search(self, at: int) -> Match | None:
        """Return the first match that begins at this character or later."""
        return self.program.search(self.text, at)

    def match(self) -> Match | None:
        """Return the match at the start of the text."""
        return self.program.match(self.text)

    def fullmatch(self) -> Match | None:
        """Return the match that is the whole text."""
        return self.program.fullmatch(self.text)


@lru_cache(maxsize=256)
def bounded(source: str) -> Bounded:
    """Compile a pattern. Raises ValueError."""
    pattern = Pattern.compile(source)
    try:
        tree, _ = parse_named(source)
    except (Malformed, Unsupported) as error:
        raise ValueError(str(error)) from None
    power, exponential = _growth(tree)
    return Bounded(pattern, power + 1, exponential, _linear(source))


@lru_cache(maxsize=256)
def _searched(source: str) -> LinearPattern | None:
    """RE2's program for parts of texts. Only long texts need it, so that a pattern does not take its memory without them."""
    return LinearPattern.compile(source)


def _linear(source: str) -> Any:
    try:
        translation = translate(source, ignore_case=False)
        if not translation.linear:
            return None
        options = re2.Options()
        options.log_errors = False
        return re2.compile(translation.text.encode(), options)
    except (Malformed, Unsupported, re2.error, UnicodeEncodeError):
        return None


def steps(text: str, source: str, *, whole: bool = False) -> int:
    """How many steps of a script's budget matching a text takes, in the worst case."""
    found, length = compiled(source), len(text) + 1
    if whole and found.linear is not None:
        return length // _LOOKED_AT
    return found.steps(length) // _MATCHING + length // _LOOKED_AT


def compiled(source: str) -> Bounded:
    """The same for a pattern that a script makes. Raises EvaluationError."""
    try:
        return bounded(source)
    except ValueError:
        raise EvaluationError("A regular expression of the script is malformed or not supported") from None


def matches(text: str, source: str) -> bool:
    """``text ==~ pattern``."""
    found = compiled(source)
    if found.linear is not None:
        try:
            return found.linear.fullmatch(text.encode()) is not None
        except UnicodeEncodeError:
            # A text with half a surrogate pair is for the other engine.
            pass
    return found.engine(text).fullmatch() is not None


def every(text: str, source: str) -> Iterator[Match]:
    """Yield the matches of a pattern in a text. Raises EvaluationError."""
    engine = compiled(source).engine(text)
    if isinstance(engine, Backtracking):
        return each_match(text, engine.program.search)
    taken, length, cost = 0, len(text), engine.pattern.cost

    def search(_text: str, at: int) -> Match | None:
        nonlocal taken
        # What RE2 looks at beyond a match is looked at again for the next one.
        taken += (length - at) * cost
        if taken > MOST_MATCHING:
            raise EvaluationError("A regular expression has too many matches in a text of this length")
        return engine.search(at)

    return each_match(text, search)


def replaced(text: str, source: str, replacement: str, *, first: bool = False) -> str:
    """``replaceAll`` and ``replaceFirst``. Raises EvaluationError."""
    found = every(text, source)
    text_of_length((len(text) + 1) * (len(replacement) + 1))
    try:
        made = compiled(source).pattern.replaced(text, islice(found, 1) if first else found, replacement)
    except ReplacementError:
        raise EvaluationError("A replacement refers to a group that the regular expression has not") from None
    text_of_length(len(made))
    return made


def split(text: str, source: str, limit: int = 0) -> list[Any]:
    """``String.split``: a match of nothing at the start splits nothing off; empty parts at the end are left out unless there is a limit."""
    parts: list[Any] = []
    at = 0
    for match in every(text, source):
        if limit > 0 and len(parts) == limit - 1:
            break
        if match.end() == 0:
            continue
        parts.append(text[at : match.start()])
        at = match.end()
    parts.append(text[at:])
    if limit == 0:
        while len(parts) > 1 and not parts[-1]:
            parts.pop()
        if len(parts) == 1 and not parts[0] and text:
            parts.pop()
    return parts


def matcher(text: str, source: str) -> Matcher:
    """``text =~ pattern``."""
    found = compiled(source)
    return Matcher(found.pattern, text, found.engine(text))


def finds(found: Matcher) -> bool:
    """``Matcher.find``: go on to the next match."""
    if found.at > len(found.text):
        found.found = None
        return False
    found.found = found.engine.search(found.at)
    if found.found is not None:
        end = found.found.end()
        found.at = end + (end == found.found.start())
    return found.found is not None


def groups(match: Any, pattern: Pattern) -> Any:
    """A match as ``matcher[0]`` gives it: its text, or a list with the text of each group where the pattern has groups."""
    count = pattern.program.groups
    return [match[0], *(match[f"g{number}"] for number in range(1, count + 1))] if count else match[0]


def _growth(node: Any) -> tuple[int, bool]:
    """How many repetitions without an end a pattern has, and whether one of them holds another or a choice."""
    match node:
        case Repeat(part, _, high, _):
            power, exponential = _growth(part)
            if high is not None and high <= _MANY:
                return power * max(high, 1), exponential or (high > 1 and _ambiguous(part))
            return power + 1, exponential or power > 0 or _ambiguous(part)
        case Sequence(parts):
            found = [_growth(part) for part in parts]
            return sum(power for power, _ in found), any(exponential for _, exponential in found)
        case Either(options):
            found = [_growth(option) for option in options]
            return max((power for power, _ in found), default=0), any(exponential for _, exponential in found)
        case Group() | Look() | Atomic():
            return _growth(node.part)
    return 0, False


def _ambiguous(node: Any) -> bool:
    match node:
        case Either(options):
            return any(isinstance(option, (Sequence, Either, Repeat, Group)) for option in options)
        case Sequence(parts):
            return any(map(_ambiguous, parts))
        case Repeat(part, low, high, _):
            return low != high or _ambiguous(part)
        case Group() | Look() | Atomic():
            return _ambiguous(node.part)
    return False
