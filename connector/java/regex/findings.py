"""The errors of a pattern."""

from __future__ import annotations


class Malformed(Exception):  # noqa: N818 -- a finding about the pattern
    """Java does not compile the pattern. ``index`` is the place that Java reports, -1 if it reports none."""

    def __init__(self, what: str, index: int) -> None:
        super().__init__(what)
        self.what = what
        self.index = index


class Unsupported(Exception):  # noqa: N818 -- a finding about the pattern
    """Java compiles the pattern, and no engine here can match it. The text contains the remedy."""


class TooLarge(Unsupported):
    """Java compiles the pattern, but it is longer or nested deeper than this translation allows."""
