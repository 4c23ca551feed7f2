"""The inbox through which the worker gives signals to a running task. The worker's REST interface replaces Debezium's channel ``jmx``.

Pure: no call waits. An open inbox delivers a signal at once. A closed inbox refuses it.
"""

from __future__ import annotations

from collections.abc import Callable

from connector.signals.signal import Signal


class SignalInbox:
    """The inbox of one task. The task opens it when it is ready for signals; the worker offers signals to it."""

    def __init__(self) -> None:
        self._receive: Callable[[Signal], None] | None = None
        self.channel: str | None = None
        """The name under which the channel is enabled; None while the inbox is closed."""

    def open(self, channel: str, receive: Callable[[Signal], None]) -> None:
        """Accept signals from now on. :meth:`offer` passes them to ``receive``."""
        self.channel, self._receive = channel, receive

    def close(self) -> None:
        """Accept no further signals."""
        self.channel = self._receive = None

    def offer(self, signal: Signal) -> bool:
        """Deliver a signal and return True. Return False if the task does not stream yet, or if the channel is not enabled."""
        if self._receive is None:
            return False
        self._receive(signal)
        return True
