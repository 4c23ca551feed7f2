"""Actions of your own for signals (Debezium's ``SignalActionProvider``), in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from connector.signals import Signal


class SignalAction(ABC):
    """Performs the signals of one type. Installed as an entry point of the group ``understudy.signal_actions``.

    The entry point's name does not matter, ``type`` does. An action runs while the stream waits: what takes long belongs into a
    task of its own. Whatever it raises is told of in the log and harms nothing.
    """

    type: str
    """The signal type it performs; the built-in types cannot be taken over."""

    @abstractmethod
    async def arrived(self, signal: Signal, data: Mapping[str, object]) -> None:
        """Act. ``data`` is the signal's JSON object."""
