"""Reports that a batch took a slower way because of an error.

The cheap ways of batches use parts of Spark and Delta that may change with their versions. The slower way then gives the same tables, so
without a report the change would only show as slowness.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from py4j.protocol import Py4JJavaError

_LOG: Final = logging.getLogger(__name__)
RACE: Final = frozenset(("java.nio.file.FileAlreadyExistsException", FileExistsError.__name__))
"""Another process has committed the version first, which is in order."""


class Fallbacks:
    """The reports of one process, one for each step, table and reason."""

    total = 0
    """How many there were of all steps since the process's start, also those that were not reported again."""
    _lock: Final = threading.Lock()

    def __init__(self, step: str, effect: str = "they take the slower way") -> None:
        """``step`` is what may fail, at the beginning of a sentence; ``effect`` is what a failure leads to."""
        self._step: Final = step
        self._effect: Final = effect
        self._known: set[tuple[str, str]] = set()

    def report(self, table: str, error: Exception) -> None:
        """Write one line about the table (``schema.name``, or its place). It has no text of the error, which may hold values of rows."""
        reason = reason_of(error)
        if reason in RACE:
            return
        with self._lock:
            Fallbacks.total += 1
        if (table, reason) not in self._known:
            self._known.add((table, reason))
            _LOG.warning("%s of table %s failed with %s: %s", self._step, table, reason, self._effect)


def reason_of(error: Exception) -> str:
    """The class of the error; that of Java's innermost error, if Java raised it."""
    if not isinstance(error, Py4JJavaError):
        return type(error).__name__
    found = error.java_exception
    while (cause := found.getCause()) is not None:
        found = cause
    return str(found.getClass().getName())
