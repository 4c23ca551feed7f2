"""The interface of a notification channel, which is a class that ``notification.enabled.channels`` names.

It corresponds to Debezium's ``NotificationChannel``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from connector.notifications.notification import Notification


class NotificationChannel(ABC):
    """Delivers notifications. Each run of a task creates one object, without arguments."""

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 (nothing to configure is usual)
        """Take the connector's whole configuration, including its secrets. Called once, before :meth:`send`. An exception ends the task."""

    @abstractmethod
    def send(self, notification: Notification) -> None:
        """Take one notification and return at once, because the call blocks the worker's event loop. An exception is only logged."""
