"""Samples of what the running tasks have done, taken every few seconds and kept in memory for a few minutes."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Sequence
from typing import Final

from workers.console.watched import WatchedWorker

SECONDS: Final = 5.0
"""The time between two samples."""
KEPT: Final = 120
"""Samples of a connector: ten minutes, about 1 KB."""


class Series:
    """The rates of one task's events, in events per second, oldest first."""

    __slots__ = ("_events", "_moment", "_rates")

    def __init__(self) -> None:
        self._rates = array("f")
        self._moment = 0.0
        self._events = -1

    def add(self, moment: float, events: int) -> None:
        """Take the sample ``events``, the count of a run, at ``moment`` in monotonic seconds. A lower count begins a new run."""
        if self._events >= 0 and moment > self._moment:
            since = events - self._events if events >= self._events else events
            self._rates.append(since / (moment - self._moment))
            if len(self._rates) > KEPT:
                del self._rates[0]
        self._moment, self._events = moment, events

    @property
    def rates(self) -> Sequence[float]:
        """All kept rates."""
        return tuple(self._rates)


class Sampler:
    """Samples all connectors that run on this worker, from :meth:`start` on, by a timer of the event loop."""

    def __init__(self, worker: WatchedWorker, clock: Callable[[], float]) -> None:
        """``clock`` returns monotonic seconds."""
        self._worker = worker
        self._clock = clock
        self._series: dict[str, Series] = {}

    def start(self) -> None:
        """Take the first sample soon, and another every :data:`SECONDS`. The timer ends with the event loop."""
        asyncio.get_running_loop().call_later(SECONDS, self._tick)

    def _tick(self) -> None:
        self.sample()
        self.start()

    def sample(self) -> None:
        """Take one sample of each running task. The samples of connectors that no longer run here are dropped."""
        moment, kept = self._clock(), {}
        for name in self._worker.connectors():
            progress = self._worker.running_progress(name)
            if progress is not None:
                series = kept[name] = self._series.get(name) or Series()
                series.add(moment, progress.events)
        self._series = kept

    def rates(self, name: str) -> Sequence[float]:
        """The connector's rates, oldest first; empty if it does not run here."""
        series = self._series.get(name)
        return () if series is None else series.rates
