"""CPU time and memory of a process with all its descendants, from Linux's /proc (proc(5))."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from workers.lab.bench.failure import BenchError

PROC: Final = Path("/proc")
PAUSE: Final = 0.25
"""Seconds between two measurements of the memory. Each reads the page tables of the process: milliseconds for a gigabyte."""
GONE: Final = (FileNotFoundError, ProcessLookupError)
"""The errors of a read below /proc when the process has just ended."""


class Stat(NamedTuple):
    """The used fields of ``/proc/<pid>/stat``."""

    parent: int
    ticks: int
    """CPU time in user and kernel mode, of the process and of its children that have ended and were waited for."""


def parse_stat(text: str) -> Stat:
    """Read a ``stat`` file. The second field is the program's name in parentheses and may hold blanks and parentheses itself.

    Raises ValueError when the text is none.
    """
    fields = text.rpartition(")")[2].split()
    if len(fields) < 15:
        raise ValueError("Not the text of a stat file: fewer than 17 fields")
    # Fields 4 and 14 to 17 of proc(5), which counts from 1 and counts the two before the parenthesis too.
    return Stat(int(fields[1]), sum(int(field) for field in fields[11:15]))


def parse_pss(text: str) -> int:
    """Bytes of memory by a ``smaps_rollup`` file, each shared page divided by the number of processes that share it.

    Raises ValueError when the file has no such line.
    """
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise ValueError("Not the text of a smaps_rollup file: no line begins with Pss:")


class ProcessTree:
    """A process and its descendants at the time of each call."""

    def __init__(self, pid: int, proc: Path = PROC) -> None:
        self.pid = pid
        self._proc = proc

    def cpu(self) -> float:
        """CPU seconds so far. A child that ends between two calls is not lost: its time is its parent's from then on.

        Raises BenchError when the process has ended.
        """
        stats = self._stats()
        return sum(stats[pid].ticks for pid in self._members(stats)) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Bytes of memory now, as proportional set size: shared pages count once in the sum.

        Raises BenchError when the process has ended, or belongs to another user.
        """
        total = 0
        for pid in self._members(self._stats()):
            try:
                text = (self._proc / str(pid) / "smaps_rollup").read_text(encoding="ascii")
            except GONE:
                continue
            except PermissionError:
                raise BenchError(
                    f"The memory of process {pid} cannot be read. Run this as the worker's own user or as root, or leave --pid out."
                ) from None
            # The file of an ended process that was not waited for yet is empty.
            total += parse_pss(text) if text else 0
        return total

    def _stats(self) -> dict[int, Stat]:
        stats = {}
        for folder in self._proc.iterdir():
            if folder.name.isdigit():
                try:
                    stats[int(folder.name)] = parse_stat((folder / "stat").read_text(encoding="utf-8", errors="replace"))
                except GONE:
                    continue
        return stats

    def _members(self, stats: dict[int, Stat]) -> list[int]:
        if self.pid not in stats:
            raise BenchError(f"There is no process {self.pid}: the worker has ended, or --pid is not its process id on this machine")
        children = defaultdict(list)
        for pid, stat in stats.items():
            children[stat.parent].append(pid)
        members = [self.pid]
        for pid in members:
            members += children[pid]
        return members


class PeakMemory:
    """The peak of a tree's memory, measured by a thread. A context manager."""

    def __init__(self, tree: ProcessTree, pause: float = PAUSE) -> None:
        self._tree = tree
        self._pause = pause
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._failure: Exception | None = None
        self._total = self._since = 0
        self._thread = threading.Thread(target=self._watch, name="peak-memory", daemon=True)

    def __enter__(self) -> Self:
        self.restart()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def restart(self) -> int:
        """Begin a new phase and return the bytes in use now. The peak over all phases is kept."""
        now = self._tree.memory()
        with self._lock:
            self._since = now
            self._total = max(self._total, now)
        return now

    def since_restart(self) -> int:
        """The peak in bytes since :meth:`restart`. Raises the error of a failed measurement."""
        return self._looked(self._tree.memory())[0]

    def total(self) -> int:
        """The peak in bytes since the start. Raises the error of a failed measurement."""
        return self._looked(self._tree.memory())[1]

    def _looked(self, now: int) -> tuple[int, int]:
        with self._lock:
            if self._failure is not None:
                raise self._failure
            self._since, self._total = max(self._since, now), max(self._total, now)
            return self._since, self._total

    def _watch(self) -> None:
        while not self._over.wait(self._pause):
            try:
                self._looked(self._tree.memory())
            except (BenchError, OSError, ValueError) as failure:
                with self._lock:
                    self._failure = failure
                return
