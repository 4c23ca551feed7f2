"""Real ``understudy worker`` processes for tests, with their own group and topics, and a reader of topics."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import socket
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.support.worker_forks import ForkedWorker, WorkerForks
from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until

SECONDS = 120.0
"""How long a fixture waits for an event before the test fails."""
COMMAND: Final = (sys.executable, "-P", "-m", "workers")
FORKS: Final = WorkerForks()


@dataclass(frozen=True, slots=True)
class Record:
    """A record as Kafka stores it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]

    @property
    def json(self) -> object:
        """The value parsed; None for a tombstone."""
        return None if self.value is None else json.loads(self.value)

    @property
    def payload(self) -> object:
        """The value's payload when it carries its schema, else the whole value."""
        value = self.json
        return value["payload"] if isinstance(value, dict) and value.keys() == {"schema", "payload"} else value


class Worker:
    """A worker process. Its group and topics stay the same over restarts.

    ``program`` is the command to start, without its arguments. Without one the worker is forked
    (:mod:`tests.support.worker_forks`), unless its environment is another one than that of the tests.
    """

    _number = itertools.count()

    def __init__(
        self,
        folder: Path,
        properties: Mapping[str, str],
        environment: Mapping[str, str],
        program: Sequence[str | Path] = (),
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.bootstrap = properties["bootstrap.servers"]
        self.group = properties["group.id"]
        self._folder = folder
        self._environment = environment
        self._program = program
        self._process: Process | ForkedWorker | None = None
        self._turns = itertools.count(next(self._number))
        # Nothing here needs the system's certificates, which a client reads for 20 ms.
        self._client = httpx.Client(base_url=self.url, timeout=SECONDS, verify=False)
        lines = {**properties, "listeners": self.url}
        (folder / "worker.properties").write_text("".join(f"{name}={value}\n" for name, value in lines.items()), encoding="utf-8")

    @property
    def process(self) -> Process | ForkedWorker:
        assert self._process is not None, "the worker is not running"
        return self._process

    @property
    def log(self) -> str:
        """All that the process has written, over all its starts."""
        return (self._folder / "worker.log").read_text(encoding="utf-8", errors="replace")

    def launch(self) -> None:
        """Start the process."""
        arguments, log = ("worker", self._folder / "worker.properties"), self._folder / "worker.log"
        if not self._program and FORKS.serve(self._environment):
            self._process = FORKS.start(arguments, log, next(self._turns))
        else:
            self._process = Process([*(self._program or COMMAND), *arguments], log, environment=self._environment)

    def start(self) -> None:
        """Start the process and return when it says that it is healthy."""
        self.launch()
        wait_until(lambda: self.health() == httpx.codes.OK, lambda: f"the worker to be healthy\n{self.log}", SECONDS)

    def health(self) -> int:
        """The status of ``GET /health``; 0 before the worker listens."""
        assert self.process.running, f"the worker ended at its start:\n{self.process.last_words()}"
        with socket.socket() as probe:
            # A client finds that out with forty times as much work.
            if probe.connect_ex(("127.0.0.1", self.port)):
                return 0
        try:
            return self._client.get("/health").status_code
        except httpx.TransportError:
            return 0

    def stop(self) -> int:
        """SIGTERM, as an operator would; the exit code."""
        code = self.process.stop(signal.SIGTERM)
        self._process = None
        return code

    def kill(self) -> None:
        """SIGKILL: no orderly end of anything."""
        self.process.stop()
        self._process = None

    def restart(self) -> None:
        """Stop in order and start again."""
        self.stop()
        self.start()

    def close(self) -> None:
        """End it whatever its state."""
        if self._process is not None:
            self.stop()
        self._client.close()

    def rest(self, method: str, path: str, body: object = None) -> httpx.Response:
        """One REST call; ``body`` is sent as JSON unless it is None."""
        return self._client.request(method, path, json=body)

    def create(self, name: str, config: Mapping[str, str]) -> None:
        """POST a connector and wait until its connector and task run."""
        answer = self.rest("POST", "/connectors", {"name": name, "config": dict(config)})
        assert answer.status_code == httpx.codes.CREATED, answer.text
        self.await_state(name, "RUNNING")

    def await_state(self, name: str, state: str, tasks: int = 1) -> dict[str, object]:
        """Wait until the connector's tasks are in ``state`` (for ``tasks=0``: the connector itself, without tasks); the status."""

        def look() -> dict[str, object] | None:
            answer = self.rest("GET", f"/connectors/{name}/status")
            if answer.status_code != httpx.codes.OK:
                return None
            status: dict[str, object] = answer.json()
            states = [task["state"] for task in answer.json()["tasks"]]
            reached = states == [state] * tasks if tasks else not states and answer.json()["connector"]["state"] == state
            assert reached or state == "FAILED" or "FAILED" not in states, f"the task failed: {answer.text}"
            return status if reached else None

        return wait_until(look, lambda: f"the tasks of {name} to be {state}; the log:\n{self.log}", SECONDS)

    async def read(self, topics: str | Sequence[str], count: int, seconds: float = SECONDS) -> list[Record]:
        """The first ``count`` records of the topics, each partition from its beginning; fails with what came when fewer do."""
        return await read_topics(self.bootstrap, [topics] if isinstance(topics, str) else topics, count, seconds)


async def read_topics(bootstrap: str, topics: Sequence[str], count: int, seconds: float = SECONDS) -> list[Record]:
    """Read until ``count`` records have come; topics that do not exist yet are waited for."""
    records: list[Record] = []
    # A group-less subscription that finds new topics soon: metadata is asked for every 200 ms.
    consumer = AIOKafkaConsumer(
        *topics, bootstrap_servers=bootstrap, auto_offset_reset="earliest", enable_auto_commit=False, metadata_max_age_ms=200
    )
    await consumer.start()
    try:
        async with asyncio.timeout(seconds):
            while len(records) < count:
                message = await consumer.getone()
                headers = tuple((str(name), bytes(value)) for name, value in message.headers)
                place = (message.topic, message.partition, message.offset, message.timestamp)
                records.append(Record(*place, message.key, message.value, headers))
    except TimeoutError:
        shown = "\n".join(f"{record.topic}@{record.offset} {record.key!r}" for record in records)
        pytest.fail(f"{len(records)} of {count} records came to {', '.join(topics)} within {seconds:g} s\n{shown}")
    finally:
        await consumer.stop()
    return records


async def end_offsets(bootstrap: str, topic: str) -> dict[int, int]:
    """The end of each partition of ``topic``."""
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap)
    await consumer.start()
    try:
        partitions = consumer.partitions_for_topic(topic) or set()
        ends = await consumer.end_offsets([TopicPartition(topic, number) for number in partitions])
        return {place.partition: end for place, end in ends.items()}
    finally:
        await consumer.stop()


