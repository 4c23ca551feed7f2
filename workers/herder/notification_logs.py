"""The last notifications of each connector, kept in memory for the REST interface."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from connect_api.herder import Note
from connector.notifications.notification import Notification

KEPT: Final = 1_000
"""The most notifications that are kept for one connector."""


class NotificationLog:
    """One connector's notifications, numbered from ``begins`` + 1. A restart of the task and :meth:`clear` do not reset the numbers."""

    def __init__(self, begins: int = 0) -> None:
        self._notes: deque[Note] = deque(maxlen=KEPT)
        self._last = begins
        self._news = asyncio.Event()
        self._ended = False

    def add(self, notification: Notification) -> None:
        """Keep a notification, drop the oldest if there are too many, and wake the waiting callers."""
        self._last += 1
        self._notes.append(Note(self._last, notification.aggregate_type, notification.describe()))
        self._wake()

    def after(self, number: int) -> Sequence[Note]:
        """All with higher numbers. All kept ones for a number not given yet, which the client got elsewhere."""
        return [note for note in self._notes if note.number > number or number > self._last]

    async def next(self, number: int, seconds: float) -> Sequence[Note] | None:
        """Wait for notifications with higher numbers. Empty after ``seconds``; None when the log has ended."""
        try:
            async with asyncio.timeout(seconds):
                while not self._ended and not self.after(number):
                    await self._news.wait()
        except TimeoutError:
            return ()
        return self.after(number) or None

    def clear(self) -> None:
        """Remove the kept notifications."""
        self._notes.clear()

    def end(self) -> None:
        """End the log: waiting and later callers of :meth:`next` do not wait any longer."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class NotificationLogs:
    """The logs of one worker's connectors. ``now_ms`` is the wall clock in milliseconds.

    A log's numbers begin at the clock, so they are higher than those that another worker, or this one before its last start, has given
    for the connector. A client that reconnects with such a number therefore misses nothing.
    """

    def __init__(self, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._now_ms = now_ms
        self._logs: dict[str, NotificationLog] = {}
        self._ended = False

    def of(self, name: str) -> NotificationLog:
        """The connector's log, created by the first call."""
        log = self._logs.get(name)
        if log is None:
            log = self._logs[name] = NotificationLog(self._now_ms())
        if self._ended:
            log.end()
        return log

    def drop(self, name: str) -> None:
        """Remove and end the connector's log."""
        log = self._logs.pop(name, None)
        if log is not None:
            log.end()

    def end(self) -> None:
        """End all logs, because the worker ends."""
        self._ended = True
        for name in list(self._logs):
            self.drop(name)
