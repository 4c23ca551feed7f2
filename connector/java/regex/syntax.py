"""Parser of Java's regular expressions into trees, with Java's error messages (``java.util.regex.Pattern``, Java 17)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal

from connector.java.regex import code_points
from connector.java.regex.characters import CharacterReader, Flags
from connector.java.regex.code_points import CodePoints
from connector.java.regex.findings import Malformed, Unsupported
from connector.java.regex.tree import Atomic, BackReference, Chars, Edge, Either, Group, Look, Node, Repeat, Sequence

_FLAGS: Final = "idmsuxUc"
_QUOTES: Final = re.compile(r"\\(?:Q(?P<quoted>.*?)(?:\\E|\Z)|.)", re.DOTALL)
_DIGITS: Final = frozenset("0123456789")
_COUNTED: Final = re.compile(r"\{([0-9]+)(,[0-9]*)?")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_LONGEST: Final = 2**31

_FLAG_NAMES: Final = {"i": "case", "u": "unicode", "x": "comments", "m": "lines", "s": "dot_all", "d": "unix"}
EMPTY: Final = Sequence(())
_LINE_END: Final = Either((Sequence((Chars(code_points.of("\r")), Chars(code_points.of("\n")))), Chars(code_points.VERTICAL)))


def parse(pattern: str, *, ignore_case: bool = False) -> Node:
    """Parse a pattern. Raises Malformed, Unsupported and TooLarge."""
    return parse_named(pattern, ignore_case=ignore_case)[0]


def parse_named(pattern: str, *, ignore_case: bool = False) -> tuple[Node, Mapping[str, int]]:
    """Return the tree, and the numbers of the groups that have names. Raises as :func:`parse`."""
    reader = _Reader(_QUOTES.sub(_unquoted, pattern), Flags(case=ignore_case))
    return reader.whole(), reader.names


def _unquoted(found: re.Match[str]) -> str:
    r"""Return an escape unchanged, and the text of ``\Q...\E`` with a backslash before each sign, as Java's preprocessing does."""
    quoted = found["quoted"]
    if quoted is None:
        return found.group()
    text = "".join(sign if sign.isalnum() or not sign.isascii() else "\\" + sign for sign in quoted)
    # A bare digit would become part of a preceding back reference.
    return f"\\x3{text}" if text[:1] and text[0] in _DIGITS else text


