"""What a notification channel is: the interface of the classes that ``notification.enabled.channels`` may name.

Debezium's is ``NotificationChannel``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from connector.notifications import Notification


class NotificationChannel(ABC):
    """Takes notifications to wherever they are wanted. One is made for each run of a task, without arguments."""

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 (nothing to configure is usual)
        """Called once, first, with the connector's whole configuration, its secrets included. What it raises ends the task."""

    @abstractmethod
    def send(self, notification: Notification) -> None:
        """Take one notification, at once: the event loop is the worker's. What it raises is told of in the log and harms nothing."""
