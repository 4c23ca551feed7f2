r"""The pattern of a rule, matched with a line ``domain<key=value, key=value><>attribute: value``.

RE2 matches in time linear to the line. A pattern that RE2 cannot match (look ahead, possessive quantifiers) is first tried in a process
with a time limit (:class:`connector.ports.Backtracking`); one that exceeds it matches nothing.

A scrape has thousands of lines, and only the values change between two scrapes. :class:`LinePattern` therefore knows whether the value can
change what it finds:

- ``steady``: the value cannot. After the last ``>`` that the pattern always matches, no part of it can match a colon, so it never reaches
  a value, which is a number or a text without a ``>``.
- ``gate``: the steady beginning of a pattern that reaches the value (``…><>status: (.+)``), up to the colon. Where it is not found, the
  pattern does not match either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import re2

from connector.java.regex.findings import Malformed, TooLarge, Unsupported
from connector.java.regex.syntax import parse_named
from connector.java.regex.text import NotLinear, capturing_text, linear_capturing_text
from connector.java.regex.translation import LONGEST, problem
from connector.log import EventLog
from connector.ports import Backtracking, OutOfTimeError

LOG: Final = EventLog(__name__)

Groups = Callable[[int], str | None]
"""The text of each group of a match; of group 0, the line."""

_NO_COLON: Final = re.compile(
    r"(?:[A-Za-z0-9_\- ]|\\[wdWD.\-]|\(\?:|[()|+*?]|\{\d+(?:,\d*)?\}"
    r"|\[\^[^\[\]\\]*:[^\[\]\\]*\]|\[-?(?:[A-Za-z]-[A-Za-z]|[0-9]-[0-9]|[A-Za-z0-9_.])+-?\])*"
)
r"""Text of a pattern, no part of which can match a colon. ``\W`` and ``\D`` can, and are excluded by :func:`_reaches_no_colon`."""
_ESCAPE: Final = re.compile(r"\\(?:[pPxN]\{[^}]*\}|[pP].|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|0[0-7]{1,3}|c.|k<\w+>|[1-9][0-9]*|.)", re.DOTALL)
"""An escape with all of its characters."""


@dataclass(frozen=True, slots=True)
class LinePattern:
    """A compiled pattern. It is found in any part of a line, the last one that matches, as the exporter does it."""

    source: str
    groups: int
    names: Mapping[str, int]
    steady: bool
    gate: LinePattern | None
    literal: str
    """Text that every matching line contains. To look for it first spares most matches, because a line has one rule of many."""
    _match: Callable[[str], Groups | None]

    def match(self, line: str) -> Groups | None:
        """Return the groups, or None where the line does not match."""
        return self._match(line) if self.literal in line else None


def compile_pattern(source: str, backtrack: Backtracking) -> LinePattern:
    """Compile a rule's pattern. Raises ValueError with the reason if it is malformed or cannot be matched here."""
    head = _head(source)
    steady = _is_steady(source)
    gate = compile_pattern(head, backtrack) if not steady and head is not None and _is_steady(head) else None
    whole = f"^.*(?:{source}).*$"
    if len(whole) > LONGEST:
        raise ValueError(f"it has {len(source)} characters")
    try:
        tree, names = parse_named(whole)
        text = capturing_text(tree)
        groups = re.compile(text).groups
        try:
            match = _linear(linear_capturing_text(tree))
        except (NotLinear, re2.error):
            match = _backtracked(source, text, backtrack)
    except Malformed:
        raise ValueError((problem(source) or problem(whole) or "it is malformed").splitlines()[0]) from None
    except (Unsupported, TooLarge) as unsupported:
        raise ValueError(str(unsupported)) from None
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"it cannot be compiled: {error}") from None
    return LinePattern(source, groups, names, steady, gate, _literal(source), match)


