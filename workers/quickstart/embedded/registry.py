"""A single temporary schema registry: Apicurio Registry with its Confluent-compatible API, removed when stopped.

The registry is a program of its own, published as an archive of jars. Its schemas are in a file, so they survive :meth:`halt`.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tarfile
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import httpx

from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.ivy import fetch_archive
from workers.quickstart.embedded.jars import check_sums, pinned_sums
from workers.quickstart.embedded.java import Java, find_java
from workers.quickstart.embedded.place import cache_folder, free_port, fresh_folder, locked
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.runtime import QUICK
from workers.quickstart.embedded.wait import wait_until

VERSION: Final = "3.0.9"
NAME: Final = f"registry-{VERSION}"
ARTIFACT: Final = ("io.apicurio", "apicurio-registry-app", VERSION)
SUMS: Final = Path(__file__).with_name(f"{NAME}.sha256")
HEAP: Final = "256m"
START_SECONDS: Final = 120.0
STOP_SECONDS: Final = 30.0
PORT_TRIES: Final = 3
ANSWER_SECONDS: Final = 5.0


def registry_program(java: Java) -> Path:
    """The jar that starts the registry. If missing, its archive is downloaded (109 MB), compared with its checksum, and unpacked.

    Raises EmbeddedError when the download fails or the archive has another checksum.
    """
    cache = cache_folder(NAME)
    program = cache / "program"
    # Of several concurrent processes only one downloads.
    with locked(cache / "lock"):
        if not program.is_dir():
            # The folder gets its final name when it is complete and checked.
            with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as fetched:
                folder = Path(fetched)
                fetch_archive(java, ARTIFACT, "all", folder, folder / "ivy")
                check_sums(folder / "libs", pinned_sums(SUMS), SUMS.name)
                _unpack(folder / "libs" / f"{ARTIFACT[1]}-{VERSION}.tar.gz", folder / "program")
                (folder / "program").rename(program)
    return program / f"{ARTIFACT[1]}-{VERSION}-runner.jar"


class EmbeddedRegistry:
    """One registry. Start it with :meth:`start` or as a context manager."""

    def __init__(self) -> None:
        self.port = 0
        self._java: Java | None = None
        self._process: Process | None = None
        self._folder: Path | None = None

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def confluent(self) -> str:
        """The address for ``schema.registry.url``."""
        return f"{self.url}/apis/ccompat/v7"

    @property
    def folder(self) -> Path:
        """The folder of the registry's files. Raises EmbeddedError before the start."""
        if self._folder is None:
            raise EmbeddedError("The embedded schema registry has not been started")
        return self._folder

    @property
    def pid(self) -> int:
        """The registry's process id. Raises EmbeddedError when it is not running."""
        if self._process is None:
            raise EmbeddedError("The embedded schema registry is not running")
        return self._process.pid

    def start(self) -> Self:
        """Download the registry if the cache does not have it, start it, and return when it answers.

        Raises EmbeddedError when the registry or Java is missing, or with the end of the registry's log when it does not start.
        """
        self._java = find_java()
        program = registry_program(self._java)
        self._folder = fresh_folder("understudy-registry-")
        try:
            for left in reversed(range(PORT_TRIES)):
                self.port = free_port()
                if self._launch(self._java, program, last=left == 0):
                    break
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop the registry and remove its folder. No-op if it was never started."""
        self.halt()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def halt(self) -> None:
        """Stop the registry and keep its schemas."""
        if self._process is not None:
            self._process.stop(signal.SIGTERM, seconds=STOP_SECONDS)
            self._process = None

    def resume(self) -> None:
        """Start a halted registry again, on the same port. No-op when it runs."""
        if self._java is None:
            raise EmbeddedError("The embedded schema registry has not been started")
        if self._process is None:
            self._launch(self._java, registry_program(self._java), last=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _launch(self, java: Java, program: Path, *, last: bool) -> bool:
        """Start the registry. Returns False if it ended at once and another port may be tried."""
        # Vert.x, on which it is built, unpacks files into the folder for temporary files.
        options = [f"-Xmx{HEAP}", *QUICK, f"-Djava.io.tmpdir={self.folder}"]
        environment = {
            **os.environ,
            "QUARKUS_HTTP_HOST": "127.0.0.1",
            "QUARKUS_HTTP_PORT": str(self.port),
            "APICURIO_DATASOURCE_URL": f"jdbc:h2:file:{self.folder / 'schemas'}",
        }
        process = Process([java.program, *options, "-jar", program], self.folder / "log", environment=environment)
        try:
            reached = wait_until(
                lambda: ("answers" if self._answers() else None) if process.running else "ended",
                "the schema registry to answer",
                START_SECONDS,
                pause=0.1,
            )
        except TimeoutError as late:
            process.stop()
            raise EmbeddedError(f"{late}. The end of its log: {process.last_words()}") from None
        if reached == "answers":
            self._process = process
            return True
        process.stop()
        if last:
            raise EmbeddedError(f"The schema registry {VERSION} ended at its start. The end of its log: {process.last_words()}")
        return False

    def _answers(self) -> bool:
        with socket.socket() as probe:
            # This is cheaper than a client, which reads the system's certificates. The port has no listener for most of the start.
            if probe.connect_ex(("127.0.0.1", self.port)):
                return False
        try:
            return httpx.get(f"{self.confluent}/subjects", timeout=ANSWER_SECONDS, trust_env=False).is_success
        except httpx.TransportError:
            return False


def _unpack(packed: Path, folder: Path) -> None:
    with tarfile.open(packed, mode="r:gz") as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extraction_filter = tarfile.data_filter
        # The checksum of the archive is pinned, so its content is known.
        archive.extractall(folder)  # noqa: S202
