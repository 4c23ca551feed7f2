"""``python -m workers.bulk`` beside a test: what it says line by line, a signal to it, and its end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from workers.quickstart.embedded import watch

SECONDS = 1200.0
"""How long a command may be silent. Only one that hangs is silent for so long, even on a slow machine with other work."""
QUICK_JAVA = "-XX:TieredStopAtLevel=1"
"""Options of a Java that runs for a minute: compiling well pays only for those that run longer."""
QUICK = {"spark.driver.extraJavaOptions": QUICK_JAVA}
"""Settings of a mirror that runs for a minute."""


class Command:
    """A command that has been started."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.said = ""
        """What has been read of its output, errors and all."""

    async def line(self, beginning: str) -> str:
        """The next line that begins so. Fails with all that the command said when it ends without."""
        while line := await self._next():
            if line.startswith(beginning):
                return line.rstrip("\n")
        raise AssertionError(f"The command ended without a line {beginning!r}:\n{self.said}")

    async def end(self) -> tuple[int, str]:
        """Its exit code, and all that it said, when it has ended."""
        while await self._next():
            pass
        return await self._process.wait(), self.said

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once, its Java too."""
        os.killpg(self._process.pid, signal.SIGKILL)

    async def _next(self) -> str:
        assert self._process.stdout is not None
        try:
            line = (await asyncio.wait_for(self._process.stdout.readline(), SECONDS)).decode()
        except TimeoutError:
            raise AssertionError(f"The command has been silent for {SECONDS:g} s:\n{self.said}") from None
        self.said += line
        return line


@asynccontextmanager
async def started(*words: str) -> AsyncIterator[Command]:
    """The command while it runs; what is left of it at the end is killed, its Java too."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "workers.bulk", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    watch.begun(process.pid)
    try:
        yield Command(process)
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        watch.ended(process.pid)


async def command(*words: str) -> tuple[int, str]:
    """Run the command to its end: its exit code, and all that it said."""
    async with started(*words) as running:
        return await running.end()
