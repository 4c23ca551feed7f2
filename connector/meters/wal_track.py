"""What the positions of a server and of a slot say over time: how old a position is, and how fast a figure grows."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

_MOST: Final = 512
"""Looks that are kept. When there are more, every second one is dropped, so that any time is covered with a growing distance."""
_RATE_S: Final = 300.0
"""A rate covers this time, because a slot's position moves in steps."""
_LEAST_S: Final = 5.0


class WalTrack:
    """The LSNs of one server, each with the monotonic second at which it was the server's present position."""

    __slots__ = ("_lsns", "_times")

    def __init__(self) -> None:
        self._lsns: list[int] = []
        self._times: list[float] = []

    def add(self, lsn: int, now: float) -> None:
        """Take a look. A position before the last one (another server, or a restored one) begins a new track."""
        if self._lsns and lsn < self._lsns[-1]:
            self._lsns.clear()
            self._times.clear()
        if self._lsns and lsn == self._lsns[-1] and len(self._lsns) > 1 and self._lsns[-2] == lsn:
            # The server stands still: only the first and the last moment of a position matter.
            self._times[-1] = now
            return
        self._lsns.append(lsn)
        self._times.append(now)
        if len(self._lsns) > _MOST:
            del self._lsns[1:-1:2], self._times[1:-1:2]

    def age(self, lsn: int) -> float | None:
        """Seconds before the last look at which the server was at ``lsn``, between two looks by interpolation.

        For a position before the first look it is the time since that look, which is less than the true age. None without a look.
        """
        if not self._lsns:
            return None
        after = bisect_right(self._lsns, lsn)
        if after == len(self._lsns):
            return 0.0
        last = self._times[-1]
        if after == 0:
            return last - self._times[0]
        before_lsn, after_lsn = self._lsns[after - 1], self._lsns[after]
        before, then = self._times[after - 1], self._times[after]
        return last - (before + (then - before) * (lsn - before_lsn) / (after_lsn - before_lsn))


class Growth:
    """How fast a figure has grown over the last minutes."""

    __slots__ = ("_looks",)

    def __init__(self) -> None:
        self._looks: list[tuple[float, int]] = []

    def add(self, value: int, now: float) -> None:
        """Take a look."""
        looks = self._looks
        looks.append((now, value))
        while len(looks) > 2 and now - looks[1][0] >= _RATE_S:
            del looks[0]

    @property
    def per_second(self) -> float | None:
        """The mean growth per second, negative if the figure falls; None before the looks cover five seconds."""
        if not self._looks:
            return None
        (first, least), (last, most) = self._looks[0], self._looks[-1]
        return (most - least) / (last - first) if last - first >= _LEAST_S else None
