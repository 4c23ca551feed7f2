"""Child processes: starts a Python process with this program's packages, exchanges messages with it, and ends it.

A child imports the same packages as this process, and no module from the working directory. It has one end of a socket pair
(:mod:`connector.runner.child.pipe`) and ends when the other end closes (:mod:`connector.runner.child.side`). The other end closes when this
process closes it or dies. The process that matches patterns (:mod:`connector.io.regex_process`) is different: it imports only the standard
library, and threads use it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

import connector
from connector.errors import CdcError, ErrorKind
from connector.runner.child.pipe import receive, send

_LOOK_S: Final = 0.05
"""Interval at which a group of processes is checked."""


class Child(Protocol):
    """The parent's interface to a child process."""

    def send(self, message: object) -> None:
        """Send a message without waiting."""

    async def receive(self) -> object | None:
        """Return the child's next message; None if it has ended."""

    async def lost(self) -> CdcError:
        """Return the error for a child that ended unexpectedly."""

    def close(self) -> None:
        """Close the socket, which makes the child end."""

    async def end(self, seconds: float) -> None:
        """Make the child end, wait for it, and kill it after ``seconds``. Return when it has ended."""


StartChild = Callable[[], Awaitable[Child]]
"""Starts one child. Raises CdcError(INTERNAL) when the system does not allow it."""


def python_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs ``module``.

    With ``-P`` the working directory is not on the module path. Otherwise a file ``orjson.py`` in it would replace the package.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def python_environment() -> dict[str, str]:
    """Return this process's environment with a module path on which the child and its own children find this same package."""
    root = str(Path(connector.__file__).parent.parent)
    path = os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}


class ChildProcess:
    """A :class:`Child` that is an operating system process. :meth:`start` creates it."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        who: str,
        after: str,
        group: bool,
    ) -> None:
        self.process = process
        self._reader = reader
        self._writer = writer
        self._who = who
        self._after = after
        self._group = group

    @classmethod
    async def start(cls, module: str, who: str, *, instead: str, after: str, group: bool = False) -> ChildProcess:
        """Start ``module`` with the file descriptor of its socket as argument.

        ``who`` names the process in errors ("A process that reads the snapshot"). ``instead`` is the remedy if no process can be started,
        ``after`` if it has died. With ``group`` the process leads a new process group, and the processes that it starts end with it.
        Raises CdcError(INTERNAL).
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    *python_command(module, str(theirs.fileno())),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    env=python_environment(),
                    start_new_session=group,
                )
            return cls(process, *await asyncio.open_connection(sock=ours), who, after, group)
        except BaseException as problem:
            # The process may have been started; closing the socket ends it.
            ours.close()
            if not isinstance(problem, OSError):
                raise
            raise CdcError(
                ErrorKind.INTERNAL,
                f"{who} could not be started: {problem.strerror}",
                f"Raise the limit of processes or of memory, or {instead}",
            ) from problem

    def send(self, message: object) -> None:
        """See :class:`Child`."""
        send(self._writer, message)

    async def receive(self) -> object | None:
        """See :class:`Child`."""
        return await receive(self._reader)

    async def lost(self) -> CdcError:
        """See :class:`Child`."""
        code = await self.process.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return CdcError(ErrorKind.INTERNAL, f"{self._who} {how}", self._after)

    def close(self) -> None:
        """See :class:`Child`."""
        self._writer.close()

    async def end(self, seconds: float) -> None:
        """See :class:`Child`."""
        self.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.process.wait()
                while self._group and _lives(self.process.pid):  # noqa: ASYNC110 (nobody reports the end of processes that are not ours)
                    await asyncio.sleep(_LOOK_S)
        if self._group:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        elif self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        await self.process.wait()


async def end_all(children: Sequence[Child], seconds: float) -> None:
    """End all children at the same time. All their sockets are closed even if the caller is cancelled at once."""
    for child in children:
        child.close()
    await asyncio.gather(*(child.end(seconds) for child in children))


def _lives(group: int) -> bool:
    """Return whether a process of the group is left."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
