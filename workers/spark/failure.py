"""What ends a job early, with the exit code it ends with."""

from __future__ import annotations

from typing import Final

WRONG: Final = 2
NO_JAVA: Final = 3
UNREADABLE: Final = 4
FAULT: Final = 70
"""The program's own (sysexits.h, EX_SOFTWARE). Python's code for an error that nobody caught, 1, says that tables differ."""


class JobError(Exception):
    """A failure told in one sentence and its mend; ``code`` is the process's exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