class _Reader(CharacterReader):
    def __init__(self, text: str, flags: Flags) -> None:
        super().__init__(text, flags)
        self._groups = 0
        self._open: set[int] = set()
        self.names: dict[str, int] = {}
        self._early: set[int] = set()
        """Groups that are referenced before their end."""

    def whole(self) -> Node:
        found = self._either()
        if self._at < len(self._text):
            raise Malformed("Unmatched closing ')'", self._at - 1)
        if any(number <= self._groups for number in self._early):
            raise Unsupported("A back reference to a group that has not ended is not supported; write the alternatives out")
        return found

    def _either(self) -> Node:
        options = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while True:
            self._skip_comments()
            char = self._peek()
            if not char or char in "|)":
                return parts[0] if len(parts) == 1 else Sequence(tuple(parts))
            if char in "*+?":
                raise Malformed(f"Dangling meta character '{char}'", self._at)
            atom = EMPTY if char == "{" else self._atom(char)
            if atom is not None:
                parts.append(self._repeated(atom))

    def _atom(self, char: str) -> Node | None:
        """Return the next part without its quantifier; None for flags alone."""
        match char:
            case "(":
                return self._group()
            case "[":
                return Chars(self._class())
            case "\\":
                return self._escaped()
            case ".":
                self._at += 1
                return Chars(self._any(), dot=True)
            case "^":
                self._at += 1
                return Edge("line begin" if self._flags.lines else "begin", self._flags.unix)
            case "$":
                self._at += 1
                return Edge("line end" if self._flags.lines else "last", self._flags.unix)
        self._at += 1
        return self._one(ord(char))

    def _any(self) -> CodePoints:
        if self._flags.dot_all:
            return code_points.ALL
        return code_points.complement(code_points.of("\n") if self._flags.unix else code_points.LINE_ENDS)

    # Quantifiers

    def _repeated(self, part: Node) -> Node:
        self._skip_comments()
        char = self._peek()
        if not char or char not in "*+?{":
            return part
        low, high = self._counts() if char == "{" else {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        self._at += 1
        mode: Literal["", "?", "+"] = ""
        if self._peek() == "?":
            mode = "?"
        elif self._peek() == "+":
            mode = "+"
        self._at += len(mode)
        # As in Java, a repeated \R does not split a pair of line ends.
        return Repeat(Atomic(part) if part is _LINE_END else part, low, high, mode)

    def _counts(self) -> tuple[int, int | None]:
        at = self._at
        digits = _COUNTED.match(self._text, at)
        if digits is None:
            raise Malformed("Illegal repetition", at + 1)
        if self._text[digits.end() : digits.end() + 1] != "}":
            raise Malformed("Unclosed counted closure", digits.end())
        low, comma, high = digits.group()[1:].partition(",")
        least = _bounded(low, at + 1)
        most = _bounded(high, at + 2 + len(low)) if high else None if comma else least
        if most is not None and most < least:
            raise Malformed("Illegal repetition range", digits.end())
        self._at = digits.end()
        return least, most

    # Groups

    def _group(self) -> Node | None:
        self._deeper()
        outside = self._flags
        if self._peek(1) != "?":
            self._at += 1
            found = self._capturing()
        else:
            opened = self._special()
            if opened is None:
                self._depth -= 1
                return None
            found = opened()
        if self._peek() != ")":
            raise Malformed("Unclosed group", len(self._text))
        self._at += 1
        self._flags = outside
        self._depth -= 1
        return found

    def _capturing(self) -> Node:
        self._groups += 1
        number = self._groups
        self._open.add(number)
        found = Group(self._either(), number)
        self._open.remove(number)
        return found

    def _special(self) -> Callable[[], Node] | None:
        """Return the function that parses the rest of a group after ``(?...``; None for flags alone."""
        kind = self._peek(2)
        if kind in tuple(":=!>"):
            self._at += 3
            match kind:
                case ":":
                    return self._either
                case ">":
                    return lambda: Atomic(self._either())
            return lambda: Look(self._either(), ahead=True, negated=kind == "!")
        if kind == "<" and (sign := self._peek(3)) in ("=", "!"):
            self._at += 4
            return lambda: Look(self._either(), ahead=False, negated=sign == "!")
        if kind == "<":
            begin = self._at + 3
            name, self._at = _group_name(self._text, begin)
            if name in self.names:
                raise Malformed(f"Named capturing group <{name}> is already defined", self._at - 1)
            self.names[name] = self._groups + 1
            return self._capturing
        self._at += 2
        self._read_flags()
        end = self._peek()
        if end not in (")", ":"):
            raise Malformed("Unknown inline modifier" if kind not in ("$", "@") else "Unknown group type", self._at)
        self._at += 1
        return None if end == ")" else self._either

    def _read_flags(self) -> None:
        on = True
        while (char := self._peek()) and (char in _FLAGS or (char == "-" and on)):
            self._at += 1
            if char == "-":
                on = False
            elif char in "Uc":
                raise Unsupported(f"The flag {char} is not supported; write the classes out, for instance [\\p{{L}}\\p{{Nd}}_] for \\w")
            else:
                self._flags = replace(self._flags, **{_FLAG_NAMES[char]: on})

    # Escapes

    def _escaped(self) -> Node:
        at, letter = self._at, self._peek(1)
        match letter:
            case "A" | "G":
                # A name is matched from its start, where \A and \G both match.
                self._at += 2
                return Edge("begin")
            case "z":
                self._at += 2
                return Edge("end")
            case "Z":
                self._at += 2
                return Edge("last", self._flags.unix)
            case "b" if self._text.startswith("{g}", at + 2):
                raise Unsupported("\\b{g}, a boundary of grapheme clusters, is not supported")
            case "b":
                self._at += 2
                return Edge("word")
            case "B":
                self._at += 2
                return Edge("no word")
            case "R":
                self._at += 2
                return _LINE_END
            case "X":
                raise Unsupported("\\X, a grapheme cluster, is not supported")
            case "k":
                return self._named_reference()
        if letter and letter in "123456789":
            return self._reference()
        found = self._member()
        return self._one(found) if isinstance(found, int) else Chars(found)

    def _named_reference(self) -> Node:
        if self._peek(2) != "<":
            raise Malformed("\\k is not followed by '<' for named capturing group", self._at + 2)
        name, end = _group_name(self._text, self._at + 3)
        if name not in self.names:
            raise Malformed(f"named capturing group <{name}> does not exist", end - 1)
        self._at = end
        return self._refer(self.names[name])

    def _reference(self) -> Node:
        number = int(self._peek(1))
        self._at += 2
        while self._peek() in _DIGITS and number * 10 + int(self._peek()) <= self._groups:
            number = number * 10 + int(self._peek())
            self._at += 1
        return self._refer(number)

    def _refer(self, number: int) -> Node:
        if number > self._groups or number in self._open:
            self._early.add(number)
        if number > self._groups:
            # As in Java, a reference to a group that does not exist matches nothing.
            return Chars(())
        return BackReference(number, "" if not self._flags.case else "u" if self._flags.unicode else "i")


def _bounded(digits: str, at: int) -> int:
    """Return the count. Java refuses a count above 2**31 - 1, and reports the digit that exceeds it."""
    count = digits.lstrip("0")
    for length in (10, 11):
        if len(count) >= length and int(count[:length]) >= _LONGEST:
            raise Malformed("Illegal repetition range", at + len(digits) - len(count) + length - 1)
    return int(count or "0")


def _group_name(pattern: str, at: int) -> tuple[str, int]:
    """Read a group's name at ``at``. Returns it and the place after its closing bracket."""
    name = _NAME.match(pattern, at)
    if name is None:
        raise Malformed("capturing group name does not start with a Latin letter", at)
    if pattern[name.end() : name.end() + 1] != ">":
        raise Malformed("named capturing group is missing trailing '>'", name.end())
    return name.group(), name.end() + 1
