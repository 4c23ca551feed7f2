"""Downloads jars, such as Kafka's, once, and compares them with pinned checksums."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.ivy import fetch_jars
from workers.quickstart.embedded.java import Java
from workers.quickstart.embedded.place import cache_folder, locked

KAFKA_VERSION: Final = "4.3.0"
SUMS: Final = Path(__file__).with_name(f"kafka-{KAFKA_VERSION}.sha256")
DEPENDENCIES: Final = (
    ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    # Kafka's artifact has no log backend. Without one its errors would be lost.
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
)


def kafka_jars(java: Java) -> Path:
    """The folder with Kafka's jars, which have the pinned checksums. Missing jars are downloaded.

    Raises EmbeddedError when a download fails or a jar has another checksum.
    """
    return pinned_jars(java, f"kafka-{KAFKA_VERSION}", DEPENDENCIES, SUMS)


def pinned_jars(java: Java, name: str, dependencies: Iterable[tuple[str, str, str]], sums: Path) -> Path:
    """The folder with these artifacts and their dependencies, which have the checksums in the file ``sums``. It is downloaded if missing.

    ``name`` is the name of the set in the cache and in messages. A dependency is an organisation, a module and its revision. Raises
    EmbeddedError when a download fails or a jar has another checksum.
    """
    return checked_jars(java, name, dependencies, pinned_sums(sums), sums.name)


def checked_jars(java: Java, name: str, dependencies: Iterable[tuple[str, str, str]], sums: Mapping[str, str], pinned_in: str) -> Path:
    """As :func:`pinned_jars`, with the SHA-256 (hex) by file name; ``pinned_in`` names their place in messages."""
    cache = cache_folder(name)
    jars = cache / "libs"
    # Of several concurrent processes only one downloads.
    with locked(cache / "lock"):
        if not jars.is_dir():
            # The folder gets its final name when it is complete and checked.
            with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as fetched:
                fetch_jars(java, name, dependencies, Path(fetched), cache / "ivy")
                check_sums(Path(fetched) / "libs", sums, pinned_in)
                (Path(fetched) / "libs").rename(jars)
            shutil.rmtree(cache / "ivy", ignore_errors=True)
    return jars


def pinned_sums(file: Path = SUMS) -> dict[str, str]:
    """SHA-256 in hex by file name, from a committed list (the format of ``sha256sum``)."""
    pairs = (line.split() for line in file.read_text(encoding="ascii").splitlines())
    return {name: digest for digest, name in pairs}


def check_sums(folder: Path, sums: Mapping[str, str], pinned_in: str = SUMS.name) -> None:
    """Raise EmbeddedError unless ``folder`` holds exactly the files of ``sums``, each with its SHA-256."""
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    faults = [f"{name} is missing" for name in sorted(sums.keys() - found.keys())]
    faults += [f"{name} is not expected" for name in sorted(found.keys() - sums.keys())]
    faults += [f"{name} has the sum {found[name]}" for name in sorted(sums.keys() & found.keys()) if found[name] != sums[name]]
    if faults:
        raise EmbeddedError(f"The fetched files are not those pinned in {pinned_in}: {'; '.join(faults)}. They were not used.")
