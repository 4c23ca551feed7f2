"""The one way to log: an event in a few lower-case words, and fields beside it.

``LOG.info("table read", table="public.orders", rows=100)``. The handler of the process formats both (``log.format``); it hides what looks
like a secret and escapes control characters, in fields as in events. A value never belongs in the words: searches for an event, redaction
and JSON logs rely on that. Fields hold no cell values and no passwords.
"""

from __future__ import annotations

import logging
from typing import Any, Protocol

__all__ = ["EventLog", "Warn"]


class Warn(Protocol):
    """How the pure core reports what the log should say as a warning."""

    def __call__(self, event: str, /, **fields: object) -> None:
        """Report ``event`` with its fields."""


class EventLog:
    """The log of one module. ``name`` is the module's, by which operators set levels (``/admin/loggers``)."""

    __slots__ = ("_logger",)

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, /, *, cause: BaseException | None = None, **fields: object) -> None:
        """Log ``event``, with the traceback of ``cause``."""
        self._write(logging.DEBUG, event, fields, cause)

    def info(self, event: str, /, **fields: object) -> None:
        """Log ``event``."""
        self._write(logging.INFO, event, fields)

    def warning(self, event: str, /, **fields: object) -> None:
        """Log ``event``; it satisfies :class:`Warn`."""
        self._write(logging.WARNING, event, fields)

    def error(self, event: str, /, *, cause: BaseException | None = None, **fields: object) -> None:
        """Log ``event``, with the traceback of ``cause``."""
        self._write(logging.ERROR, event, fields, cause)

    def _write(self, level: int, event: str, fields: dict[str, Any], cause: BaseException | None = None) -> None:
        if self._logger.isEnabledFor(level):
            # An event that holds a percent sign is no format: it has no arguments. The third frame up is the caller.
            self._logger.log(level, event, extra={"fields": fields}, exc_info=cause, stacklevel=3)
