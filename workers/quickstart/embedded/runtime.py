"""The shared files of embedded brokers: Kafka's jars, Java, and two cached files that halve the time of a start."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.jars import KAFKA_VERSION, kafka_jars
from workers.quickstart.embedded.java import Java, find_java
from workers.quickstart.embedded.place import cache_folder

HEAP: Final = "512m"
QUICK: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Flags for a short-lived JVM: at the start the second compiler and a parallel collector cost more time than they save.

Measured on 2 cores, format and start until the broker answers, Java 17: 3.3 s plain, 2.3 s with these, 1.6 s without the
formatting JVM, 1.0 s with a class archive too (Java 25: 4.1, 2.4, 1.6 and 0.8 s). The archive takes 4 s to write, once.
"""
AHEAD_OF_TIME: Final = 25
"""The first Java that creates an ahead-of-time cache in one step (JEP 514). It needs no archive of the JDK's classes."""
ARCHIVE: Final = "classes.archive"
LOGGING: Final = """<Configuration status="warn">
<Appenders><Console name="out"><PatternLayout pattern="%d %p %c{1} %m%n"/></Console></Appenders>
<Loggers><Root level="warn"><AppenderRef ref="out"/></Root></Loggers>
</Configuration>
"""


@dataclass(frozen=True, slots=True)
class KafkaRuntime:
    """Java, the folder of Kafka's jars, and the folder of the cached files."""

    java: Java
    jars: Path
    cache: Path

    @classmethod
    def prepare(cls) -> Self:
        """Find Java, download the jars, and create the template of a formatted log folder, unless they exist.

        Raises EmbeddedError when one of these steps fails.
        """
        java = find_java()
        runtime = cls(java, kafka_jars(java), cache_folder(f"kafka-{KAFKA_VERSION}"))
        if not runtime.template.exists():
            runtime._make_template()
        return runtime

    @property
    def template(self) -> Path:
        """The first metadata records of a new cluster, as ``kafka-storage format`` writes them; the same for every cluster."""
        return self.cache / "bootstrap.checkpoint"

    def command(self, folder: Path, *words: str) -> list[str]:
        """The command line for one of Kafka's programs that keeps its files in ``folder``."""
        logging = folder / "log4j2.xml"
        logging.write_text(LOGGING, encoding="ascii")
        # An archive is valid for one class path only, and the order of a folder's files may change.
        class_path = os.pathsep.join(str(jar) for jar in sorted(self.jars.iterdir()))
        java = [str(self.java.program), f"-Xmx{HEAP}", *QUICK, *self._archive_flags(folder)]
        return [*java, f"-Dlog4j2.configurationFile={logging.as_uri()}", "-cp", class_path, *words]

    def keep_archive(self, folder: Path) -> None:
        """Move the class archive that a program wrote into ``folder`` to the cache, if there is one."""
        written = folder / ARCHIVE
        if written.is_file():
            # The rename within the cache is atomic, so no process maps an incomplete file.
            with tempfile.NamedTemporaryFile(dir=self.cache, delete=False) as copy:
                copy.write(written.read_bytes())
            Path(copy.name).chmod(0o644)
            Path(copy.name).replace(self._archive)
            written.unlink()

    @property
    def _archive(self) -> Path:
        return self.cache / f"java-{self.java.version}.archive"

    def _archive_flags(self, folder: Path) -> list[str]:
        """Use the archive of loaded classes for this Java, or write it when the program ends."""
        if self.java.major >= AHEAD_OF_TIME:
            used, written = "AOTCache", "AOTCacheOutput"
        else:
            used, written = "SharedArchiveFile", "ArchiveClassesAtExit"
        flag = f"-XX:{used}={self._archive}" if self._archive.is_file() else f"-XX:{written}={folder / ARCHIVE}"
        return [flag, "-Xlog:disable", "-Xlog:all=error:stderr"]

    def _make_template(self) -> None:
        with tempfile.TemporaryDirectory(prefix="format-", dir=self.cache) as made:
            folder = Path(made)
            properties = folder / "server.properties"
            lines = (
                "process.roles=broker,controller",
                "node.id=1",
                "controller.quorum.voters=1@127.0.0.1:1",
                "controller.listener.names=CONTROLLER",
                "listeners=CONTROLLER://127.0.0.1:1,PLAINTEXT://127.0.0.1:2",
                "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                f"log.dirs={folder / 'data'}",
            )
            properties.write_text("\n".join(lines), encoding="ascii")
            words = ("kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(properties))
            done = subprocess.run(self.command(folder, *words), capture_output=True, text=True, check=False)  # noqa: S603 - our own Java
            if done.returncode != 0:
                raise EmbeddedError(f"Kafka {KAFKA_VERSION} could not format its log folder: {(done.stdout + done.stderr)[-600:].strip()}")
            (folder / "data" / "bootstrap.checkpoint").replace(self.template)
