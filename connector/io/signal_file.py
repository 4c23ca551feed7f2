"""The signal file: its signals are read, and the file is emptied. A file with any other content is not changed.

Everyone who may create connectors can name the file. It must therefore be in the folder that the worker's operator chooses, be a regular
file of limited size, and contain only signals. A wrong or malicious path then cannot empty another file, and reading it always ends.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from connector.io.regular_file import open_regular, read_limited
from connector.signals.records import is_signal, is_whole

SETTING: Final = "signal.file.directory"
"""The worker property that names the folder."""


class NotSignalsError(Exception):
    """The file contains a line that is not a signal, so it was not changed. The message has the line's number and does not quote it."""


class SignalFile:
    """One signal file. A relative path is relative to ``directory``, which is the working directory by default."""

    def __init__(self, path: str, directory: str = "") -> None:
        self._directory = Path(directory)
        self._path = self._directory / path
        self._unfinished = -1
        self._left = b""

    @property
    def inside(self) -> bool:
        """Whether the path is currently in the folder, after symbolic links are followed. False also for an invalid path."""
        return self._place() is not None

    def take(self) -> list[bytes]:
        """Return all lines and empty the file; return none if the file does not exist. The call blocks.

        If the last line has no line end and is not a complete object, nothing is taken until the next call, because its writer may not be
        finished. Raises OSError, and NotSignalsError once for each content; the file is then not changed.
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
            # This was written since the last read. Emptying the file now would lose it.
            text += more
            lines = self._signals(text)
        if lines:
            os.ftruncate(descriptor, 0)
        return lines

    def _signals(self, text: bytes) -> list[bytes]:
        """Return the lines of ``text``; none if the file must not be emptied yet. Raises NotSignalsError."""
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
        # Since Python 3.13 a loop of symbolic links is not an error but resolved to one of its links.
        return place if place.is_relative_to(folder) and not place.is_symlink() else None
