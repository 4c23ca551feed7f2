"""The signal file: its lines are taken out of it, and it is left empty. Files that hold anything but signals are left as they are.

Whoever may create connectors names the file. So it must lie in the folder that the worker's operator names, be a regular file of bearable
size, and hold signals only: a path that was chosen badly, or in bad faith, empties nothing and reads nothing without end.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from connector.io.regular_file import open_regular, read_limited
from connector.signal_records import is_signal, is_whole

SETTING: Final = "signal.file.directory"
"""The worker property that names the folder."""


class NotSignalsError(Exception):
    """The file was left as it is, because of a line that is not a signal. The text names the line and does not quote it."""


class SignalFile:
    """One signal file, whichever process writes to it. Relative paths begin in ``directory``, which is the working directory by default."""

    def __init__(self, path: str, directory: str = "") -> None:
        self._directory = Path(directory)
        self._path = self._directory / path
        self._unfinished = -1
        self._left = b""

    @property
    def inside(self) -> bool:
        """Whether the path, with symbolic links followed, lies in the folder now. False also for a path that cannot be one."""
        return self._place() is not None

    def take(self) -> list[bytes]:
        """Take all lines and empty the file; none when there is no file. Blocks.

        A last line whose end is missing, and which is not a whole object, is left until the next call: its writer may not be done.
        Raises OSError, and NotSignalsError once for each content; the file is then as it was.
        """
        place = self._place()
        if place is None:
            raise PermissionError(1, f"the file lies outside of the folder of the worker property {SETTING}")
        try:
            descriptor = open_regular(place, os.O_RDWR | os.O_NOFOLLOW)
        except FileNotFoundError:
            return []
        try:
            return self._take(descriptor)
        finally:
            os.close(descriptor)

    def _take(self, descriptor: int) -> list[bytes]:
        text = read_limited(descriptor)
        lines = self._signals(text)
        while lines and (more := read_limited(descriptor)):
            # It was written since, and emptying the file would lose it.
            text += more
            lines = self._signals(text)
        if lines:
            os.ftruncate(descriptor, 0)
        return lines

    def _signals(self, text: bytes) -> list[bytes]:
        """The lines of ``text`` if the file may be emptied of them. Raises NotSignalsError."""
        lines = text.splitlines()
        unfinished = bool(lines) and not text.endswith((b"\n", b"\r")) and not is_whole(lines[-1])
        if unfinished and len(text) != self._unfinished:
            self._unfinished = len(text)
            return []
        self._unfinished = -1
        refused = next((number for number, line in enumerate(lines, 1) if line.strip() and not is_signal(line)), None)
        if refused is None:
            return lines
        content = hashlib.sha256(text).digest()
        if content == self._left:
            return []
        self._left = content
        raise NotSignalsError(f'line {refused} is not a JSON object with the texts "id" and "type"')

    def _place(self) -> Path | None:
        try:
            place, folder = self._path.resolve(), self._directory.resolve()
        except (OSError, RuntimeError, ValueError):
            return None
        return place if place.is_relative_to(folder) else None
