"""Files that somebody else names: only regular ones are opened, never waited for, and read up to a limit.

A pipe or a terminal would block whoever opens it, and a device such as /dev/zero has no end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

LIMIT: Final = 1 << 20
"""The most bytes that are read of a file; larger ones are refused."""


def open_regular(path: str | Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file and return its descriptor, which the caller closes. ``flags`` are those of :func:`os.open`.

    Raises OSError, also when the path names something else, and ValueError for a path with NUL.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "It is not a regular file")
    return descriptor


def read_limited(descriptor: int) -> bytes:
    """Read from where the descriptor stands to the end of the file. Raises OSError, also for more than :data:`LIMIT` bytes."""
    parts: list[bytes] = []
    left = LIMIT + 1
    while left and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    if not left:
        raise OSError(errno.EFBIG, f"It is larger than {LIMIT} bytes")
    return b"".join(parts)


def read_regular(path: str | Path) -> bytes:
    """Read a whole regular file. Raises OSError, also for more than :data:`LIMIT` bytes, and ValueError for a path with NUL."""
    descriptor = open_regular(path)
    try:
        return read_limited(descriptor)
    finally:
        os.close(descriptor)


def check_regular(path: str | Path) -> None:
    """Refuse what a library would block on or read without end: an existing path that is not a regular file of a bearable size.

    A missing or unreadable file passes: the library that opens it reports that. Raises OSError, and ValueError for a path with NUL.
    """
    try:
        found = Path(path).stat()
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "It is not a regular file")
    if found.st_size > LIMIT:
        raise OSError(errno.EFBIG, f"It is larger than {LIMIT} bytes")
