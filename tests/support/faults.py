"""Failures that a test orders from its fakes: which call of which step fails, and how."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Faults:
    """``faults.order("frames", error, nth=3)``: the third call of that step raises ``error``, once."""

    calls: Counter[str] = field(default_factory=Counter)
    """How often each step was taken, failures included."""
    raised: list[str] = field(default_factory=list)
    """Steps whose failure came."""
    _orders: dict[str, tuple[int, BaseException]] = field(default_factory=dict)

    def order(self, step: str, error: BaseException, nth: int = 1) -> None:
        """Let the ``nth`` call from now on fail."""
        self._orders[step] = (self.calls[step] + nth, error)

    def at(self, step: str) -> None:
        """Take a step. Raises what was ordered for it."""
        self.calls[step] += 1
        nth, error = self._orders.get(step, (0, None))
        if error is not None and nth == self.calls[step]:
            del self._orders[step]
            self.raised.append(step)
            raise error
