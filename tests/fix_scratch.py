"""Where tests in several processes write their files: in memory, if there is enough of it.

The servers of the tests make and remove hundreds of thousands of small files. On ext4 this took up to a fifth of all CPU time (``perf``:
the search for inodes that were not removed in the last seconds). A run in one process keeps the usual folder, where the files of a failed
test can be looked at.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

import pytest

MEMORY: Final = Path("/dev/shm")
NEEDED: Final = 12 * 2**30
"""Bytes that must be free: the files of four processes and their servers take up to 5 GB, and their programs 6 GB."""
_PREFIX: Final = "us-"


def pytest_configure(config: pytest.Config) -> None:
    """Choose the folder, before the processes start; they inherit it."""
    if not config.getoption("numprocesses", None) or hasattr(config, "workerinput"):
        return
    _remove_left()
    if _free() < NEEDED:
        return
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=MEMORY))
    # PostgreSQL's account enters its own folder below.
    folder.chmod(0o711)
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def _free() -> int:
    """The bytes that files in memory may take; 0 without such a folder."""
    try:
        there = os.statvfs(MEMORY)
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    available = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)
    return min(there.f_bavail * there.f_frsize, available)


def _remove_left() -> None:
    """Remove what a killed run has left, since it takes memory."""
    for folder in MEMORY.glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)
