"""Cuts a script into tokens (Groovy language documentation, "Syntax")."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from connector.java.floats import as_float32
from connector.transforms.scripting.groovy.syntax.token import Kind, Token
from connector.transforms.scripting.groovy.values import BigInteger, Float, Long
from connector.transforms.scripting.problem import Place, ScriptError

# fmt: off
_OPERATORS: Final = tuple(
    sorted(
        [
            "<=>", "==~", "===", "!==", "..<", "<..", "?:", "?.", "?[", "*.", "**", "..", "->", "&&", "||", "==", "!=", "<=", ">=",
            "=~", "<<", ">>", "++", "--", "+=", "-=", "*=", "/=", ".&", "??", "+", "-", "*", "/", "%", "<", ">", "=", "!", "?", ":",
            ";", ",", ".", "(", ")", "[", "]", "{", "}", "&", "|", "^", "~", "@",
        ],
        key=len,
        reverse=True,
    )
)
# fmt: on
_NAME: Final = re.compile(r"[A-Za-z_$\u0080-\uffff][\w$]*")
_NUMBER: Final = re.compile(
    r"(?P<hex>0[xX][0-9a-fA-F_]+)(?P<hexend>[lLiIgG]?)|(?P<bin>0[bB][01_]+)(?P<binend>[lLiIgG]?)"
    r"|(?P<digits>\d[\d_]*)(?P<fraction>\.\d[\d_]*)?(?P<exponent>[eE][+-]?\d+)?(?P<end>[lLiIgGdDfF]?)"
)
_SPACE: Final = re.compile(r"(?:[ \t\f\r]|\\\r?\n|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NOT_IN: Final = re.compile(r"!(in|instanceof)\b")
_GSTRING_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_BEFORE_SLASH: Final = frozenset(("return", "in", "instanceof", "if", "else", "case", "def"))
_ESCAPES: Final = {"b": "\b", "n": "\n", "r": "\r", "t": "\t", "f": "\f", "s": " ", "\\": "\\", "'": "'", '"': '"', "$": "$"}
_LONGEST: Final = 65_536
_MOST_DIGITS: Final = 1_000


def tokens(script: str) -> list[Token]:
    """Return the tokens of a script, the last of which has the kind ``end``. Raises ScriptError."""
    if len(script) > _LONGEST:
        raise ScriptError(f"The script has {len(script)} characters and may have {_LONGEST}")
    return _Lexer(script).tokens()


class _Lexer:
    def __init__(self, script: str, at: int = 0, depth: int = 0) -> None:
        self.script = script
        self.at = at
        self.depth = depth
        self.found: list[Token] = []
        self.open: list[str] = []

    def place(self, at: int | None = None) -> Place:
        before = self.script[: self.at if at is None else at]
        return Place(before.count("\n") + 1, len(before) - before.rfind("\n"))

    def tokens(self) -> list[Token]:
        while self._next(within=False):
            pass
        if self.open:
            raise ScriptError(f"'{self.open[-1]}' is not closed", self.place())
        return self.found

    def braced(self) -> tuple[list[Token], int]:
        """Read up to the brace that closes an expression of a GString; return its tokens and where the brace ends."""
        while self._next(within=True):
            pass
        return self.found, self.at

    def _next(self, *, within: bool) -> bool:
        space = _SPACE.match(self.script, self.at)
        if space:
            self.at = space.end()
        start = self.at
        if start >= len(self.script):
            if within:
                raise ScriptError("'${' is not closed", self.place())
            self._add("end", "", start)
            return False
        sign = self.script[start]
        spaced = space is not None
        if sign == "\n":
            self.at += 1
            if not self.open or self.open[-1] == "{":
                self._add("newline", "\n", start)
        elif sign in "'\"" or (sign == "/" and self._slash_begins_text()):
            self._string(start, spaced=spaced)
        elif sign.isdigit() and sign.isascii():
            self._number(start, spaced=spaced)
        elif name := _NAME.match(self.script, start):
            if self.script.startswith("$/", start):
                raise ScriptError("Strings between $/ and /$ are not supported", self.place(start))
            self.at = name.end()
            self._add("name", name.group(), start, spaced=spaced)
        else:
            return self._operator(start, within=within, spaced=spaced)
        return True

    def _add(self, kind: Kind, text: str, start: int, value: Any = None, *, spaced: bool = False) -> None:
        self.found.append(Token(kind, text, self.place(start), value, spaced))

    def _operator(self, start: int, *, within: bool, spaced: bool) -> bool:
        if negated := _NOT_IN.match(self.script, start):
            self.at = negated.end()
            self._add("operator", negated.group(), start, spaced=spaced)
            return True
        text = next((each for each in _OPERATORS if self.script.startswith(each, start)), None)
        if text is None:
            raise ScriptError(f"Character {self.script[start]!r} is not expected here", self.place(start))
        self.at = start + len(text)
        if text in ("(", "[", "{", "?["):
            self.open.append("[" if text == "?[" else text)
        elif text in (")", "]", "}"):
            if not self.open and within and text == "}":
                self._add("end", "", start)
                return False
            if not self.open or self.open.pop() != {")": "(", "]": "[", "}": "{"}[text]:
                raise ScriptError(f"'{text}' closes nothing", self.place(start))
        self._add("operator", text, start, spaced=spaced)
        return True

    def _slash_begins_text(self) -> bool:
        """Whether a slash begins a string: not after an operand, where it divides."""
        before = next((token for token in reversed(self.found) if token.kind != "newline"), None)
        if before is None or before is not self.found[-1]:
            return True
        if before.kind == "name":
            return before.text in _BEFORE_SLASH
        return before.kind == "operator" and before.text not in (")", "]", "}")

    def _number(self, start: int, *, spaced: bool) -> None:
        found = _NUMBER.match(self.script, start)
        if found is None or _NAME.match(self.script, found.end()):
            raise ScriptError("Malformed number", self.place(start))
        self.at = found.end()
        try:
            value = _number(found)
        except ValueError as error:
            raise ScriptError(f"Malformed number: {error}", self.place(start)) from None
        self._add("number", found.group(), start, value, spaced=spaced)

    def _string(self, start: int, *, spaced: bool) -> None:
        sign = self.script[start]
        end = sign * 3 if sign != "/" and self.script.startswith(sign * 3, start) else sign
        self.at = start + len(end)
        parts: list[str | Sequence[Token]] = []
        text: list[str] = []
        while not self.script.startswith(end, self.at):
            if self.at >= len(self.script) or (end in ("'", '"') and self.script[self.at] == "\n"):
                raise ScriptError("String is not closed", self.place(start))
            letter = self.script[self.at]
            if letter == "\\":
                text.append(self._escaped(sign))
            elif letter == "$" and sign != "'" and (inner := self._inner(sign)) is not None:
                parts += ["".join(text), inner]
                text = []
            else:
                text.append(letter)
                self.at += 1
        self.at += len(end)
        if parts:
            self._add("gstring", "", start, [*parts, "".join(text)], spaced=spaced)
        else:
            if sign == "/" and not text:
                raise ScriptError("A string between slashes cannot be empty", self.place(start))
            self._add("string", "", start, "".join(text), spaced=spaced)

    def _inner(self, sign: str) -> list[Token] | None:
        """Read what a dollar sign puts into a string; None where the dollar sign stands for itself."""
        start = self.at
        if self.script.startswith("${", start):
            if self.depth > 20:
                raise ScriptError("GStrings are nested too deeply", self.place())
            found, self.at = _Lexer(self.script, start + 2, self.depth + 1).braced()
            return found
        name = _GSTRING_NAME.match(self.script, start + 1)
        if name is None:
            if sign == "/":
                return None
            raise ScriptError("A dollar sign in a string needs a backslash before it, or a name or '{' after it", self.place())
        self.at = name.end()
        return _Lexer(self.script[: name.end()], start + 1).tokens()

    def _escaped(self, sign: str) -> str:
        following = self.script[self.at + 1 : self.at + 2]
        if sign == "/":
            self.at += 2 if following == "/" else 1
            return "/" if following == "/" else "\\"
        if following == "u":
            digits = self.script[self.at + 2 : self.at + 6]
            if not re.fullmatch("[0-9a-fA-F]{4}", digits):
                raise ScriptError("Malformed unicode escape", self.place())
            self.at += 6
            return chr(int(digits, 16))
        self.at += 2
        if following == "\n":
            return ""
        if following in _ESCAPES and following:
            return _ESCAPES[following]
        octal = re.compile("[0-3]?[0-7]{1,2}").match(self.script, self.at - 1)
        if octal is None:
            self.at -= 2
            raise ScriptError("Unknown escape sequence in a string", self.place())
        self.at = octal.end()
        return chr(int(octal.group(), 8))


def _number(found: re.Match[str]) -> object:
    """The value of a literal: an Integer, Long or BigInteger by its size, a BigDecimal with a point, else as its last letter says."""
    if len(found.group()) > _MOST_DIGITS:
        raise ValueError(f"it has more than {_MOST_DIGITS} digits")
    if found["hex"] or found["bin"]:
        text, base = (found["hex"], 16) if found["hex"] else (found["bin"], 2)
        return _whole(int(text[2:].replace("_", ""), base), (found["hexend"] or found["binend"] or "").upper())
    digits, end = found["digits"].replace("_", ""), found["end"].upper()
    fraction, exponent = (found["fraction"] or "").replace("_", ""), found["exponent"] or ""
    if not fraction and not exponent and end not in ("D", "F"):
        return _whole(int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10), end)
    text = digits + fraction + exponent
    if end in ("D", "F") and math.isinf(float(text)):
        raise ValueError("it is too large for its kind")
    if end == "D":
        return float(text)
    if end == "F":
        return Float(as_float32(float(text)))
    if end in ("L", "I"):
        raise ValueError("a whole number has no fraction")
    if len(exponent) > 5:
        raise ValueError("its exponent is too large")
    return Decimal(text)


def _whole(value: int, end: str) -> int:
    if end == "G":
        return BigInteger(value)
    if end == "L" and value < 2**63:
        return Long(value)
    if value < 2**31 and end in ("", "I"):
        return value
    if end == "":
        return Long(value) if value < 2**63 else BigInteger(value)
    raise ValueError("it is too large for its kind")
