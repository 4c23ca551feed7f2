"""The machine of a measurement."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Final

CPU_INFO: Final = Path("/proc/cpuinfo")


def describe() -> dict[str, str | int | float]:
    """The cores for this process, the CPU's name, memory in GiB, the system, and its load in the last minute."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": cores,
        "cpu": cpu_name(CPU_INFO.read_text(encoding="utf-8")) if CPU_INFO.exists() else platform.processor() or platform.machine(),
        "memory_gb": round(memory / 2**30, 1),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load_before": round(os.getloadavg()[0], 2),
    }


def cpu_name(text: str) -> str:
    """The name of the first CPU in a ``cpuinfo`` file; the architecture if the file has no name, as on ARM."""
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip() == "model name":
            return value.strip()
    return platform.machine()
