"""The cost of a phase: CPU time and memory of the worker's process tree."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from workers.lab.bench.process_tree import PeakMemory, ProcessTree

MIB: Final = 2**20


class Cost:
    """Measures phases. Each begins with :meth:`begin`. Without a process tree there are no figures."""

    def __init__(self, tree: ProcessTree | None) -> None:
        self._tree = tree
        self._peak = None if tree is None else PeakMemory(tree)
        self._before = self._begun = 0.0
        self._memory = 0

    def watching(self) -> AbstractContextManager[object]:
        """A context in which the memory is measured."""
        return nullcontext() if self._peak is None else self._peak

    def begin(self) -> None:
        """Begin a phase."""
        if self._tree is not None and self._peak is not None:
            self._memory = self._peak.restart()
            self._before, self._begun = self._tree.cpu(), time.monotonic()

    def idle(self) -> dict[str, int]:
        """``idle_mb``: MiB when the last phase began."""
        return {} if self._tree is None else {"idle_mb": round(self._memory / MIB)}

    def peak(self) -> dict[str, int]:
        """``peak_mb``: the largest MiB over all phases."""
        return {} if self._peak is None else {"peak_mb": round(self._peak.total() / MIB)}

    def figures(self, events: int) -> dict[str, float]:
        """CPU seconds of the phase, microseconds of them per event, their share of a core, MiB before it and at its peak."""
        if self._tree is None or self._peak is None:
            return {}
        spent, passed = self._tree.cpu() - self._before, time.monotonic() - self._begun
        return {
            "cpu_s": round(spent, 2),
            "cpu_us_per_event": round(spent / events * 1e6, 1),
            "cpu_pct": round(100 * spent / passed, 1),
            **({"events_per_cpu_s": round(events / spent)} if spent else {}),
            "before_mb": round(self._memory / MIB),
            "peak_mb": round(self._peak.since_restart() / MIB),
        }
