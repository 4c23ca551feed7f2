"""The tokens of a text that stands for a value: delimiters, and what lies between them. A backslash makes a delimiter part of a word."""

from __future__ import annotations

from typing import Final

from connector.java.trim import trim

_DELIMITERS: Final = frozenset(':,{}[]"')


class Tokens:
    """Reads the tokens of ``text`` one by one, and can go back."""

    __slots__ = ("_at", "_pending", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0
        self._pending: str | None = None

    @property
    def more(self) -> bool:
        """Whether a token follows."""
        return self._pending is not None or self._at < len(self.text)

    @property
    def mark(self) -> int:
        """Where the next token begins."""
        return self._at - len(self._pending or "")

    def rewind(self, mark: int) -> None:
        """Go on from a mark."""
        self._at, self._pending = mark, None

    def next(self) -> str:
        """Return the next token; an empty one at the end."""
        token = self._pending
        self._pending = None
        return self._read() if token is None else token

    def next_joined(self, count: int) -> str | None:
        """Return the text of so many tokens. None, and nothing is read, if fewer follow."""
        begin = self.mark
        for _ in range(count):
            if not self.more:
                self.rewind(begin)
                return None
            self.next()
        return self.text[begin : self._at]

    def take(self, wanted: str) -> bool:
        """Read the next token if it is the wanted one, blanks aside. Blank tokens before it are skipped, whichever follows."""
        if not self.more:
            return False
        token = self._pending if self._pending is not None else self._read()
        while not trim(token) and self._at < len(self.text):
            token = self._read()
        taken = trim(token) == wanted
        self._pending = None if taken else token
        return taken

    def _read(self) -> str:
        begin, escaped = self._at, False
        while self._at < len(self.text):
            sign = self.text[self._at]
            if sign == "\\":
                escaped = not escaped
            else:
                if sign in _DELIMITERS and not escaped:
                    if begin == self._at:
                        self._at += 1
                    break
                escaped = False
            self._at += 1
        return self.text[begin : self._at]
