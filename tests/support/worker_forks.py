"""Starts workers as forks of a process that has imported their modules, because imports are most of what a short-lived worker computes.

They take 0.5 s of CPU time on an idle core and 1 s on a busy one; a fork takes 0.03 s.

A forked worker has what one of :class:`~workers.quickstart.embedded.process.Process` has: its own session, which ends with the tests, its
folder, its output in a file, a process id that no other process gets before its end is noticed, and an interpreter that ends as usual. It
differs in its command line, and its environment is that of the server. So what a test says about the command, its start, its memory or its
environment needs the command.

All forks of a server hash texts alike. There are two servers, so that two workers, or a worker before and after its restart, do not.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import Signals
from typing import Final

from tests.support import fork_server
from workers.quickstart.embedded import watch
from workers.quickstart.embedded.process import LAST_LINES

AVAILABLE: Final = hasattr(os, "pidfd_open")
"""Whether the system has process ids that stay valid, as Linux does."""


class ForkedWorker:
    """A running worker, like :class:`~workers.quickstart.embedded.process.Process`."""

    def __init__(self, server: ForkServer, pid: int, log: Path) -> None:
        self.pid = pid
        self.log = log
        self._server = server
        self._code: int | None = None
        # Until the server has waited for it, no other process gets its id.
        self._file = os.pidfd_open(pid)
        watch.begun(pid)

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._wait(0) is None

    def send(self, number: Signals) -> None:
        """Send a signal. No-op if the process has ended."""
        if self.running:
            signal.pidfd_send_signal(self._file, number)

    def stop(self, *signals: Signals, seconds: float = 15.0) -> int:
        """Send the signals one after the other, waiting ``seconds`` after each, and finally SIGKILL. Returns the exit code."""
        for number in (*signals, Signals.SIGKILL):
            self.send(number)
            if (code := self._wait(seconds)) is not None:
                watch.ended(self.pid)
                return code
        raise TimeoutError(f"The process {self.pid} outlives SIGKILL; it hangs in the kernel")

    def last_words(self) -> str:
        """The end of the process's output."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:])

    def _wait(self, seconds: float) -> int | None:
        """The exit code; None if the process has not ended after ``seconds``."""
        if self._code is None:
            waiting = select.poll()
            waiting.register(self._file, select.POLLIN)
            if waiting.poll(seconds * 1000):
                self._code = self._server.code_of(self.pid)
                os.close(self._file)
        return self._code


class ForkServer:
    """A process that forks workers. It ends with this one."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._popen = subprocess.Popen(
                [sys.executable, "-P", fork_server.__file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=self.environment,
                pass_fds=[theirs.fileno()],
                # Ctrl-C reaches only the parent, as with all servers of the tests.
                start_new_session=True,
            )

    def start(self, arguments: Sequence[str | Path], log: Path) -> ForkedWorker:
        """Fork a process that executes ``understudy`` with these arguments, in the folder of ``log``."""
        request = {"folder": str(log.parent), "arguments": [str(argument) for argument in arguments]}
        with log.open("ab") as output:
            return ForkedWorker(self, self._ask(request, output.fileno()), log)

    def code_of(self, pid: int) -> int:
        """Wait for the end of the fork. Returns its exit code."""
        return self._ask({"wait": pid})

    def close(self) -> None:
        """End the server. Its forks stay."""
        self._socket.close()
        self._popen.wait()

    def _ask(self, request: object, *files: int) -> int:
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(request).encode()], files)
            answer = self._socket.recv(fork_server.MOST)
        assert answer, f"the server that forks workers has ended with {self._popen.wait()}"
        number: int = json.loads(answer)
        return number


class WorkerForks:
    """Two servers, each started when it is needed. Their environment is that of the tests when the first worker starts."""

    def __init__(self) -> None:
        self._environment: dict[str, str] | None = None
        self._servers: dict[int, ForkServer] = {}

    def serve(self, environment: Mapping[str, str]) -> bool:
        """Whether a worker with this environment can be forked."""
        if self._environment is None:
            self._environment = _lasting(os.environ)
        return AVAILABLE and _lasting(environment) == self._environment

    def start(self, arguments: Sequence[str | Path], log: Path, turn: int) -> ForkedWorker:
        """Fork a worker from the server whose turn it is."""
        number = turn % 2
        if number not in self._servers:
            self._servers[number] = ForkServer(self._environment or {})
        return self._servers[number].start(arguments, log)

    def close(self) -> None:
        """End the servers. Workers stay."""
        while self._servers:
            self._servers.popitem()[1].close()


def _lasting(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables without the one in which pytest names the present test."""
    return {name: value for name, value in environment.items() if name != "PYTEST_CURRENT_TEST"}
