"""Reads files whose names come from a configuration: only regular files, and only up to a limit.

A pipe or a terminal would block the reader, and a device such as /dev/zero has no end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

LIMIT: Final = 1 << 20
"""The most bytes of a file; larger files are refused."""


def open_regular(path: str | Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file and return its descriptor, which the caller closes. ``flags`` are those of :func:`os.open`.

    Raises OSError, also for a path that is not a regular file, and ValueError for a path with NUL.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "It is not a regular file")
    return descriptor


def read_limited(descriptor: int) -> bytes:
    """Read from the descriptor's position to the end of the file. Raises OSError, also for more than :data:`LIMIT` bytes."""
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
    """Check that an existing path is a regular file of at most :data:`LIMIT` bytes, because a library could block on any other one.

    A missing or unreadable file is accepted; the library that opens it reports the problem. Raises OSError, and ValueError for a path with
    NUL.
    """
    try:
        found = Path(path).stat()
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "It is not a regular file")
    if found.st_size > LIMIT:
        raise OSError(errno.EFBIG, f"It is larger than {LIMIT} bytes")
