"""The files of embedded servers: a permanent cache, and temporary folders."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from workers.quickstart.embedded.account import Account
from workers.quickstart.embedded.failure import EmbeddedError

SOCKET_ROOM: Final = 70
"""The most characters of a folder. PostgreSQL's socket name must fit the 108 bytes of sun_path too (103 on macOS)."""


def cache_folder(*parts: str) -> Path:
    """A folder in ``UNDERSTUDY_CACHE`` if that is set, else in the project's ``.cache``. It is created if missing.

    An installed wheel has no project; its cache is where the user's caches are. Raises EmbeddedError if it cannot be created.
    """
    root = os.environ.get("UNDERSTUDY_CACHE")
    folder = (Path(root) if root else _default_cache(Path(__file__).resolve().parents[3])).joinpath(*parts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise unwritable(folder, problem) from problem
    return folder


def unwritable(place: Path, problem: OSError) -> EmbeddedError:
    """The failure to write a file or a folder of the cache."""
    return EmbeddedError(f"{place} cannot be written ({problem.strerror}). Set UNDERSTUDY_CACHE to a folder that you may write to.")


def _default_cache(project: Path) -> Path:
    if (project / "pyproject.toml").is_file():
        return project / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "understudy"


def fresh_folder(prefix: str, account: Account | None = None) -> Path:
    """A new empty folder for one server, with a path short enough for a socket. ``account`` owns it and can reach it.

    It is in the system's folder for temporary files, because the account may not be able to enter a project or home folder.
    """
    candidates = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]  # noqa: S108 - only the parents of a private folder
    for parent in candidates:
        if len(str(parent)) > SOCKET_ROOM or not os.access(parent, os.W_OK | os.X_OK):
            continue
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        if account is None:
            return folder
        os.chown(folder, account.uid, account.gid)
        if account.can_list(folder):
            return folder
        shutil.rmtree(folder)
    return Path(tempfile.mkdtemp(prefix=prefix))


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold an exclusive lock on ``file``, creating it if missing. The kernel releases it when the process ends. Raises EmbeddedError."""
    try:
        opened = file.open("ab")
    except OSError as problem:
        raise unwritable(file, problem) from problem
    with opened as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def free_port() -> int:
    """A TCP port of 127.0.0.1 without a listener, outside the range that the system uses for outgoing connections.

    That range begins above 32767. The port is chosen at random below, so that servers which start concurrently get different ports.
    """
    while True:
        port = _CHANCE.randrange(_PORTS.start, _PORTS.stop)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


_PORTS: Final = range(10_240, 32_768)
_CHANCE: Final = random.SystemRandom()
"""Random numbers that do not depend on a seed set by a test."""
