"""Which position may be confirmed now.

Rules (design: Kafka acks, then the offset in Kafka, then the slot):
1. A position is reached when every batch that was open when it was taken, and every earlier one, is acknowledged.
2. Positions are reached in the order they were taken.
3. Batches may be acknowledged in any order; one that fails is never acknowledged, so nothing after it is ever reached.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

P = TypeVar("P")


class AckLedger(Generic[P]):
    """Batches not yet acknowledged, and the positions that wait for them."""

    __slots__ = ("_last_batch", "_open", "_waiting", "reached")

    def __init__(self) -> None:
        self._last_batch = 0
        self._open: dict[int, None] = {}
        self._waiting: deque[tuple[int, P]] = deque()
        self.reached: P | None = None
        """The last position that was reached."""

    def open_batch(self) -> int:
        """A new batch's number."""
        self._last_batch += 1
        self._open[self._last_batch] = None
        return self._last_batch

    def mark(self, position: P) -> None:
        """All records before ``position`` are in batches opened so far."""
        if self._open:
            waiting = self._waiting
            if waiting and waiting[-1][0] == self._last_batch:
                # The later position of the same batches makes the earlier one worthless.
                waiting[-1] = (self._last_batch, position)
            else:
                waiting.append((self._last_batch, position))
        else:
            self._waiting.clear()
            self.reached = position

    def acknowledge(self, batch: int) -> None:
        """Kafka has the batch."""
        del self._open[batch]
        oldest = next(iter(self._open), self._last_batch + 1)
        waiting = self._waiting
        while waiting and waiting[0][0] < oldest:
            self.reached = waiting.popleft()[1]

    @property
    def idle(self) -> bool:
        """Nothing is in flight or waits to be sent."""
        return not self._open
