"""The delay of events: from the commit of a transaction in the database until Kafka acknowledged its events.

Transactions are not followed one by one. Those of one burst of the stream have the burst's mean delay, so that the sum and the number are
exact, and the bucket of a single transaction is wrong by at most the time that the burst's transactions lie apart.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from connector.meters.histogram import Histogram
from connector.meters.stream_meter import StreamMeter

BOUNDS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class DelayMeter:
    """The delays of one run of a task, in seconds. A negative delay (the clocks of two machines differ) counts as 0."""

    __slots__ = ("_counted", "_open", "_summed_ms", "histogram")

    def __init__(self) -> None:
        self.histogram: Final = Histogram(BOUNDS_S)
        self._open: deque[tuple[int, int, int]] = deque()
        """(LSN, transactions, sum of their commit times) of each burst that Kafka has not acknowledged."""
        self._counted = 0
        self._summed_ms = 0

    def sent(self, lsn: int, stream: StreamMeter) -> None:
        """Take note that all transactions which the stream has counted so far end before ``lsn``, and that their events were sent."""
        transactions = stream.transactions - self._counted
        if transactions:
            self._open.append((lsn, transactions, stream.commits_ms - self._summed_ms))
            self._counted, self._summed_ms = stream.transactions, stream.commits_ms

    def acknowledged(self, lsn: int, now_ms: int) -> None:
        """Count the transactions before ``lsn``: Kafka has all their events. ``now_ms`` is in ms since 1970."""
        waiting = self._open
        while waiting and waiting[0][0] <= lsn:
            _, transactions, commits_ms = waiting.popleft()
            self.histogram.add(max(0.0, now_ms - commits_ms / transactions) / 1000, transactions)
