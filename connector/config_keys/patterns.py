"""Java's regular expressions (``java.util.regex.Pattern``), as far as telling that one is malformed, in Java's words.

Only the syntax is checked: nothing is compiled or matched here.
"""

from __future__ import annotations

import re
from typing import Final

_QUANTIFIERS: Final = "*+?"
_FLAGS: Final = "idmsuxU-"


class _Malformed(Exception):  # noqa: N818 -- control flow within this module only
    def __init__(self, what: str, index: int) -> None:
        super().__init__(what)
        self.what = what
        self.index = index


def split_regexes(text: str) -> list[str]:
    """Split a list of regular expressions at its commas; a backslash keeps a comma. Entries are trimmed, empty ones dropped."""
    parts = re.split(r"(?<!\\),", text)
    return [part.strip().replace("\\,", ",") for part in parts if part.strip()]


def regex_problem(pattern: str) -> str | None:
    """Why Java would not compile ``pattern`` (``PatternSyntaxException.getMessage()``), or None when it would."""
    try:
        _scan(pattern)
    except _Malformed as malformed:
        text = malformed.what
        if malformed.index >= 0:
            text += f" near index {malformed.index}"
        text += f"\n{pattern}"
        if 0 <= malformed.index < len(pattern):
            text += f"\n{' ' * malformed.index}^"
        return text
    return None


def _scan(pattern: str) -> None:
    depth = 0
    repeatable = False
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at = _escape(pattern, at)
            repeatable = True
        elif char == "[":
            at = _character_class(pattern, at)
            repeatable = True
        elif char == "(":
            at, opened = _group(pattern, at)
            depth += opened
            repeatable = False
        elif char == ")":
            if depth == 0:
                raise _Malformed("Unmatched closing ')'", at - 1)
            depth -= 1
            repeatable = True
            at += 1
        elif char == "|":
            repeatable = False
            at += 1
        elif char in _QUANTIFIERS or char == "{":
            if char != "{" and not repeatable:
                raise _Malformed(f"Dangling meta character '{char}'", at)
            at = _quantifier(pattern, at) if repeatable or char == "{" else at + 1
            repeatable = False
        else:
            repeatable = True
            at += 1
    if depth:
        raise _Malformed("Unclosed group", len(pattern))


def _quantifier(pattern: str, at: int) -> int:
    if pattern[at] == "{":
        digits = re.compile(r"\{(\d+)(,\d*)?").match(pattern, at)
        if digits is None:
            raise _Malformed("Illegal repetition", at + 1)
        if pattern[digits.end() : digits.end() + 1] != "}":
            raise _Malformed("Unclosed counted closure", digits.end())
        low, _, high = digits.group()[1:].partition(",")
        if high and int(high) < int(low):
            raise _Malformed("Illegal repetition range", digits.end())
        at = digits.end()
    at += 1
    # Reluctant and possessive forms take one more sign.
    return at + 1 if pattern[at : at + 1] in ("?", "+") and at < len(pattern) else at


def _escape(pattern: str, at: int) -> int:
    letter = pattern[at + 1 : at + 2]
    if not letter:
        raise _Malformed("Unexpected internal error", at + 1)
    if letter == "Q":
        end = pattern.find("\\E", at + 2)
        return len(pattern) if end < 0 else end + 2
    if letter == "x" and not re.compile(r"[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]+\}").match(pattern, at + 2):
        raise _Malformed("Illegal hexadecimal escape sequence", at + 2)
    if letter == "u" and not re.compile(r"[0-9A-Fa-f]{4}").match(pattern, at + 2):
        raise _Malformed("Illegal Unicode escape sequence", len(pattern))
    if letter == "k":
        name = re.compile(r"<([A-Za-z][A-Za-z0-9]*)>").match(pattern, at + 2)
        if name is None:
            raise _Malformed("\\k is not followed by '<' for named capturing group", at + 2)
        if f"(?<{name.group(1)}>" not in pattern[:at]:
            raise _Malformed(f"named capturing group <{name.group(1)}> does not exist", name.end() - 1)
        return name.end()
    if letter in "pP" and pattern[at + 2 : at + 3] == "{":
        end = pattern.find("}", at)
        if end < 0:
            raise _Malformed("Unclosed character family", len(pattern) - 1)
        return end + 1
    return at + 2


def _character_class(pattern: str, at: int) -> int:
    """Past the bracket that closes the class opened at ``at``. A bracket straight after the opening one is a member."""
    at += 1
    if pattern[at : at + 1] == "^":
        at += 1
    first = True
    while at < len(pattern):
        char = pattern[at]
        if char == "]" and not first:
            return at + 1
        if char == "[":
            at = _character_class(pattern, at)
        elif char == "\\":
            at = _escape(pattern, at)
        else:
            last = pattern[at + 2 : at + 3]
            if pattern[at + 1 : at + 2] == "-" and last and last not in "]\\[":
                if last < char:
                    raise _Malformed("Illegal character range", at + 2)
                at += 2
            at += 1
        first = False
    raise _Malformed("Unclosed character class", len(pattern) - 1)


def _group(pattern: str, at: int) -> tuple[int, int]:
    """Past the opening of a group, and how many groups it opened (a lone flag opens none)."""
    if pattern[at + 1 : at + 2] != "?":
        return at + 1, 1
    kind = pattern[at + 2 : at + 3]
    if kind in (":", "=", "!", ">"):
        return at + 3, 1
    if kind == "<":
        if pattern[at + 3 : at + 4] in ("=", "!"):
            return at + 4, 1
        name = re.compile(r"[A-Za-z][A-Za-z0-9]*").match(pattern, at + 3)
        end = name.end() if name else at + 3
        if pattern[end : end + 1] != ">":
            raise _Malformed("named capturing group is missing trailing '>'", end)
        return end + 1, 1
    end = at + 2
    while end < len(pattern) and pattern[end] in _FLAGS:
        end += 1
    if pattern[end : end + 1] == ")":
        return end + 1, 0
    if pattern[end : end + 1] == ":":
        return end + 1, 1
    raise _Malformed("Unknown inline modifier", end)
