"""Downloads jars, such as Kafka's, once with PySpark's Ivy, and compares them with pinned checksums.

Ivy's settings, cache and home are in the project's cache, so HOME is neither read nor written. ``UNDERSTUDY_IVY_SETTINGS`` names an Ivy
settings file for a company's mirror.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.java import Java
from workers.quickstart.embedded.java_truststore import PASSWORD, certificates, key_store, machine_bundle
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
                _fetch(java, name, dependencies, Path(fetched), cache / "ivy")
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
        raise EmbeddedError(f"The fetched jars are not those pinned in {pinned_in}: {'; '.join(faults)}. They were not used.")


def _fetch(java: Java, name: str, dependencies: Iterable[tuple[str, str, str]], folder: Path, ivy_cache: Path) -> None:
    lines = "".join(f'<dependency org="{org}" name="{name}" rev="{rev}" conf="default"/>' for org, name, rev in dependencies)
    module = folder / "ivy.xml"
    module.write_text(
        f'<ivy-module version="2.0"><info organisation="understudy" module="jars"/><dependencies>{lines}</dependencies></ivy-module>',
        encoding="utf-8",
    )
    settings = os.environ.get("UNDERSTUDY_IVY_SETTINGS")
    command: list[str | Path] = [java.program, f"-Duser.home={folder}", *_trust(java, folder)]
    command += ["-jar", _ivy_jar(), *(["-settings", settings] if settings else [])]
    command += ["-ivy", module, "-cache", ivy_cache, "-types", "jar", "bundle", "-warn"]
    command += ["-retrieve", str(folder / "libs" / "[artifact]-[revision].[ext]")]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)  # noqa: S603 - our own arguments
    if done.returncode != 0 or not (folder / "libs").is_dir():
        said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip(" .:\t")]
        raise EmbeddedError(
            f"The jars of {name} could not be fetched: {' | '.join(said[-6:])}. Check the way to the Maven repository "
            "(UNDERSTUDY_IVY_SETTINGS names an Ivy settings file for a mirror), then try again."
        )


def _trust(java: Java, folder: Path) -> list[str]:
    bundle = machine_bundle() if java.bundled else None
    if bundle is None:
        return []
    store = folder / "authorities.jks"
    store.write_bytes(key_store(certificates(bundle.read_text(encoding="utf-8", errors="replace"))))
    return [f"-Djavax.net.ssl.trustStore={store}", f"-Djavax.net.ssl.trustStorePassword={PASSWORD}"]


def _ivy_jar() -> Path:
    spark = importlib.util.find_spec("pyspark")
    if spark is not None and spark.origin is not None:
        for jar in (Path(spark.origin).parent / "jars").glob("ivy-*.jar"):
            return jar
    raise EmbeddedError("Jars are fetched by the Ivy that PySpark ships. Install the extra understudy[quickstart].")
