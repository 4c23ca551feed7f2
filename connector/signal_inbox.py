"""Where the worker hands signals to a running task: the channel that Java calls ``jmx``, behind REST here.

Pure: nobody waits. While the task listens a signal reaches it at once; while it does not, the giver learns so.
"""

from __future__ import annotations

from collections.abc import Callable

from connector.signals import Signal


class SignalInbox:
    """One task's inbox. The task opens it when it takes signals, the worker puts them in."""

    def __init__(self) -> None:
        self._receive: Callable[[Signal], None] | None = None
        self.channel: str | None = None
        """The name under which the channel was enabled, while it is open."""

    def open(self, channel: str, receive: Callable[[Signal], None]) -> None:
        """Take signals from now on; they reach ``receive`` within :meth:`offer`."""
        self.channel, self._receive = channel, receive

    def close(self) -> None:
        """Take none any more."""
        self.channel = self._receive = None

    def offer(self, signal: Signal) -> bool:
        """Hand a signal over; False when the task takes none (it has not begun to stream, or the channel is not enabled)."""
        if self._receive is None:
            return False
        self._receive(signal)
        return True
