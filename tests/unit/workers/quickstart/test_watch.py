"""The processes of a killed parent are stopped. Processes that have ended or are not watched are not signalled."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from workers.quickstart.embedded.process import command_line, stop_recorded
from workers.quickstart.embedded.wait import wait_until

DEAF = "import signal, time; signal.signal(signal.SIGQUIT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
STARTER = """
import contextlib, pathlib, sys
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.watch import watched

with watched(quit_seconds=0.3) if sys.argv[1] == "watched" else contextlib.nullcontext():
    short = Process([sys.executable, "-c", "import time; time.sleep(600)", "short"], pathlib.Path(sys.argv[2]))
    short.stop()
    started = [Process([sys.executable, "-c", program, sys.argv[2]], pathlib.Path(sys.argv[2])).pid for program in sys.argv[3:]]
    print(*started, flush=True)
    sys.stdin.read()
"""
SLEEP = "import time; time.sleep(600)"


def start(manner: str, mark: Path, *programs: str) -> tuple[subprocess.Popen[str], list[int]]:
    command = [sys.executable, "-c", STARTER, manner, str(mark), *programs]
    starter = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    pids = [int(word) for word in starter.stdout.readline().split()]
    # A process that has just begun its program has no arguments for a moment.
    wait_until(lambda: all(str(mark) in command_line(pid) for pid in pids), "the arguments of the processes")
    return starter, pids


@pytest.mark.parametrize("number", [signal.SIGKILL, None])
def test_processes_of_a_killed_parent_end_even_if_they_ignore_signals(tmp_path: Path, number: signal.Signals | None) -> None:
    mark = tmp_path / "log"
    starter, pids = start("watched", mark, SLEEP, DEAF)
    with starter:
        if number is not None:
            starter.send_signal(number)
        else:
            starter.communicate("")
    for pid in pids:
        wait_until(lambda pid=pid: str(mark) not in command_line(pid), f"the end of {pid}")  # type: ignore[misc]


def test_unwatched_processes_are_not_stopped(tmp_path: Path) -> None:
    mark = tmp_path / "log"
    starter, [pid] = start("unwatched", mark, SLEEP)
    with starter:
        starter.kill()
    # It is still there to be ended.
    assert stop_recorded(pid, str(mark), signal.SIGTERM)
