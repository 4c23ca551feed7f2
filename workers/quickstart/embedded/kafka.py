"""A single temporary Kafka broker: KRaft, no replication, removed when stopped.

One process is both broker and controller (KIP-500). To save time, groups form without the usual delay, and the internal topics have few
partitions.
"""

from __future__ import annotations

import base64
import shutil
import signal
import socket
import struct
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.jars import KAFKA_VERSION
from workers.quickstart.embedded.place import free_port, fresh_folder
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.runtime import KafkaRuntime
from workers.quickstart.embedded.wait import wait_until

SETTINGS: Final[Mapping[str, str]] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    # The outbox's records may have times of years ago. By default Kafka looks 30 seconds after its start, and then every five minutes, for
    # records older than a week, and removes them. Topics keep Kafka's default of retention.ms, which a recording shows. With this delay the
    # files of deleted topics stay too, until the broker's folder is removed.
    "log.initial.task.delay.ms": "31536000000",
    # Without other changes Kafka writes a record twice a second, which tells other controllers what is committed: a third of what an idle
    # broker computes.
    "metadata.max.idle.interval.ms": "0",
    # A killed broker can register again only after its old session has expired.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 30.0
PORT_TRIES: Final = 3
ANSWER_SECONDS: Final = 5.0


class EmbeddedKafka:
    """One broker. Start it with :meth:`start` or as a context manager.

    ``settings`` are added to the broker's properties. ``port`` 0 means a free one.
    """

    def __init__(self, *, port: int = 0, settings: Mapping[str, str] | None = None) -> None:
        self.port = port
        self._wanted_port = port
        self._settings = dict(settings or {})
        self._runtime: KafkaRuntime | None = None
        self._process: Process | None = None
        self._folder: Path | None = None

    @property
    def bootstrap(self) -> str:
        """The address for ``bootstrap.servers``."""
        return f"127.0.0.1:{self.port}"

    @property
    def folder(self) -> Path:
        """The folder of the broker's files. Raises EmbeddedError before the start."""
        if self._folder is None:
            raise EmbeddedError("The embedded Kafka has not been started")
        return self._folder

    @property
    def pid(self) -> int:
        """The broker's process id. Raises EmbeddedError when it is not running."""
        if self._process is None:
            raise EmbeddedError("The embedded Kafka is not running")
        return self._process.pid

    def start(self) -> Self:
        """Download Kafka if the cache does not have it, start the broker, and return when it answers.

        Raises EmbeddedError when Kafka or Java is missing, or with the end of the broker's log when it does not start.
        """
        self._runtime = KafkaRuntime.prepare()
        self._folder = fresh_folder("understudy-kafka-")
        try:
            for left in reversed(range(PORT_TRIES)):
                self.port = self._wanted_port or free_port()
                self._format()
                if self._launch(last=left == 0 or bool(self._wanted_port)):
                    break
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop the broker and remove its folder. No-op if it was never started."""
        self.halt()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def halt(self, *, immediate: bool = False) -> None:
        """Stop the broker, normally or with SIGKILL, and keep its data."""
        if self._process is not None:
            # The first broker on a machine writes its class archive when it stops, which takes seconds.
            self._process.stop(*([] if immediate else [signal.SIGTERM]), seconds=STOP_SECONDS)
            self._process = None
            self._kafka.keep_archive(self.folder)

    def resume(self) -> None:
        """Start a halted broker again, on the same port."""
        self._launch(last=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    @property
    def _kafka(self) -> KafkaRuntime:
        if self._runtime is None:
            raise EmbeddedError("The embedded Kafka has not been started")
        return self._runtime

    def _format(self) -> None:
        """Format the log folder from a template. ``kafka-storage format`` does the same, but takes as long as the broker's start."""
        controller = free_port()
        listeners = f"PLAINTEXT://127.0.0.1:{self.port}"
        data = self.folder / "data"
        properties = {
            **SETTINGS,
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": listeners,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "log.dirs": str(data),
            **self._settings,
        }
        _write_properties(self.folder / "server.properties", properties)
        data.mkdir(exist_ok=True)
        shutil.copyfile(self._kafka.template, data / "bootstrap.checkpoint")
        _write_properties(
            data / "meta.properties", {"version": "1", "node.id": "1", "cluster.id": _kafka_uuid(), "directory.id": _kafka_uuid()}
        )

    def _launch(self, *, last: bool) -> bool:
        """Start the broker. Returns False if it ended at once and another port may be tried."""
        command = self._kafka.command(self.folder, "kafka.Kafka", str(self.folder / "server.properties"))
        process = Process(command, self.folder / "log")
        try:
            reached = wait_until(
                lambda: ("answers" if answers("127.0.0.1", self.port) else None) if process.running else "ended",
                "Kafka to answer",
                START_SECONDS,
            )
        except TimeoutError as late:
            process.stop()
            raise EmbeddedError(f"{late}. The end of its log: {process.last_words()}") from None
        if reached == "answers":
            self._process = process
            return True
        if last:
            raise EmbeddedError(f"Kafka {KAFKA_VERSION} ended at its start. The end of its log: {process.last_words()}")
        return False


def answers(host: str, port: int) -> bool:
    """Whether a broker answers an ApiVersions request (KIP-35), the first request of every client.

    A connection is not enough, because a broker binds its port long before it handles requests.
    """
    client = b"understudy"
    # Request header v1: API key 18, version 0, correlation id, client id. The body is empty.
    request = struct.pack(">hhih", 18, 0, 1, len(client)) + client
    try:
        with socket.create_connection((host, port), ANSWER_SECONDS) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            return len(connection.recv(4)) > 0
    except OSError:
        return False


def _kafka_uuid() -> str:
    """A random id in Kafka's form: base64 for URLs, without padding and, as in Kafka, without a leading dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text


def _write_properties(file: Path, properties: Mapping[str, str]) -> None:
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()), encoding="ascii")
