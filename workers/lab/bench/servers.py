"""The servers of a run: PostgreSQL, Kafka and a worker, started for it or running already."""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workers.lab.bench.connect_rest import ConnectRest
from workers.lab.bench.failure import BenchError
from workers.lab.bench.process_tree import PROC, ProcessTree
from workers.quickstart.embedded.kafka import EmbeddedKafka
from workers.quickstart.embedded.place import free_port, fresh_folder
from workers.quickstart.embedded.postgres import EmbeddedPostgres
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until
from workers.quickstart.embedded.watch import watched

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 30.0
LOOK: Final = 0.002
"""Seconds between two checks while a worker starts. The measured time is half a second."""
CAN_MEASURE: Final = (PROC / "self" / "smaps_rollup").exists()
"""Whether this system has CPU time and memory below /proc. The other figures need only REST, SQL and Kafka."""
REQUIRED: Final[Mapping[str, str]] = {
    "group.id": "bench",
    "config.storage.topic": "bench-configs",
    "offset.storage.topic": "bench-offsets",
    "status.storage.topic": "bench-status",
    "config.storage.replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}
"""The properties that a distributed worker requires, and no others, because the defaults are measured."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The addresses of the servers. ``tree`` is None when the worker's CPU time and memory are not available."""

    rest: ConnectRest
    dsn: str
    """A database on the server, beside which the run's database is created."""
    bootstrap: str
    tree: ProcessTree | None
    kafka_version: str | None = None
    start: Mapping[str, float] | None = None
    """Seconds from the start of the worker's process to ``first_answer_s`` and ``ready_s``, for a worker that was started here."""
    restart: Callable[[], Mapping[str, float]] | None = None
    """Ends such a worker normally and starts it again. Returns the same seconds; ``ready_s`` have passed when it returns."""


def running_servers(url: str, dsn: str, bootstrap: str, pid: int | None) -> Servers:
    """Servers that run already. Without ``pid`` the worker's CPU time and memory are left out."""
    return Servers(ConnectRest(url), dsn, bootstrap, None if pid is None else ProcessTree(pid))


@contextmanager
def own_servers() -> Iterator[tuple[EmbeddedPostgres, EmbeddedKafka]]:
    """PostgreSQL and Kafka on free ports, removed at the end. Raises EmbeddedError when one cannot be started.

    They and all other processes of the run end with this one, also if it is killed.
    """
    postgres, kafka = EmbeddedPostgres(), EmbeddedKafka()
    with watched():
        try:
            with ThreadPoolExecutor(2) as both:
                first, second = both.submit(postgres.start), both.submit(kafka.start)
                first.result()
                second.result()
            yield postgres, kafka
        finally:
            kafka.stop()
            postgres.stop()


@contextmanager
def own_worker(dsn: str, bootstrap: str, run: str, kafka_version: str | None = None) -> Iterator[Servers]:
    """``understudy worker`` with defaults for these servers. Its group and topics have the run's name. It ends with the block.

    Raises BenchError with the end of its log when it does not start.
    """
    rest = ConnectRest(f"http://127.0.0.1:{free_port()}")
    folder = fresh_folder("understudy-bench-")
    try:
        own = {name: value.replace("bench", run, 1) for name, value in REQUIRED.items()}
        properties = {"bootstrap.servers": bootstrap, "listeners": rest.url, **own}
        file = folder / "connect-distributed.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()), encoding="utf-8")
        worker = OwnWorker(rest, file)
        try:
            start = worker.start()
            tree = ProcessTree(worker.pid) if CAN_MEASURE else None
            yield Servers(rest, dsn, bootstrap, tree, kafka_version, start, worker.restart)
        finally:
            worker.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class OwnWorker:
    """A worker's process, which can be restarted."""

    def __init__(self, rest: ConnectRest, properties: Path) -> None:
        self._rest = rest
        self._properties = properties
        self._process: Process | None = None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._running().pid

    def start(self) -> dict[str, float]:
        """Start it. Returns the seconds to ``first_answer_s`` and ``ready_s``. Raises BenchError when it does not start."""
        begun = time.monotonic()
        command = [sys.executable, "-P", "-m", "workers", "worker", str(self._properties)]
        self._process = Process(command, self._properties.with_name("log"))
        return {"first_answer_s": self._until("/", begun), "ready_s": self._until("/connectors", begun)}

    def stop(self) -> None:
        """End it normally. No-op when it does not run."""
        if self._process is not None:
            self._process.stop(signal.SIGTERM, seconds=STOP_SECONDS)
            self._process = None

    def restart(self) -> dict[str, float]:
        """Stop and start it. Returns as :meth:`start`."""
        self.stop()
        return self.start()

    def _until(self, path: str, begun: float) -> float:
        """Seconds from ``begun`` until the worker answers ``path``."""
        try:
            wait_until(lambda: self._answers(path), f"the worker to answer GET {path}", START_SECONDS, pause=LOOK)
        except TimeoutError as late:
            raise BenchError(f"{late}. The end of its log: {self._running().last_words()}") from None
        return round(time.monotonic() - begun, 3)

    def _answers(self, path: str) -> bool:
        if not self._running().running:
            raise BenchError(f"The worker ended at its start. The end of its log: {self._running().last_words()}")
        return self._rest.answers(path)

    def _running(self) -> Process:
        if self._process is None:
            raise BenchError("The worker does not run.")
        return self._process
