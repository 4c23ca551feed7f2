"""The last notifications of each connector, kept for those who ask by REST; nothing of it outlives the worker."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

from connect_api.herder import Note
from connector.notifications import Notification

KEPT: Final = 1_000
"""Notifications of one connector."""


class NotificationBoard:
    """One connector's notifications, numbered from 1. Numbers go on when the task starts again, and when the board is cleared."""

    def __init__(self) -> None:
        self._notes: deque[Note] = deque(maxlen=KEPT)
        self._last = 0
        self._news = asyncio.Event()
        self._ended = False

    def add(self, notification: Notification) -> None:
        """Keep one, in the place of the oldest when there are too many, and wake those who wait."""
        self._last += 1
        self._notes.append(Note(self._last, notification.aggregate_type, notification.describe()))
        self._wake()

    def after(self, number: int) -> Sequence[Note]:
        """All with higher numbers. A number that was never given comes from before the worker started: then everything."""
        return [note for note in self._notes if note.number > number or number > self._last]

    async def next(self, number: int, seconds: float) -> Sequence[Note] | None:
        """As :meth:`after`, once there is any, but empty after so many seconds; None when the board has come to its end."""
        try:
            async with asyncio.timeout(seconds):
                while not self._ended and not self.after(number):
                    await self._news.wait()
        except TimeoutError:
            return ()
        return self.after(number) or None

    def clear(self) -> None:
        """Forget all that is kept."""
        self._notes.clear()

    def end(self) -> None:
        """Let go of all who wait, for good."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class NotificationBoards:
    """The boards of one worker by connector."""

    def __init__(self) -> None:
        self._boards: dict[str, NotificationBoard] = {}
        self._ended = False

    def of(self, name: str) -> NotificationBoard:
        """The connector's board; made when it is first asked for."""
        board = self._boards.setdefault(name, NotificationBoard())
        if self._ended:
            board.end()
        return board

    def drop(self, name: str) -> None:
        """The connector is deleted."""
        board = self._boards.pop(name, None)
        if board is not None:
            board.end()

    def end(self) -> None:
        """The worker ends."""
        self._ended = True
        for name in list(self._boards):
            self.drop(name)
