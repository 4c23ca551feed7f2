"""Figures of the worker's process, under the names that all of Prometheus' libraries give them."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from workers.telemetry.rules.family import Family, plain_family

_PROC: Final = Path("/proc/self")


@cache
def _booted() -> int:
    """Return when the system started, in seconds since 1970. Its file is long, so that it is read once."""
    return int(next(line.split()[1] for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime ")))


def process_families() -> Iterator[Family]:
    """Yield the figures of the process from the operating system; memory and open files on Linux only."""
    times = os.times()
    yield plain_family("process_cpu_seconds", "counter", "Total user and system CPU time spent in seconds.", times.user + times.system)
    yield plain_family(
        "process_max_fds", "gauge", "Maximum number of open file descriptors.", float(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    )
    try:
        words = (_PROC / "stat").read_text().rpartition(")")[2].split()
        started = _booted() + int(words[19]) / os.sysconf("SC_CLK_TCK")
        files = len(list((_PROC / "fd").iterdir()))
    except (OSError, StopIteration):
        return
    yield plain_family("process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.", started)
    yield plain_family("process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", float(words[20]))
    yield plain_family(
        "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", float(int(words[21]) * resource.getpagesize())
    )
    yield plain_family("process_open_fds", "gauge", "Number of open file descriptors.", float(files))
