"""Where embedded servers keep what they need: a cache that stays, and folders that go."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Final

from workers.embedded.account import Account

SOCKET_ROOM: Final = 70
"""Longest folder that leaves room for PostgreSQL's socket name within the 108 bytes of sun_path (103 on macOS)."""


def cache_folder(*parts: str) -> Path:
    """A folder below the project's ``.cache``, or below ``UNDERSTUDY_CACHE`` when that is set; made when missing."""
    root = os.environ.get("UNDERSTUDY_CACHE")
    folder = (Path(root) if root else Path(__file__).resolve().parents[2] / ".cache").joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def fresh_folder(prefix: str, account: Account | None = None) -> Path:
    """A new empty folder for one server, short enough for a socket, owned by ``account`` and reachable for it.

    It lies under the system's folder for temporary files: a project or home folder may be closed to the account.
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


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
