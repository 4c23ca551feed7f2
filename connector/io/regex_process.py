"""A process that matches patterns which need a backtracking engine, with a time limit for each pattern.

A worker has one such process and starts it at the first use. The process limits its own CPU time, so it ends even if the worker has died.
If the process ends while it matches a pattern, the pattern has exceeded the limit. The next call starts another process.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

import orjson

from connector.log import EventLog
from connector.ports import OutOfTimeError

LOG: Final = EventLog(__name__)

_PROGRAM: Final = Path(__file__).with_name("regex_child.py")
_LIMIT_S: Final = 1.0
"""Seconds of CPU time for one pattern and all names of a call. Ten thousand names take about 0.02 s."""


class BacktrackingProcess:
    """A :class:`connector.ports.Backtracking`. Several threads may call it; a lock lets one of them run at a time."""

    def __init__(self, limit: float = _LIMIT_S) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, patterns: Sequence[str], names: Sequence[str]) -> list[list[int]]:
        """Match each pattern with ``names``. Return the indexes of the names that each pattern matches.

        The call blocks, usually for milliseconds. Raises OutOfTimeError if a pattern takes longer than the limit.
        """
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
            # The process ended while it matched the first pattern without a result, because time or memory ran out.
            self._end()
            LOG.warning("pattern exceeded its time limit", seconds=self._limit)
            raise OutOfTimeError(len(found))

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            # With -P, -E and -S Python executes nothing from the working directory, the environment or installed packages.
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
