"""Leaves out lines of the log that would come for every row."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

EVENTS: Final = frozenset({"value sent as null"})
"""The events of such lines."""
EVERY_S: Final = 60.0
"""Seconds between two lines about the same."""
MOST: Final = 10_000
"""The most such lines that are remembered."""


@dataclass(slots=True)
class _Line:
    """When a line was written last, and how many were left out since then."""

    written: float
    more: int = 0


class RepeatedLines(logging.Filter):
    """Lets lines of :data:`EVENTS` about the same pass at most once a minute, and all other lines.

    Two lines are about the same if the connector in their context, the event and all fields but ``reason`` are equal. A line has the number
    of those that were left out since the one before it in the field ``more``.
    """

    def __init__(self, connector: Callable[[], str | None]) -> None:
        super().__init__()
        self._connector = connector
        self._lines: dict[object, _Line] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        event = record.getMessage()
        if event not in EVENTS:
            return True
        fields: Mapping[str, object] = getattr(record, "fields", {})
        about = tuple((name, str(value)) for name, value in fields.items() if name != "reason")
        key = self._connector(), event, about
        known = self._lines.get(key)
        if known is not None and 0 <= record.created - known.written < EVERY_S:
            known.more += 1
            return False
        if known is not None and known.more:
            record.fields = {**fields, "more": known.more}
        if len(self._lines) >= MOST:
            self._lines.clear()
        self._lines[key] = _Line(record.created)
        return True
