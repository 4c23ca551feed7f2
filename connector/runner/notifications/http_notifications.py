"""The notification channel ``http``: it posts each notification as JSON to ``notification.http.url``, since Debezium 3.7.0.

A notification that the address does not accept is dropped after its attempts, with a line in the log. The task never waits for one.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from connector.log import EventLog
from connector.notifications.notification import Notification
from connector.notifications.records import ordered_data

LOG: Final = EventLog(__name__)

MOST_WAITING: Final = 1000
"""Notifications that wait at most; further ones are dropped."""
_FIRST_PAUSE_S: Final = 1.0

Post = Callable[[bytes], Awaitable[str | None]]
"""Posts a body, and returns why it was not accepted, or None."""


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """Where the channel posts, and how often it tries. ``timeout`` is in seconds."""

    url: str
    timeout: float
    retries: int
    private: bool
    """Whether the address may be one of this machine or of a private network."""


class HttpChannel:
    """Posts notifications in their order, one after the other."""

    def __init__(self, target: HttpTarget, post: Post) -> None:
        self._target = target
        self._post = post
        self._waiting: deque[Notification] = deque()
        self._delivery: asyncio.Task[None] | None = None
        self._closed = False

    def send(self, notification: Notification) -> None:
        """Queue a notification. It is posted by a task of its own, which ends when nothing is queued."""
        if self._closed:
            self._dropped(notification, "the task has ended")
            return
        if len(self._waiting) >= MOST_WAITING:
            self._dropped(notification, "too many notifications wait")
            return
        self._waiting.append(notification)
        if self._delivery is None or self._delivery.done():
            self._delivery = asyncio.create_task(self._deliver_all(), name="http notifications")

    async def delivered(self) -> None:
        """Wait until nothing is queued."""
        if self._delivery is not None:
            await asyncio.shield(self._delivery)

    async def close(self, limit: float) -> None:
        """Wait up to ``limit`` seconds until nothing is queued, then drop what is left. Nothing is posted afterwards."""
        self._closed = True
        if self._delivery is None:
            return
        try:
            await asyncio.wait({self._delivery}, timeout=limit)
        finally:
            self._delivery.cancel()
        await asyncio.wait({self._delivery})
        while self._waiting:
            self._dropped(self._waiting.popleft(), "the task has ended")

    async def _deliver_all(self) -> None:
        while self._waiting:
            await self._deliver(self._waiting[0])
            self._waiting.popleft()

    async def _deliver(self, notification: Notification) -> None:
        body = as_json(notification)
        reason = None
        for attempt in range(self._target.retries + 1):
            if attempt:
                # As recorded: one second, then twice as long each time.
                await asyncio.sleep(_FIRST_PAUSE_S * 2 ** (attempt - 1))
            reason = await self._post(body)
            if reason is None:
                return
        self._dropped(notification, reason or "", attempts=self._target.retries + 1)

    def _dropped(self, notification: Notification, reason: str, **more: int) -> None:
        LOG.warning("notification dropped", channel="http", type=notification.type, reason=reason, **more)


def as_json(notification: Notification) -> bytes:
    """Return the notification as Debezium posts it."""
    members = {
        "aggregateType": notification.aggregate_type,
        "type": notification.type,
        "additionalData": ordered_data(notification),
        "timestamp": notification.timestamp,
        "id": notification.id,
    }
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()
