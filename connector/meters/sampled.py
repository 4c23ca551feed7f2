"""Averages, maxima and rates over the last seconds, as Kafka's metrics compute them: two samples of 30 seconds."""

from __future__ import annotations

from typing import Final

WINDOW_S: Final = 30.0
"""``metrics.sample.window.ms``; a figure covers the present window and the one before it, so 30 to 60 seconds."""
SETTLED_S: Final = 2 * WINDOW_S
"""So long after the last value, figures stay as they are: they have no values any more."""
NOTHING: Final = float("nan")
"""An average or a maximum without a value, always the same object, which is equal to itself where objects are compared first."""


class Sampled:
    """Values of the present window and of the one before. ``now`` is monotonic seconds."""

    __slots__ = ("_began", "_count", "_former_count", "_former_largest", "_former_sum", "_largest", "_sum")

    def __init__(self) -> None:
        self._began: float | None = None
        self._count = self._former_count = 0
        self._sum = self._former_sum = 0.0
        self._largest: float | None = None
        self._former_largest: float | None = None

    def add(self, value: float, now: float) -> None:
        """Take a value."""
        self._move(now)
        self._count += 1
        self._sum += value
        if self._largest is None or value > self._largest:
            self._largest = value

    def average(self, now: float) -> float:
        """The mean; NaN without a value."""
        self._move(now)
        count = self._count + self._former_count
        return (self._sum + self._former_sum) / count if count else NOTHING

    def largest(self, now: float) -> float:
        """The largest value; NaN without a value."""
        self._move(now)
        return max((each for each in (self._largest, self._former_largest) if each is not None), default=NOTHING)

    def rate(self, now: float) -> float:
        """The sum of the values per second. As in Kafka at least one whole window counts as passed."""
        if self._began is None or now - self._began >= WINDOW_S:
            self._move(now)
        if self._began is None:
            return 0.0
        return (self._sum + self._former_sum) / (now - self._began + WINDOW_S)

    def _move(self, now: float) -> None:
        """Begin a new window when the present one is over."""
        if self._began is None:
            self._began = now
            return
        passed = now - self._began
        if passed < WINDOW_S:
            return
        if passed < 2 * WINDOW_S:
            self._former_count, self._former_sum, self._former_largest = self._count, self._sum, self._largest
        else:
            self._former_count, self._former_sum, self._former_largest = 0, 0.0, None
        self._began += passed // WINDOW_S * WINDOW_S
        self._count, self._sum, self._largest = 0, 0.0, None
