"""The account for PostgreSQL if this process is root, because the server refuses to run as root."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workers.quickstart.embedded.failure import EmbeddedError

NAMES: Final = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """An unprivileged user of this machine."""

    name: str
    uid: int
    gid: int

    def can_run(self, command: Sequence[str | Path]) -> bool:
        """Whether ``command`` succeeds under this account; False also if the account may not enter a folder of its path."""
        try:
            done = subprocess.run(  # noqa: S603 - the server's own programs
                [str(part) for part in command],
                user=self.uid,
                group=self.gid,
                extra_groups=[],
                cwd="/",
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        except OSError:
            return False
        return done.returncode == 0

    def can_list(self, folder: Path) -> bool:
        """Whether this account may enter and read ``folder``."""
        return self.can_run(["/bin/ls", folder])


def unprivileged_account() -> Account | None:
    """The first existing account of ``postgres`` and ``nobody``; None if this process is not root.

    Raises EmbeddedError when neither exists.
    """
    if os.geteuid() != 0:
        return None
    for name in NAMES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise EmbeddedError("PostgreSQL does not run as root, and this machine has no account postgres or nobody. Start as another user.")