def _linear(text: str) -> Callable[[str], Groups | None]:
    options = re2.Options()
    options.log_errors = False
    program = re2.compile(text, options)

    def match(line: str) -> Groups | None:
        found: Any = program.fullmatch(line)
        if found is None:
            return None
        named = found.groupdict()
        return lambda number: named[f"g{number}"] if number else line

    return match


def _backtracked(source: str, text: str, backtrack: Backtracking) -> Callable[[str], Groups | None]:
    program = re.compile(text)
    failed: list[OutOfTimeError] = []

    def match(line: str) -> Groups | None:
        if failed:
            return None
        try:
            [places] = backtrack([text], [line])
        except OutOfTimeError as error:
            failed.append(error)
            LOG.warning("pattern of a metrics rule takes too long, it matches nothing", pattern=source)
            return None
        # The process has matched the same line with the same engine within its limit.
        found = program.fullmatch(line) if places else None
        if found is None:
            return None
        return lambda number: found[f"g{number}" if number else 0]

    return match


def _is_steady(source: str) -> bool:
    """Whether the value cannot change the match. False is always safe."""
    if "\\Q" in source or "(?" in source.replace("(?:", "") or _at_top(source, "|"):
        return False
    markers = [at for at in _at_top(source, ">") if source[at + 1 : at + 2] not in ("?", "*", "{")]
    return bool(markers) and _reaches_no_colon(source[markers[-1] + 1 :])


def _reaches_no_colon(text: str) -> bool:
    return _NO_COLON.fullmatch(text) is not None and "\\W" not in text and "\\D" not in text


def _head(source: str) -> str | None:
    colons = _at_top(source, ":")
    return (
        source[: colons[0]]
        if colons and not _at_top(source, "|") and source[colons[0] + 1 : colons[0] + 2] not in ("?", "*", "{")
        else None
    )


def _literal(source: str) -> str:
    """Return the longest text outside of groups and classes that each match contains; empty if it is not known."""
    if "(?" in source.replace("(?:", "") or "\\Q" in source or _at_top(source, "|"):
        return ""
    runs = [""]
    depth = at = 0
    while at < len(source):
        char, end = source[at], at + 1
        literal = char not in ".^$*+?()[]{}|"
        if char == "\\":
            end = _end_of_escape(source, at)
            char = source[at + 1 : end]
            literal = not char[:1].isalnum()
        if literal and depth == 0:
            runs[-1] += char
        elif not literal:
            if char in ("*", "?", "+", "{"):
                # The atom before it may be absent, or its last character may be another one.
                runs[-1] = runs[-1][:-1]
            if char in ("[", "{"):
                last = _end_of_class(source, at) if char == "[" else source.find("}", at)
                if last is None or last < 0:
                    return ""
                end = last + 1
            depth += (char == "(") - (char == ")")
            runs.append("")
        at = end
    return max(runs, key=len)


def _end_of_escape(source: str, at: int) -> int:
    """Return the place after the escape that begins with the backslash at ``at``."""
    found = _ESCAPE.match(source, at)
    return at + 1 if found is None else found.end()


def _at_top(source: str, sign: str) -> list[int]:
    """Return the places of ``sign`` that are outside of groups and classes and not escaped."""
    found: list[int] = []
    depth = at = 0
    while at < len(source):
        match source[at]:
            case "\\":
                at = _end_of_escape(source, at) - 1
            case "[":
                end = _end_of_class(source, at)
                if end is None:
                    return []
                at = end
            case "(":
                depth += 1
            case ")":
                depth -= 1
            case char if char == sign and depth == 0:
                found.append(at)
        at += 1
    return found


def _end_of_class(source: str, at: int) -> int | None:
    """The place of the bracket that ends a class; None for a class with another one inside, which is not examined."""
    at += 2 if source[at + 1 : at + 2] == "^" else 1
    if source[at : at + 1] == "]":
        at += 1
    while at < len(source):
        if source[at] == "\\":
            at += 1
        elif source[at] == "[":
            return None
        elif source[at] == "]":
            return at
        at += 1
    return None
