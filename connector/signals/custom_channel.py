"""The interface of a signal channel, which is a class that ``signal.enabled.channels`` names.

It corresponds to Debezium's ``SignalChannelReader``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping

from connector.signals.signal import Signal


class SignalChannel(ABC):
    """Delivers signals to a task. Each run of a task creates one object, without arguments."""

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 (nothing to configure is usual)
        """Take the connector's configuration, including its secrets. Called once, before :meth:`signals`. An exception ends the task."""

    @abstractmethod
    def signals(self) -> AsyncIterator[Signal]:
        """Yield signals as they arrive: an async generator without end. It is closed when the task ends.

        If it raises or ends, the worker logs this and calls it again after ``signal.poll.interval.ms``. It must not block, because it runs
        on the worker's event loop.
        """
