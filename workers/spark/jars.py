"""The Kafka connector's jars: which ones, and how they come into the project's cache.

Spark's own ``spark.jars.packages`` cannot replace a transitive version (``spark.jars.excludes`` shuts the module out
altogether, even where it is asked for by name), prints a page on every start and asks the repository each time. So the
job calls the Ivy that PySpark ships, once, for exactly the four jars that PySpark does not hold itself, and starts
Spark with files from then on.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyspark

from workers.spark.failure import UNREADABLE, JobError


@dataclass(frozen=True, slots=True)
class Jar:
    """A Maven coordinate."""

    group: str
    artifact: str
    version: str

    @property
    def file_name(self) -> str:
        """The name the file gets in the cache, the same that Spark would give it."""
        return f"{self.group}_{self.artifact}-{self.version}.jar"


KAFKA_JARS: Final = (
    Jar("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.1.1"),
    # 4.1.1 of this one is missing in some repositories; 4.0.0 has the same classes and methods.
    Jar("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    Jar("org.apache.kafka", "kafka-clients", "3.9.2"),
    Jar("org.apache.commons", "commons-pool2", "2.12.1"),
)


def kafka_jars(java: Path, cache: Path) -> list[Path]:
    """Paths of the Kafka connector's jars below ``cache``, fetched when one of them is not there yet.

    Raises JobError(UNREADABLE) with Ivy's own words when a jar cannot be had.
    """
    paths = [cache / "jars" / jar.file_name for jar in KAFKA_JARS]
    if not all(path.is_file() for path in paths):
        _fetch(java, cache)
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise JobError(UNREADABLE, f"Ivy brought no {', '.join(missing)}. Put the files into {cache / 'jars'} by hand.")
    return paths


def _fetch(java: Path, cache: Path) -> None:
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"), None)
    if ivy is None:
        raise JobError(UNREADABLE, "This PySpark ships no Ivy. Install the pyspark wheel that the project pins.")
    lines = (f'<dependency org="{jar.group}" name="{jar.artifact}" rev="{jar.version}" transitive="false"/>' for jar in KAFKA_JARS)
    info = '<info organisation="jobs" module="kafka"/>'
    module = f'<ivy-module version="2.0">{info}<dependencies>{"".join(lines)}</dependencies></ivy-module>'
    with tempfile.NamedTemporaryFile("w", suffix=".xml", encoding="utf-8") as descriptor:
        descriptor.write(module)
        descriptor.flush()
        pattern = str(cache / "jars" / "[organisation]_[artifact]-[revision].[ext]")
        command = [str(java), "-jar", str(ivy), "-ivy", descriptor.name, "-cache", str(cache / "cache")]
        done = subprocess.run(  # noqa: S603 - a fixed program with our own arguments
            [*command, "-retrieve", pattern, "-types", "jar", "-warn"], capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip(" .:")]
        raise JobError(UNREADABLE, f"Ivy could not fetch Spark's Kafka connector: {' '.join(said[-6:])}")
