"""What the connections of Kafka clients have carried. It is learned when metrics are read, so that it costs nothing between two scrapes.

A connection that opens and closes between two looks is not seen, and the last bytes of a closed one neither.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

_LOOKED_BACK_S: Final = 60.0
"""A rate covers as many seconds, or the time since the last look but one."""
_LEAST_S: Final = 30.0
"""As in Kafka, a rate counts at least one window of 30 s as passed."""
_APART_S: Final = 1.0
"""Of looks that are less apart only the last is kept."""


class Traffic(NamedTuple):
    """What connections have carried: bytes, requests, and those of them without an answer."""

    sent: int = 0
    received: int = 0
    requests: int = 0
    waiting: int = 0


Look = Callable[[], Mapping[object, Traffic]]
"""Returns the open connections and what each has carried since it was opened."""
Counted = Literal["created", "closed", "sent", "received", "requests", "answers"]


class _Totals(NamedTuple):
    created: int = 0
    closed: int = 0
    sent: int = 0
    received: int = 0
    requests: int = 0
    answers: int = 0


class ConnectionMeter:
    """The connections of the clients that one MBean describes. ``now`` is monotonic seconds."""

    def __init__(self) -> None:
        self._looks: list[Look] = []
        self._known: weakref.WeakKeyDictionary[object, Traffic] = weakref.WeakKeyDictionary()
        self._samples: deque[tuple[float, _Totals]] = deque()
        self.open = 0
        """Open connections at the last look."""
        self.in_flight = 0
        """Their requests without an answer."""
        self.totals = _Totals()

    def watch(self, look: Look) -> None:
        """Look at the connections of a further client."""
        self._looks.append(look)

    def look(self, now: float) -> None:
        """Take in what the connections have carried until ``now``."""
        created, _, sent, received, requests, answers = self.totals
        self.open = self.in_flight = 0
        for look in self._looks:
            for connection, carried in look().items():
                before = self._known.get(connection)
                if before is None:
                    created += 1
                    before = Traffic()
                self._known[connection] = carried
                self.open += 1
                self.in_flight += carried.waiting
                sent += max(0, carried.sent - before.sent)
                received += max(0, carried.received - before.received)
                requests += max(0, carried.requests - before.requests)
                answers += max(0, carried.requests - carried.waiting - before.requests + before.waiting)
        self.totals = _Totals(created, created - self.open, sent, received, requests, answers)
        self._keep(now)

    def rate(self, counted: Counted) -> float:
        """How much was added per second, by the looks of the last minute."""
        if not self._samples:
            return 0.0
        (began, first), (now, last) = self._samples[0], self._samples[-1]
        added: int = getattr(last, counted) - getattr(first, counted)
        return added / max(now - began, _LEAST_S)

    def _keep(self, now: float) -> None:
        if not self._samples:
            # What was carried before the first look counts as carried since the beginning.
            self._samples.append((now, _Totals()))
        elif len(self._samples) > 1 and now - self._samples[-2][0] < _APART_S:
            self._samples.pop()
        self._samples.append((now, self.totals))
        while len(self._samples) > 2 and self._samples[1][0] <= now - _LOOKED_BACK_S:
            self._samples.popleft()
