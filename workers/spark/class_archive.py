"""The archive of the classes that Spark's JVM loads.

Java reads and verifies some 15,000 classes before the first batch of a mirror is done. With an archive it maps them into its memory
instead (class data sharing, JEP 350). ``understudy-spark prepare`` writes the archive.

An archive is valid for one Java and one list of jars. Its name has a digest of both, so that an archive of others is never used. Java
checks them too: it ignores an archive that does not fit, and starts without it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import pyspark

QUIET: Final = "-Xlog:cds*=off"
"""Java would name on standard output each class that an archive cannot hold, and say why it ignores an archive."""


def archive_of(folder: Path, java: Path, jars: Path = Path(pyspark.__file__).parent / "jars") -> Path:
    """Where the archive for this Java and the ``jars`` of this PySpark belongs, below ``folder``."""
    program = java.resolve()
    modules = program.parents[1] / "lib" / "modules"
    digest = hashlib.sha256(str(jars).encode())
    # A program that only starts a Java elsewhere has no modules beside it.
    for path in (modules if modules.is_file() else program, *sorted(jars.glob("*.jar"))):
        seen = path.stat()
        # Java compares the sizes and the whole seconds of the times of change.
        digest.update(f"{path}\0{seen.st_size}\0{int(seen.st_mtime)}\n".encode())
    return folder / f"classes-{digest.hexdigest()[:16]}.jsa"


def reading(archive: Path) -> str:
    """Java's options to use the archive; none if there is no such file."""
    # Spark divides its options at blanks outside of quotation marks.
    return f'"-XX:SharedArchiveFile={archive}" {QUIET}' if archive.is_file() else ""


def writing(archive: Path) -> str:
    """Java's options to write the archive when the process ends."""
    return f'"-XX:ArchiveClassesAtExit={archive}" {QUIET}'
