"""The versions of a Delta table's log, each of which is a file. See https://github.com/delta-io/delta/blob/master/PROTOCOL.md."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from workers.spark.sinks.new_file import create

ENGINE: Final = "Understudy"
"""The name of these commits' author in the table's history."""
Mark = tuple[int, int]
"""The size and the time of a version's file in the log. A log that was created again has other ones."""


def local_folder(scheme: str, path: str, settings: Mapping[str, str]) -> Path | None:
    """The folder ``path`` if it is on the local file system, and Spark's ``settings`` choose no log store; else None. Pure.

    Delta's own store has Hadoop rename a file there. For this Hadoop starts ten processes (readlink, chmod), which take about 30 ms of CPU.
    """
    chosen = any(name.startswith("spark.delta.logStore.") for name in settings)
    return Path(path) if scheme == "file" and not chosen else None


def is_local(session: SparkSession, folder: str) -> bool:
    """Whether the driver itself creates files in ``folder``, a path of Hadoop's."""
    hadoop: Any = session._jvm.org.apache.hadoop.fs  # noqa: SLF001 - PySpark has no other way to Hadoop's file systems
    settings = session._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - the same
    scheme = hadoop.Path(folder).toUri().getScheme() or hadoop.FileSystem.getDefaultUri(settings).getScheme()
    return local_folder(scheme, folder, dict(session.sparkContext.getConf().getAll())) is not None


def information(version: int, operation: str, counts: Mapping[str, int], *, appends: bool) -> str:
    """The line of a version that says what it is: ``operation`` in the history, with these metrics. ``appends``: it read no rows."""
    known = {
        "timestamp": time.time_ns() // 1_000_000,
        "operation": operation,
        "operationParameters": {},
        **({"readVersion": version - 1} if version else {}),
        "isolationLevel": "Serializable",
        "isBlindAppend": appends,
        "operationMetrics": {name: str(number) for name, number in counts.items()},
        "engineInfo": ENGINE,
        "txnId": str(uuid.uuid4()),
    }
    return json.dumps({"commitInfo": known})


class LogFolder:
    """The folder of ``log``, a ``DeltaLog``."""

    def __init__(self, session: SparkSession, log: Any) -> None:
        self._session = session
        self._log = log
        self._java: Any = session.sparkContext._jvm  # noqa: SLF001 - Delta has no API in Python for its log
        self._local: Path | None = None
        self._store: Any = None

    def mark(self, version: int) -> Mark:
        """The mark of a version's file. Raises Java's error when it does not exist."""
        status = self._files().getFileStatus(self._path(f"{version:020}.json"))
        return int(status.getLen()), int(status.getModificationTime())

    def exists(self, version: int) -> bool:
        """Whether the log has this version."""
        return bool(self._files().exists(self._path(f"{version:020}.json")))

    def make(self) -> None:
        """Make the folder if it does not exist."""
        self._files().mkdirs(self._log.logPath())

    def prepare(self) -> None:
        """Find out how files are written. It uses the settings that the session has now."""
        self._store = self._log.store()
        place, settings = self._log.logPath().toUri(), dict(self._session.sparkContext.getConf().getAll())
        self._local = local_folder(place.getScheme(), place.getPath(), settings)

    @property
    def local(self) -> Path | None:
        """The folder if the driver itself creates the files there; else None, also before :meth:`prepare`."""
        return self._local

    def add(self, version: int, lines: Sequence[str]) -> None:
        """Add a version with these lines. Raises FileExistsError or Java's FileAlreadyExistsException when it exists."""
        self._create(f"{version:020}.json", lines)

    def describe(self, version: int, checksum: Mapping[str, Any]) -> None:
        """Add what the protocol calls a version's checksum: what is in the version, so that readers need not read the log."""
        self._create(f"{version:020}.crc", [json.dumps(checksum)])

    def _create(self, name: str, lines: Sequence[str]) -> None:
        if self._local is not None:
            try:
                create(self._local / name, "".join(f"{line}\n" for line in lines))
            except FileExistsError:
                raise
            except OSError:
                # The file system has no hard links, for example.
                self._local = None
            else:
                return
        actions = self._java.java.util.ArrayList()
        for line in lines:
            actions.add(line)
        as_scala = self._java.scala.jdk.javaapi.CollectionConverters.asScala
        self._store.write(self._path(name), as_scala(actions.iterator()), False, self._log.newDeltaHadoopConf())

    def _files(self) -> Any:
        return self._log.logPath().getFileSystem(self._log.newDeltaHadoopConf())

    def _path(self, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(self._log.logPath(), name)
