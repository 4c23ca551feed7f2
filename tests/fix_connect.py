"""Kafka Connect itself with Debezium's connector, fetched as the embedded Kafka is, at the places of Understudy's workers."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.fix_worker import Worker, properties_of
from tests.support.project import SUPPORT
from workers.quickstart.embedded.jars import KAFKA_VERSION, pinned_jars
from workers.quickstart.embedded.java import find_java
from workers.quickstart.embedded.place import cache_folder
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.runtime import KafkaRuntime
from workers.quickstart.embedded.wait import wait_until

DEBEZIUM_VERSION: Final = "3.6.3.Final"
CONNECT_JARS: Final = f"connect-{KAFKA_VERSION}"
DEBEZIUM_JARS: Final = f"debezium-{DEBEZIUM_VERSION}"
SUMS: Final = SUPPORT
ARTIFACTS: Final = (
    ("org.apache.kafka", "connect-runtime", KAFKA_VERSION),
    ("org.apache.kafka", "connect-json", KAFKA_VERSION),
    # As for the broker: without a log backend errors would be lost.
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
)
PLUGIN: Final = (("io.debezium", "debezium-connector-postgres", DEBEZIUM_VERSION),)
MAIN: Final = "org.apache.kafka.connect.cli.ConnectDistributed"
START_SECONDS: Final = 300.0
END_SECONDS: Final = 180.0
"""The first one on a machine writes its class archive when it ends, which takes seconds."""


@dataclass(frozen=True, slots=True)
class ConnectRuntime:
    """What a worker of Connect needs to run: Java with Connect's jars, and the folder for ``plugin.path``."""

    programs: KafkaRuntime
    plugins: Path

    @classmethod
    def prepare(cls) -> ConnectRuntime:
        """Fetch what is not there: 37 MB of Connect, 29 MB of Debezium."""
        java = find_java()
        connect = pinned_jars(java, CONNECT_JARS, ARTIFACTS, SUMS / f"{CONNECT_JARS}.sha256")
        debezium = pinned_jars(java, DEBEZIUM_JARS, PLUGIN, SUMS / f"{DEBEZIUM_JARS}.sha256")
        return cls(KafkaRuntime(java, connect, cache_folder(CONNECT_JARS)), debezium.parent)


class Seat(Worker):
    """A properties file at which Connect's worker and ours sit in turn. ``log`` is ours, ``real_log`` is Connect's."""

    def __init__(self, folder: Path, runtime: ConnectRuntime, properties: dict[str, str]) -> None:
        super().__init__(folder, {**properties, "plugin.path": str(runtime.plugins)}, dict(os.environ))
        self.real = False
        self._runtime = runtime
        self._real_folder = folder / "connect"
        self._real_folder.mkdir()

    @property
    def log(self) -> str:
        """All that our worker has written, over all its starts; empty before the first."""
        return super().log if (self._folder / "worker.log").exists() else ""

    @property
    def real_log(self) -> str:
        """Warnings and errors of Connect's worker, over all its starts; empty before the first."""
        file = self._real_folder / "connect.log"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def launch(self) -> None:
        """Start ours."""
        self.real = False
        super().launch()

    def launch_real(self) -> None:
        """Start Connect's; :meth:`await_real` waits for it."""
        self.real = True
        command = self._runtime.programs.command(self._real_folder, MAIN, str(self._folder / "worker.properties"))
        self._process = Process(command, self._real_folder / "connect.log")

    def await_real(self) -> None:
        """Return when Connect's worker says that it is healthy."""
        wait_until(lambda: self.health() == httpx.codes.OK, lambda: f"Connect to be healthy\n{self.real_log}", START_SECONDS)

    def stop(self) -> int:
        """Send SIGTERM to the worker of this seat. Returns the exit code."""
        code = self.process.stop(signal.SIGTERM, seconds=END_SECONDS)
        self._process = None
        self._runtime.programs.keep_archive(self._real_folder)
        return code


class Cluster:
    """Workers of one group, as many as seats: all of Connect, or all ours."""

    def __init__(self, seats: Sequence[Seat]) -> None:
        self.seats = seats

    @property
    def logs(self) -> str:
        return "\n".join((seat.real_log if seat.real else seat.log)[-6000:] for seat in self.seats)

    @property
    def bootstrap(self) -> str:
        return self.seats[0].bootstrap

    @property
    def group(self) -> str:
        return self.seats[0].group

    def start(self, *, real: bool) -> None:
        """Seat one kind at all places, and return when all are healthy."""
        for seat in self.seats:
            if real:
                seat.launch_real()
            else:
                seat.start()
        for seat in self.seats:
            if real:
                seat.await_real()

    def end(self, *, killed: bool) -> None:
        """End all: by SIGKILL, or one after the other in order, as a rolling shutdown would."""
        for seat in self.seats:
            if killed:
                seat.kill()
            else:
                seat.stop()

    def rest(self, method: str, path: str, body: object = None) -> httpx.Response:
        """One call, to the first."""
        return self.seats[0].rest(method, path, body)


@pytest.fixture(scope="session")
def connect_runtime() -> ConnectRuntime:
    """Connect's and Debezium's jars, fetched when they are not in the cache."""
    return ConnectRuntime.prepare()


@pytest.fixture
def seats(connect_runtime: ConnectRuntime, kafka_bootstrap: str, tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Create a cluster without starting its workers: ``seats(2, group="g", session_timeout_ms="6000")``."""
    made: list[Seat] = []

    def make(count: int, *, group: str = "", **properties: str) -> Cluster:
        own = properties_of(group or f"seats-{uuid.uuid4().hex[:12]}", kafka_bootstrap)
        own |= {key.replace("_", "."): value for key, value in properties.items()}
        fresh: list[Seat] = []
        for _ in range(count):
            folder = tmp_path / f"seat-{len(made)}"
            folder.mkdir()
            fresh.append(Seat(folder, connect_runtime, own))
            made.append(fresh[-1])
        return Cluster(fresh)

    yield make
    for seat in made:
        seat.close()
