"""What a run needs: PostgreSQL, Kafka and a worker, started for it or running already."""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from workers.bench.connect_rest import ConnectRest
from workers.bench.failure import BenchError
from workers.bench.process_tree import PROC, ProcessTree
from workers.embedded.jars import KAFKA_VERSION
from workers.embedded.kafka import EmbeddedKafka
from workers.embedded.place import free_port, fresh_folder
from workers.embedded.postgres import EmbeddedPostgres
from workers.embedded.process import Process
from workers.embedded.wait import wait_until

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 30.0
LOOK: Final = 0.002
"""Seconds between two looks while a worker starts: what is measured is half a second."""
CAN_MEASURE: Final = (PROC / "self" / "smaps_rollup").exists()
"""Whether this system tells CPU time and memory below /proc. The other figures need nothing but REST, SQL and Kafka."""
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
"""What a distributed worker cannot start without, and nothing else: defaults are what is measured."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Where everything is. ``tree`` is None when the worker's CPU time and memory cannot be had from here."""

    rest: ConnectRest
    dsn: str
    """A database of the server on which one for the run may be made."""
    bootstrap: str
    tree: ProcessTree | None
    kafka_version: str | None = None
    start: Mapping[str, float] | None = None
    """Seconds from the start of the worker's process to ``first_answer_s`` and ``ready_s``, for a worker that was started here."""


def running_servers(url: str, dsn: str, bootstrap: str, pid: int | None) -> Servers:
    """Servers that run already; without ``pid`` the worker's CPU time and memory are left out."""
    return Servers(ConnectRest(url), dsn, bootstrap, None if pid is None else ProcessTree(pid))


@contextmanager
def own_servers() -> Iterator[tuple[EmbeddedPostgres, EmbeddedKafka]]:
    """PostgreSQL and Kafka on free ports, gone at the end. Raises EmbeddedError when one cannot be had."""
    postgres, kafka = EmbeddedPostgres(), EmbeddedKafka()
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
def own_worker(postgres: EmbeddedPostgres, kafka: EmbeddedKafka, run: str) -> Iterator[Servers]:
    """``understudy worker`` with defaults, its group and topics named after the run; ended in order at the end.

    Raises BenchError with the end of its log when it does not come up.
    """
    rest = ConnectRest(f"http://127.0.0.1:{free_port()}")
    folder = fresh_folder("understudy-bench-")
    try:
        own = {name: value.replace("bench", run, 1) for name, value in REQUIRED.items()}
        properties = {"bootstrap.servers": kafka.bootstrap, "listeners": rest.url, **own}
        file = folder / "connect-distributed.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()), encoding="utf-8")
        begun = time.monotonic()
        worker = Process([sys.executable, "-m", "workers", "worker", str(file)], folder / "log")
        try:
            start = {"first_answer_s": _until(rest, "/", worker, begun), "ready_s": _until(rest, "/connectors", worker, begun)}
            tree = ProcessTree(worker.pid) if CAN_MEASURE else None
            yield Servers(rest, postgres.dsn, kafka.bootstrap, tree, KAFKA_VERSION, start)
        finally:
            worker.stop(signal.SIGTERM, seconds=STOP_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _until(rest: ConnectRest, path: str, worker: Process, begun: float) -> float:
    """Seconds from ``begun`` until the worker answers ``path``."""
    try:
        wait_until(_answers(rest, path, worker), f"the worker to answer GET {path}", START_SECONDS, pause=LOOK)
    except TimeoutError as late:
        raise BenchError(f"{late}. The end of its log: {worker.last_words()}") from None
    return round(time.monotonic() - begun, 3)


def _answers(rest: ConnectRest, path: str, worker: Process) -> Callable[[], bool]:
    def look() -> bool:
        if not worker.running:
            raise BenchError(f"The worker ended at its start. The end of its log: {worker.last_words()}")
        return rest.answers(path)

    return look
