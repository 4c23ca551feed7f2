"""What a process that reads for another tells of itself: lines of its log, and why it gives up."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

from connector.errors import CdcError, ErrorKind
from connector.runner.snapshot_pipe import Failed, Logged


class Forwarding(logging.Handler):
    """Hands lines of the log on to whoever writes them as its own; of an exception only its type."""

    def __init__(self, tell: Callable[[Logged], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Hand one on."""
        text = record.getMessage()
        if record.exc_info and record.exc_info[0] is not None:
            text += f" ({record.exc_info[0].__name__})"
        self._tell(Logged(record.name, record.levelno, text))


def failure_of(problem: BaseException, remedy: str) -> Failed:
    """The failure in words that hold no value of a row; ``remedy`` goes with one that nobody foresaw."""
    if isinstance(problem, CdcError):
        return Failed(problem.kind.value, problem.message, problem.remedy, problem.detail)
    # The text of an exception that nobody foresaw may hold a value of a row: its type and place must do.
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    return Failed(
        ErrorKind.INTERNAL.value,
        f"A process that reads the snapshot failed with {type(problem).__name__} at {frame.filename}:{frame.lineno} in {frame.name}",
        f"Report it; {remedy}",
        "",
    )
