"""The error that ends a job, with its exit code."""

from __future__ import annotations

from typing import Final

WRONG: Final = 2
NO_JAVA: Final = 3
UNREADABLE: Final = 4
FAULT: Final = 70
"""The exit code of a defect (sysexits.h, EX_SOFTWARE). Python's own code for an uncaught error, 1, means that tables differ."""


class JobError(Exception):
    """A failure: one sentence and its remedy. ``code`` is the process's exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
