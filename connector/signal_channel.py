"""What a signal channel is: the interface of the classes that ``signal.enabled.channels`` may name.

Debezium's is ``SignalChannelReader``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping

from connector.signals import Signal


class SignalChannel(ABC):
    """Brings signals from wherever they are. One is made for each run of a task, without arguments."""

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 (nothing to configure is usual)
        """Called once, first, with the connector's whole configuration, its secrets included. What it raises ends the task."""

    @abstractmethod
    def signals(self) -> AsyncIterator[Signal]:
        """Yield signals as they come, for ever: an async generator. It is closed when the task ends.

        When it raises or ends, that is told of in the log, and it is called again after ``signal.poll.interval.ms``. It must not
        block: the event loop is the worker's.
        """
