"""The last notifications of each connector, kept in memory for the REST interface."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

from connect_api.herder import Note
from connector.notifications.notification import Notification

KEPT: Final = 1_000
"""The most notifications that are kept for one connector."""


class NotificationBoard:
    """One connector's notifications, numbered from 1. A restart of the task and :meth:`clear` do not reset the numbers."""

    def __init__(self) -> None:
        self._notes: deque[Note] = deque(maxlen=KEPT)
        self._last = 0
        self._news = asyncio.Event()
        self._ended = False

    def add(self, notification: Notification) -> None:
        """Keep a notification, drop the oldest if there are too many, and wake the waiting callers."""
        self._last += 1
        self._notes.append(Note(self._last, notification.aggregate_type, notification.describe()))
        self._wake()

    def after(self, number: int) -> Sequence[Note]:
        """All with higher numbers. All kept ones for a number not given yet, which the client got before the worker started."""
        return [note for note in self._notes if note.number > number or number > self._last]

    async def next(self, number: int, seconds: float) -> Sequence[Note] | None:
        """Wait for notifications with higher numbers. Empty after ``seconds``; None when the board has ended."""
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
        """End the board: waiting and later callers of :meth:`next` do not wait any longer."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class NotificationBoards:
    """The boards of one worker's connectors."""

    def __init__(self) -> None:
        self._boards: dict[str, NotificationBoard] = {}
        self._ended = False

    def of(self, name: str) -> NotificationBoard:
        """The connector's board, created by the first call."""
        board = self._boards.setdefault(name, NotificationBoard())
        if self._ended:
            board.end()
        return board

    def drop(self, name: str) -> None:
        """Remove and end the connector's board."""
        board = self._boards.pop(name, None)
        if board is not None:
            board.end()

    def end(self) -> None:
        """End all boards, because the worker ends."""
        self._ended = True
        for name in list(self._boards):
            self.drop(name)
