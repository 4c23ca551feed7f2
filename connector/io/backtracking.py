"""A process that matches what only a backtracking engine can match, with a limit of time for each pattern.

One process for a worker, started when it is first needed. It limits itself by the system's clock of its own CPU time, so that it ends
even when the worker is gone; a pattern's time is over when it has ended. The next call starts another one.
"""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

import orjson

from connector.ports import OutOfTimeError

_log = logging.getLogger(__name__)

_PROGRAM: Final = Path(__file__).with_name("backtracking_child.py")
_LIMIT_S: Final = 1.0
"""Seconds of CPU for one pattern and all names of a call. Ten thousand names take about 0.02."""


class BacktrackingProcess:
    """:class:`connector.ports.Backtracking`. It may be called by several threads, one after the other."""

    def __init__(self, limit: float = _LIMIT_S) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, patterns: Sequence[str], names: Sequence[str]) -> list[list[int]]:
        """Blocks until all is matched: milliseconds, or at most the limit of time, and then OutOfTimeError."""
        with self._lock:
            to_child, from_child = self._pipes()
            found: list[list[int]] = []
            with contextlib.suppress(OSError):
                to_child.write(orjson.dumps({"limit": self._limit, "patterns": patterns, "names": names}) + b"\n")
                to_child.flush()
                for line in iter(from_child.readline, b""):
                    found.append(orjson.loads(line))
                    if len(found) == len(patterns):
                        return found
            # It ended, at the pattern that it said nothing of: out of time, or out of memory.
            self._end()
            _log.warning("pattern given up seconds=%s", self._limit)
            raise OutOfTimeError(len(found))

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            # -P, -E and -S: nothing of the folder that the worker runs in, of the environment or of installed packages is executed.
            command = [sys.executable, "-P", "-E", "-S", str(_PROGRAM)]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, cwd="/")  # noqa: S603 (our own)
        assert self._process.stdin is not None  # noqa: S101 (both are pipes)
        assert self._process.stdout is not None  # noqa: S101
        return self._process.stdin, self._process.stdout

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with contextlib.suppress(OSError):
                process.communicate()