def properties_of(name: str, bootstrap: str) -> dict[str, str]:
    """The properties of a worker whose group and topics bear ``name``."""
    own = {
        "bootstrap.servers": bootstrap,
        "group.id": name,
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "offset.flush.interval.ms": "1000",
        # Each test keeps its signal files in its own folder.
        "signal.file.directory": "/",
    }
    for store in ("config", "offset", "status"):
        own[f"{store}.storage.topic"] = f"{name}-{store}"
        own[f"{store}.storage.replication.factor"] = "1"
    return own


def pytest_unconfigure() -> None:
    FORKS.close()


@pytest.fixture(scope="session")
def shared_worker(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """One worker for all tests that leave it running: give connectors names of your own, and delete them. It is started by its command."""
    properties = properties_of(f"shared-{uuid.uuid4().hex[:12]}", kafka_bootstrap)
    fresh = Worker(tmp_path_factory.mktemp("worker"), properties, dict(os.environ), COMMAND)
    fresh.start()
    yield fresh
    fresh.close()


@pytest.fixture
def worker(kafka_bootstrap: str, tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    """Start workers: ``worker(**properties)`` with dots in property names written as underscores.

    ``environment`` is added to the process's environment; ``group`` lets two workers share one group and its topics.
    """
    started: list[Worker] = []
    numbers = itertools.count()

    def start(*, group: str = "", environment: Mapping[str, str] | None = None, **properties: str) -> Worker:
        name = group or f"test-{uuid.uuid4().hex[:12]}"
        own = properties_of(name, kafka_bootstrap)
        own |= {key.replace("_", "."): value for key, value in properties.items()}
        folder = tmp_path / f"worker-{next(numbers)}"
        folder.mkdir()
        fresh = Worker(folder, own, {**os.environ, **(environment or {})})
        started.append(fresh)
        fresh.start()
        return fresh

    yield start
    for each in started:
        each.close()
