"""How late the event loop is: something that holds it up delays every event, every acknowledgement and every answer of the worker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from connector.meters.histogram import Histogram
from connector.meters.sampled import Sampled

BOUNDS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
INTERVAL_S: Final = 0.05
"""A timer is due so often. What holds the loop up for longer than this is seen, and for at most this time less than it lasted. Twenty
timers a second take less than 0.1 % of a core."""


class LoopLag:
    """The lateness of a timer of the running event loop, in seconds. ``now`` is monotonic seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now: Final = now
        self.histogram: Final = Histogram(BOUNDS_S)
        self.recent: Final = Sampled()
        """The same values, of the last minute."""
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to measure the running event loop."""
        loop = asyncio.get_running_loop()

        def due(at: float) -> None:
            now = self._now()
            late = max(0.0, now - at)
            self.histogram.add(late)
            self.recent.add(late, now)
            self._timer = loop.call_later(INTERVAL_S, due, self._now() + INTERVAL_S)

        self._timer = loop.call_later(INTERVAL_S, due, self._now() + INTERVAL_S)

    def stop(self) -> None:
        """End the measurement. No-op before :meth:`start`."""
        if self._timer is not None:
            self._timer.cancel()
