"""What can be wrong with a pattern."""

from __future__ import annotations


class Malformed(Exception):  # noqa: N818 -- a finding about the pattern
    """Java does not compile it. ``index`` is where Java says so, -1 where it names no place."""

    def __init__(self, what: str, index: int) -> None:
        super().__init__(what)
        self.what = what
        self.index = index


class Unsupported(Exception):  # noqa: N818 -- a finding about the pattern
    """Java compiles it, and no engine here can match it. The text is a sentence that says what to do."""


class TooLarge(Unsupported):
    """Java compiles it, and it is longer or nested deeper than is allowed here."""
