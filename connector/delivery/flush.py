"""Computes which position is reached, which means that Kafka has acknowledged everything before it.

Rules
1. A position is reached when Kafka has acknowledged every batch that was opened before the position was taken.
2. Positions are reached in the order in which they were taken.
3. Batches may be acknowledged in any order. A batch that fails is never acknowledged, so no later position is ever reached.
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
        """Return the number of a new batch."""
        self._last_batch += 1
        self._open[self._last_batch] = None
        return self._last_batch

    def mark(self, position: P) -> None:
        """Take a position. All records before it must be in batches that were opened before."""
        if self._open:
            waiting = self._waiting
            if waiting and waiting[-1][0] == self._last_batch:
                # The later position of the same batches replaces the earlier one.
                waiting[-1] = (self._last_batch, position)
            else:
                waiting.append((self._last_batch, position))
        else:
            self._waiting.clear()
            self.reached = position

    def acknowledge(self, batch: int) -> None:
        """Take note that Kafka has acknowledged the batch. Raises KeyError for a batch that is not open."""
        del self._open[batch]
        oldest = next(iter(self._open), self._last_batch + 1)
        waiting = self._waiting
        while waiting and waiting[0][0] < oldest:
            self.reached = waiting.popleft()[1]

    @property
    def idle(self) -> bool:
        """Whether every batch is acknowledged."""
        return not self._open
