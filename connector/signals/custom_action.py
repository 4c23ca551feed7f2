"""The interface of a signal action, which is a class that performs signals of one type (Debezium: ``SignalActionProvider``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from connector.signals.signal import Signal


class SignalAction(ABC):
    """Performs the signals of one type. Installed as an entry point of the group ``understudy.signal_actions``.

    The entry point's name does not decide the signal type; ``type`` does. The stream waits while an action runs, so long work belongs in
    a separate asyncio task. An exception is logged and has no other effect.
    """

    type: str
    """The signal type that it performs. It cannot replace a built-in type."""

    @abstractmethod
    async def arrived(self, signal: Signal, data: Mapping[str, object]) -> None:
        """Perform the signal. ``data`` is its JSON object."""
