"""Parser of the parts of a pattern that match one character: escapes, properties and classes in brackets (Java 17)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from connector.java.regex import code_points
from connector.java.regex.code_points import CodePoints, UnknownProperty, UnsupportedProperty
from connector.java.regex.findings import Malformed, TooLarge, Unsupported
from connector.java.regex.tree import Chars

DEEPEST: Final = 100
"""The maximum nesting of groups and classes. Parsers and writers recurse for each level."""

_NO_ESCAPES: Final = frozenset("CEFIJKLMOTUYgijlmoqy")
_CONTROLS: Final = {"a": 7, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9}
_CLASSES: Final[dict[str, CodePoints]] = {
    "d": code_points.DIGITS,
    "h": code_points.HORIZONTAL,
    "s": code_points.SPACE,
    "v": code_points.VERTICAL,
    "w": code_points.WORD,
}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_UNIT: Final = re.compile(r"[0-9A-Fa-f]{4}")
_OCTAL: Final = re.compile("[0-3][0-7]{2}|[0-7]{1,2}")


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags that apply at a place of a pattern, named by their effect."""

    case: bool = False
    unicode: bool = False
    comments: bool = False
    lines: bool = False
    dot_all: bool = False
    unix: bool = False


class CharacterReader:
    """A pattern, the current place in it, and the parser of the next character or class."""

    def __init__(self, text: str, flags: Flags) -> None:
        self._text = text
        self._flags = flags
        self._at = 0
        self._depth = 0

    def _peek(self, ahead: int = 0) -> str:
        return self._text[self._at + ahead : self._at + ahead + 1]

    def _skip_comments(self) -> None:
        while self._flags.comments and (char := self._peek()):
            if char in " \t\n\x0b\f\r":
                self._at += 1
            elif char == "#":
                ends = "\n" if self._flags.unix else "\n\r\x85\u2028\u2029"
                while (char := self._peek()) and char not in ends:
                    self._at += 1
            else:
                return

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise TooLarge(f"groups and classes may be nested {DEEPEST} levels deep; write the pattern with fewer")

    def _one(self, point: int) -> Chars:
        return one_character(point, case=self._flags.case, unicode=self._flags.unicode)

    def _member(self) -> int | CodePoints:
        """Read an escape for a character or a class of characters. It may also occur in brackets."""
        at, letter = self._at, self._peek(1)
        if not letter:
            raise Malformed("Unexpected internal error", at + 1)
        if letter in "pP":
            return self._property()
        if letter.lower() in _CLASSES and letter.isascii():
            self._at += 2
            points = _CLASSES[letter.lower()]
            return points if letter.islower() else code_points.complement(points)
        match letter:
            case "x":
                return self._hexadecimal()
            case "u":
                return self._unicode()
            case "c":
                if not self._peek(2):
                    raise Malformed("Illegal control escape sequence", at + 1)
                self._at += 3
                return ord(self._text[at + 2]) ^ 64
            case "0":
                octal = _OCTAL.match(self._text, at + 2)
                if octal is None:
                    raise Malformed("Illegal octal escape sequence", at + 2)
                self._at = octal.end()
                return int(octal.group(), 8)
            case "N":
                return self._character_name()
        if letter in _NO_ESCAPES or (letter.isascii() and letter.isalnum() and letter not in _CONTROLS):
            raise Malformed("Illegal/unsupported escape sequence", at + 1)
        self._at += 2
        return _CONTROLS.get(letter, ord(letter))

    def _hexadecimal(self) -> int:
        begin = self._at + 2
        if self._peek(2) != "{":
            for place in (begin, begin + 1):
                if self._text[place : place + 1] not in _HEX:
                    raise Malformed("Illegal hexadecimal escape sequence", place)
            self._at = begin + 2
            return int(self._text[begin : begin + 2], 16)
        if self._text[begin + 1 : begin + 2] not in _HEX:
            raise Malformed("Illegal hexadecimal escape sequence", begin)
        point, place = 0, begin + 1
        while (digit := self._text[place : place + 1]) in _HEX:
            point = point * 16 + int(digit, 16)
            if point > code_points.LAST:
                raise Malformed("Hexadecimal codepoint is too big", place)
            place += 1
        if digit != "}":
            raise Malformed("Unclosed hexadecimal escape sequence", place)
        self._at = place + 1
        return point

    def _unicode(self) -> int:
        digits = _UNIT.match(self._text, self._at + 2)
        if digits is None:
            raise Malformed("Illegal Unicode escape sequence", len(self._text))
        unit = int(digits.group(), 16)
        self._at = digits.end()
        low = _UNIT.match(self._text, self._at + 2) if self._text.startswith("\\u", self._at) else None
        if 0xD800 <= unit < 0xDC00 and low is not None and 0xDC00 <= int(low.group(), 16) < 0xE000:
            self._at = low.end()
            return 0x10000 + ((unit - 0xD800) << 10) + int(low.group(), 16) - 0xDC00
        return unit

    def _character_name(self) -> int:
        at = self._at
        end = self._text.find("}", at)
        if self._peek(2) != "{" or end < 0:
            raise Malformed("Illegal character name escape sequence", at + 2)
        name = self._text[at + 3 : end]
        self._at = end + 1
        try:
            return ord(unicodedata.lookup(name))
        except (KeyError, TypeError):
            raise Malformed(f"Unknown character name [{name}]", end) from None

    def _property(self) -> CodePoints:
        at, comp = self._at, self._peek(1) == "P"
        if self._peek(2) != "{":
            if not self._peek(2):
                raise Malformed("Unknown character property name {\0}", at + 2)
            name, self._at = self._peek(2), at + 3
        else:
            end = self._text.find("}", at)
            if end < 0:
                raise Malformed("Unclosed character family", len(self._text))
            name, self._at = self._text[at + 3 : end], end + 1
            if not name:
                raise Malformed("Empty character family", end)
        try:
            points = code_points.property_set(name, ignore_case=self._flags.case)
        except UnsupportedProperty:
            raise Unsupported(f"\\p{{{name}}} is not supported; use a category such as \\p{{L}}, a script, or the characters") from None
        except UnknownProperty:
            kind, equals, value = name.partition("=")
            message = f"Unknown Unicode property {{name=<{kind.lower()}>, value=<{value}>}}" if equals else ""
            raise Malformed(message or f"Unknown character property name {{{name}}}", self._at - 1) from None
        return code_points.complement(points) if comp else points

    # Classes

    def _class(self, *, closes: bool = True) -> CodePoints:
        """Read a class at its bracket, or at the right side of ``&&``; without ``closes`` its closing bracket is not consumed.

        As Java does, this collects single characters in one set, which continues to grow during the other steps. None stands for that set.
        """
        self._deeper()
        self._at += closes
        negated = closes and self._peek() == "^"
        self._at += negated
        single: list[CodePoints] = []
        steps: list[tuple[bool, CodePoints | None]] = []
        """The operands in order, each with its operator: True for an intersection with the operands before it, False for a union."""
        last: CodePoints | None = None
        pending = False
        while True:
            self._skip_comments()
            char = self._peek()
            if char == "[":
                last = self._class()
                steps.append((False, last))
            elif char == "&" and self._peek(1) == "&":
                self._at += 2
                right = self._right_side()
                if pending:
                    last = last if steps else None
                    steps.append((False, None))
                    pending = False
                if right is not None:
                    last = right
                elif not steps:
                    raise Malformed("Bad class syntax", self._at - 1)
                steps.append((bool(steps), last))
            elif char == "]" and (steps or pending):
                self._at += closes
                self._depth -= 1
                found = _joined([*steps, (False, None)] if pending else steps, code_points.union(*single))
                return code_points.complement(found) if negated else found
            elif not char:
                raise Malformed("Unclosed character class", len(self._text) - 1)
            else:
                member = self._range()
                if isinstance(member, int):
                    single.append(self._one(member).points)
                    pending = True
                else:
                    last = member
                    steps.append((False, last))

    def _right_side(self) -> CodePoints | None:
        """Read the operand after ``&&``, up to the next ``&&`` or the bracket; None if there is none."""
        classes: list[CodePoints] = []
        self._skip_comments()
        while (char := self._peek()) and char not in "]&":
            classes.append(self._class(closes=char == "["))
            self._skip_comments()
        return code_points.union(*classes) if classes else None

    def _range(self) -> int | CodePoints:
        """Read a member of a class: a character, a range, or a class of characters."""
        first = self._member_in_class()
        if not isinstance(first, int) or self._peek() != "-" or self._peek(1) in ("[", "]"):
            return first
        self._at += 1
        if not self._peek():
            raise Malformed("Illegal character range", len(self._text))
        if self._peek() == "\\" and self._peek(1) in ("p", "P"):
            raise Malformed("Illegal/unsupported escape sequence", self._at + 1)
        last = self._member_in_class()
        if not isinstance(last, int) or last < first:
            raise Malformed("Illegal character range", self._at - 1)
        points = code_points.span(first, last)
        return code_points.without_case(points, unicode=self._flags.unicode) if self._flags.case else points

    def _member_in_class(self) -> int | CodePoints:
        if self._peek() != "\\":
            self._at += 1
            return ord(self._text[self._at - 1])
        letter = self._peek(1)
        if letter and letter in "123456789ABGRXZbkz":
            raise Malformed("Illegal/unsupported escape sequence", self._at + 1)
        return self._member()


@lru_cache(maxsize=1024)
def one_character(point: int, *, case: bool, unicode: bool) -> Chars:
    """Return the character ``point``, with its other cases if ``case`` is set."""
    points = code_points.span(point, point)
    return Chars(code_points.without_case(points, unicode=unicode) if case else points)


def _joined(steps: list[tuple[bool, CodePoints | None]], single: CodePoints) -> CodePoints:
    found: CodePoints = ()
    more: list[CodePoints] = []
    for narrows, points in steps:
        member = single if points is None else points
        if narrows:
            found = code_points.intersection(code_points.union(found, *more), member)
            more = []
        else:
            more.append(member)
    return code_points.union(found, *more)
