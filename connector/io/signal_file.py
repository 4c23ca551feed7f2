"""The signal file: lines are taken out of it, and it is left empty."""

from __future__ import annotations

from pathlib import Path

from connector.signal_records import is_whole


class SignalFile:
    """One signal file, whichever process writes to it."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._unfinished = -1

    def take(self) -> list[bytes]:
        """Take all lines and empty the file; none when there is no file. Blocks. Raises OSError, and then the file is as it was.

        A last line whose end is missing, and which is no whole signal, is left until the next call: its writer may not be done.
        """
        try:
            with self._path.open("r+b") as file:
                text = file.read()
                if not text:
                    return []
                lines = text.splitlines()
                unfinished = not text.endswith((b"\n", b"\r")) and not is_whole(lines[-1])
                if unfinished and len(text) != self._unfinished:
                    self._unfinished = len(text)
                    return []
                # What was written since the read above would be lost with it.
                while more := file.read():
                    lines = (text := text + more).splitlines()
                file.truncate(0)
        except FileNotFoundError:
            return []
        self._unfinished = -1
        return lines
