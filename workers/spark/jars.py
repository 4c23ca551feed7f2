"""The jars that PySpark does not include: their coordinates and checksums, and their download into the project's cache.

Spark's own ``spark.jars.packages`` cannot replace a transitive version (``spark.jars.excludes`` shuts the module out
altogether, even where it is named explicitly), prints a page at every start, asks the repository each time and has no
checksums. So the job runs PySpark's Ivy once, for exactly these files, and starts Spark with the files afterwards.
For a company's own repository ``UNDERSTUDY_IVY_SETTINGS`` names an Ivy settings file.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyspark

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.java_proxy import proxy_options
from workers.spark.s3_jars import MODULES, OTHERS, SDK


@dataclass(frozen=True, slots=True)
class Jar:
    """A Maven coordinate and the SHA-256 of its file, in hex."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The file's name in the cache, as Spark would name it."""
        return f"{self.group}_{self.artifact}-{self.version}.jar"


KAFKA_JARS: Final = (
    Jar(
        "org.apache.spark",
        "spark-sql-kafka-0-10_2.13",
        "4.1.1",
        "9c1ce986f548e6b1dcb0e2dfe2f253a0bc58f2232a32a0c9c6c674dd25a8570c",
    ),
    # Some repositories lack 4.1.1 of this jar; 4.0.0 has the same classes and methods.
    Jar(
        "org.apache.spark",
        "spark-token-provider-kafka-0-10_2.13",
        "4.0.0",
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767",
    ),
    Jar("org.apache.kafka", "kafka-clients", "3.9.2", "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8"),
    Jar("org.apache.commons", "commons-pool2", "2.12.1", "5273c8bc8c0dca2211175c0d27efbd7228efae99689aac001a8e1ef8e872e9ef"),
)

GROUPS: Final[Mapping[str, tuple[Jar, ...]]] = {
    "kafka": KAFKA_JARS,
    "avro": (Jar("org.apache.spark", "spark-avro_2.13", "4.1.1", "6a19d90bc3b6e88d8db0fa36a19273aa10fea2dbd7a62bb60e4cedd73051b32d"),),
    "delta": (
        Jar("io.delta", "delta-spark_4.1_2.13", "4.4.0", "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10"),
        Jar("io.delta", "delta-storage", "4.4.0", "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc"),
    ),
    "iceberg": (
        Jar(
            "org.apache.iceberg",
            "iceberg-spark-runtime-4.1_2.13",
            "1.11.0",
            "d6ea6c5d099288daeb7d5a92061bd3d7d8f296492632b42378e5f2f0e3066242",
        ),
    ),
    "s3": (
        *(Jar(*known) for known in OTHERS),
        *(Jar("software.amazon.awssdk", module, SDK, sha256) for module, sha256 in MODULES.items()),
    ),
    "postgres": (Jar("org.postgresql", "postgresql", "42.7.8", "2a32a9dcbc42d67a50ad3a0de5efd102c8d2be46720045f2cbd6689f160ab7c7"),),
}
"""Group → its jars. The group ``kafka`` reads topics; the others are for the formats and places of mirrors."""


def kafka_jars(java: Path, cache: Path) -> list[Path]:
    """The jars of the group ``kafka`` (see :func:`jars_of`)."""
    return jars_of(java, cache, ("kafka",))


def jars_of(java: Path, cache: Path, groups: Iterable[str]) -> list[Path]:
    """Paths below ``cache`` of the jars of these ``groups`` (names in :data:`GROUPS`). See :func:`files_of`."""
    return files_of(java, cache, [jar for group in groups for jar in GROUPS[group]])


def files_of(java: Path, cache: Path, wanted: Sequence[Jar]) -> list[Path]:
    """Paths below ``cache`` of these jars. Missing ones are fetched.

    Each file has its pinned checksum: a file with another one is deleted and never passed to Spark. Raises
    JobError(UNREADABLE) with Ivy's own message when a download fails, or with the names of the files with another checksum.
    """
    folder = cache / "jars"
    missing = [jar for jar in wanted if not (folder / jar.file_name).is_file()]
    if missing:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            remedy = "Set UNDERSTUDY_CACHE to a folder that you may write to."
            raise JobError(UNREADABLE, f"{folder} cannot be written ({problem.strerror}). {remedy}") from problem
        _fetch(java, cache, missing)
    absent = [jar.file_name for jar in wanted if not (folder / jar.file_name).is_file()]
    if absent:
        raise JobError(UNREADABLE, f"Ivy did not fetch {', '.join(absent)}. Put the files into {folder} by hand.")
    _verify(folder, wanted)
    return [folder / jar.file_name for jar in wanted]


def _verify(folder: Path, jars: Iterable[Jar]) -> None:
    wrong = []
    for jar in jars:
        path = folder / jar.file_name
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != jar.sha256:
            path.unlink()
            wrong.append(f"{path.name} had the SHA-256 {found} instead of {jar.sha256}")
    if wrong:
        remedy = "Start again to fetch them, or put the right files there by hand."
        raise JobError(UNREADABLE, f"Jars in {folder} differed from the pinned ones and were deleted: {'; '.join(wrong)}. {remedy}")


def _fetch(java: Path, cache: Path, jars: Iterable[Jar]) -> None:
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"), None)
    if ivy is None:
        raise JobError(UNREADABLE, "This PySpark has no Ivy. Install the pyspark wheel that the project pins.")
    lines = (f'<dependency org="{jar.group}" name="{jar.artifact}" rev="{jar.version}" transitive="false"/>' for jar in jars)
    info = '<info organisation="jobs" module="jars"/>'
    settings = os.environ.get("UNDERSTUDY_IVY_SETTINGS")
    # The files are fetched into a temporary folder and then moved, so that another job never sees an incomplete file.
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as place:
        module = Path(place) / "ivy.xml"
        module.write_text(f'<ivy-module version="2.0">{info}<dependencies>{"".join(lines)}</dependencies></ivy-module>', encoding="utf-8")
        command = [str(java), *proxy_options(), "-jar", str(ivy), *(["-settings", settings] if settings else []), "-ivy", str(module)]
        command += ["-cache", str(Path(place) / "cache"), "-types", "jar", "-warn"]
        command += ["-retrieve", str(Path(place) / "jars" / "[organisation]_[artifact]-[revision].[ext]")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a fixed program with our own arguments
        if done.returncode != 0:
            said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip(" .:")]
            remedy = "Set UNDERSTUDY_IVY_SETTINGS to an Ivy settings file to use another repository."
            raise JobError(UNREADABLE, f"Ivy could not fetch Spark's jars: {' '.join(said[-6:])}. {remedy}")
        for path in (Path(place) / "jars").glob("*.jar"):
            path.replace(cache / "jars" / path.name)
