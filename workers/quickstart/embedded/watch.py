"""Stops the servers of a killed parent, on every system: a small process waits until the parent's end of a pipe closes.

The kernel closes it however the parent ends. This file is also the program of that process, so it imports only the standard library.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

QUIT_SECONDS: Final = 5.0
"""PostgreSQL ends its sessions within a second of SIGQUIT. A JVM does not end."""

_lines: list[IO[bytes]] = []


@contextmanager
def watched(quit_seconds: float = QUIT_SECONDS) -> Iterator[None]:
    """Within the block, each started :class:`~workers.quickstart.embedded.process.Process` ends with this process, also if it is killed.

    Processes that still run at the end of the block are stopped too. Each has ``quit_seconds`` to end after SIGQUIT, then it is killed.
    """
    program = [sys.executable, "-I", str(Path(__file__)), str(quit_seconds)]
    # In its own session it gets no signals that are sent to the terminal's processes or the parent's group.
    with subprocess.Popen(program, stdin=subprocess.PIPE, start_new_session=True, bufsize=0) as process:  # noqa: S603 - this file
        assert process.stdin is not None  # noqa: S101 - asked for above
        _lines.append(process.stdin)
        try:
            yield
        finally:
            _lines.remove(process.stdin)


def begun(pid: int) -> None:
    """Report the leader of a process group to the watching process, if there is one."""
    for line in _lines:
        line.write(f"+{pid}\n".encode())


def ended(pid: int) -> None:
    """Report that the group has ended, because another process may get its id."""
    for line in _lines:
        line.write(f"-{pid}\n".encode())


def left_running(pid: int) -> None:
    """Report that the group may outlive this process."""
    ended(pid)


def _watch(lines: Iterable[bytes], quit_seconds: float) -> None:
    """Read ``lines`` to its end, then stop the remaining groups."""
    left: set[int] = set()
    for line in lines:
        number = int(line[1:])
        if line.startswith(b"+"):
            left.add(number)
        else:
            left.discard(number)
    _send(left, signal.SIGQUIT)
    deadline = time.monotonic() + quit_seconds
    while time.monotonic() < deadline and any(_lives(group) for group in left):
        time.sleep(0.05)
    _send(left, signal.SIGKILL)


def _send(groups: Iterable[int], number: signal.Signals) -> None:
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # macOS reports this for a group that has ended but was not waited for.
        return False
    return True


if __name__ == "__main__":
    _watch(sys.stdin.buffer, float(sys.argv[1]))
