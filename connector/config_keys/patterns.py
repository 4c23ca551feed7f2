"""Java's regular expressions (``java.util.regex.Pattern``), as far as telling that one is malformed, in Java's words.

Only the syntax is checked: nothing is compiled or matched here.
"""

from __future__ import annotations

import re
from typing import Final

_QUANTIFIERS: Final = "*+?"
_FLAGS: Final = "idmsuxU-"
_NO_ESCAPES: Final = frozenset("CEFIJKLMOTUYgijlmoqy")


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
    except RecursionError:
        return f"Nested too deeply\n{pattern}"
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
    # With (?x) a comment runs to the end of its line. The flag counts from where it stands; its group's end is not watched.
    comments = False
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
            begin = at
            at, opened = _group(pattern, at)
            comments = comments or bool(re.match(r"\(\?[a-zA-Z]*x", pattern[begin:at]))
            depth += opened
            repeatable = False
        elif char == "#" and comments:
            at = pattern.find("\n", at) + 1 or len(pattern)
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
        _bounded(low, at + 1)
        _bounded(high, at + 2 + len(low))
        if high and int(high.lstrip("0") or "0") < int(low.lstrip("0") or "0"):
            raise _Malformed("Illegal repetition range", digits.end())
        at = digits.end()
    at += 1
    # Reluctant and possessive forms take one more sign.
    return at + 1 if pattern[at : at + 1] in ("?", "+") and at < len(pattern) else at


def _bounded(digits: str, at: int) -> None:
    """Refuse a count beyond 2**31 - 1, at the digit that exceeds it."""
    zeros = len(digits) - len(digits.lstrip("0"))
    for length in range(zeros + 10, min(len(digits), zeros + 11) + 1):
        if int(digits[zeros:length]) >= 2**31:
            raise _Malformed("Illegal repetition range", at + length - 1)


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
        return _back_reference(pattern, at)
    if letter in "pP":
        return _property(pattern, at)
    if letter == "c" and len(pattern) == at + 2:
        raise _Malformed("Illegal control escape sequence", at + 1)
    if letter == "0" and pattern[at + 2 : at + 3] not in tuple("01234567"):
        raise _Malformed("Illegal octal escape sequence", at + 2)
    if letter == "N":
        end = pattern.find("}", at)
        if pattern[at + 2 : at + 3] != "{" or end < 0:
            raise _Malformed("Illegal character name escape sequence", at + 2)
        return end + 1
    if letter == "b" and pattern.startswith("{g}", at + 2):
        return at + 5
    if letter in _NO_ESCAPES:
        raise _Malformed("Illegal/unsupported escape sequence", at + 1)
    return at + 2


def _back_reference(pattern: str, at: int) -> int:
    if pattern[at + 2 : at + 3] != "<":
        raise _Malformed("\\k is not followed by '<' for named capturing group", at + 2)
    name, end = _group_name(pattern, at + 3)
    if f"(?<{name}>" not in pattern[:at]:
        raise _Malformed(f"named capturing group <{name}> does not exist", end - 1)
    return end


def _property(pattern: str, at: int) -> int:
    if pattern[at + 2 : at + 3] != "{":
        if len(pattern) == at + 2:
            raise _Malformed("Unknown character property name {\0}", at + 2)
        return at + 3
    end = pattern.find("}", at)
    if end < 0:
        raise _Malformed("Unclosed character family", len(pattern))
    return end + 1


def _group_name(pattern: str, at: int) -> tuple[str, int]:
    """Read a group's name at ``at``; answer it and the place past its closing bracket."""
    name = re.compile(r"[A-Za-z][A-Za-z0-9]*").match(pattern, at)
    if name is None:
        raise _Malformed("capturing group name does not start with a Latin letter", at)
    if pattern[name.end() : name.end() + 1] != ">":
        raise _Malformed("named capturing group is missing trailing '>'", name.end())
    return name.group(), name.end() + 1


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
            if pattern[at + 1 : at + 2] == "-" and not last:
                raise _Malformed("Illegal character range", len(pattern))
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
        return _group_name(pattern, at + 3)[1], 1
    end = at + 2
    while end < len(pattern) and pattern[end] in _FLAGS:
        end += 1
    if pattern[end : end + 1] == ")":
        return end + 1, 0
    if pattern[end : end + 1] == ":":
        return end + 1, 1
    raise _Malformed("Unknown inline modifier", end)
