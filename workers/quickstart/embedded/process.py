"""A server process in its own session, with its output in a file, stopped by its process id."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import Signals
from typing import Final

from workers.quickstart.embedded import watch
from workers.quickstart.embedded.account import Account
from workers.quickstart.embedded.wait import wait_until

LAST_LINES: Final = 15
_PROCESSES: Final = Path("/proc/self")
"""It exists where the system shows processes as files, as Linux does and macOS does not."""


class Process:
    """A running child process.

    It leads its own session. So Ctrl-C in the terminal reaches only the parent, which then stops its servers in order. Inside
    :func:`~workers.quickstart.embedded.watch.watched` it also ends when the parent is killed.
    """

    def __init__(
        self, command: Sequence[str | Path], log: Path, *, account: Account | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        with log.open("ab") as output:
            arguments = [str(part) for part in command]
            self._popen = subprocess.Popen(  # noqa: S603 - the server's own program
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=log.parent,
                env=environment,
                start_new_session=True,
                user=None if account is None else account.uid,
                group=None if account is None else account.gid,
                extra_groups=None if account is None else [],
            )
        watch.begun(self._popen.pid)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._popen.poll() is None

    def send(self, number: Signals) -> None:
        """Send a signal. No-op if the process has ended."""
        self._popen.send_signal(number)

    def stop(self, *signals: Signals, seconds: float = 15.0) -> int:
        """Send the signals one after the other, waiting ``seconds`` after each, and finally SIGKILL. Returns the exit code."""
        for number in (*signals, Signals.SIGKILL):
            self.send(number)
            try:
                code = self._popen.wait(seconds)
            except subprocess.TimeoutExpired:
                continue
            watch.ended(self._popen.pid)
            return code
        raise TimeoutError(f"The process {self.pid} outlives SIGKILL; it hangs in the kernel")

    def last_words(self) -> str:
        """The end of the process's output."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:])


def stop_recorded(pid: int, marker: str, number: Signals, seconds: float = 15.0) -> bool:
    """Stop a process that an earlier command started. Returns False if it had ended already.

    The process is only stopped if its command line contains ``marker``. Otherwise another process has the id now.
    Raises TimeoutError when it does not end.
    """
    if marker not in command_line(pid):
        return False
    os.kill(pid, number)
    wait_until(lambda: marker not in command_line(pid), f"the end of the process {pid}", seconds)
    return True


def command_line(pid: int) -> str:
    """The arguments of a process, separated by blanks; empty when it has ended."""
    if _PROCESSES.is_dir():
        # Small images have no ps.
        try:
            return (_PROCESSES.parent / str(pid) / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")
        except (FileNotFoundError, ProcessLookupError):
            return ""
    shown = subprocess.run(["ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False)  # noqa: S603, S607
    return shown.stdout.strip()
