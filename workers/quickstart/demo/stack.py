"""PostgreSQL, Kafka and an Understudy worker on this machine, started together and stopped in order."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import httpx

from workers.quickstart.demo import shop
from workers.quickstart.demo.files import PROJECT
from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.kafka import EmbeddedKafka
from workers.quickstart.embedded.place import free_port, fresh_folder
from workers.quickstart.embedded.postgres import EmbeddedPostgres
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until

FAMILIAR: Final = {"postgres": 5432, "kafka": 9092, "rest": 8083}
START_SECONDS: Final = 30.0
STANDARD_WORKER: Final[Mapping[str, str]] = {
    "group.id": "shop-connect",
    "config.storage.topic": "shop-connect-configs",
    "offset.storage.topic": "shop-connect-offsets",
    "status.storage.topic": "shop-connect-status",
    "config.storage.replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    # The example's connector reads the address and the password of its database from the worker's environment.
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "config.providers.env.param.allowlist.pattern": "SHOP_.*",
}


class Stack:
    """The three servers with the shop's database. ``familiar`` uses the well-known ports if they are free."""

    def __init__(self, *, familiar: bool = False) -> None:
        ports = {name: _port(port) if familiar else 0 for name, port in FAMILIAR.items()}
        self.postgres = EmbeddedPostgres(port=ports["postgres"])
        self.kafka = EmbeddedKafka(port=ports["kafka"])
        self.rest = f"http://127.0.0.1:{ports['rest'] or free_port()}"
        self._worker: Process | None = None
        self._folder: Path | None = None

    @property
    def dsn(self) -> str:
        """The connection string of the shop's database."""
        return self.postgres.dsn_of(shop.DATABASE)

    def start(self) -> Self:
        """Start all three servers and create the shop's database. Return when the worker is healthy.

        Raises EmbeddedError or TimeoutError after stopping the started servers.
        """
        try:
            # The two start at the same time, because both mostly wait.
            with ThreadPoolExecutor(2) as both:
                postgres, kafka = both.submit(self._start_postgres), both.submit(self.kafka.start)
                postgres.result()
                kafka.result()
            self._start_worker()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop the worker, then its servers, and remove their files. Servers that do not run are skipped."""
        if self._worker is not None:
            self._worker.stop(signal.SIGTERM)
            self._worker = None
        self.kafka.stop()
        self.postgres.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def processes(self) -> list[tuple[str, int, Path, signal.Signals]]:
        """The running servers in the order in which to stop them: name, process id, folder (part of the command line), signal to end it."""
        if self._worker is None or self._folder is None:
            raise EmbeddedError("The stack has not been started")
        return [
            ("worker", self._worker.pid, self._folder, signal.SIGTERM),
            ("kafka", self.kafka.pid, self.kafka.folder, signal.SIGTERM),
            ("postgres", self.postgres.pid, self.postgres.folder, signal.SIGINT),
        ]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _start_postgres(self) -> None:
        self.postgres.start()
        shop.create(self.postgres.dsn, PROJECT)

    def _start_worker(self) -> None:
        self._folder = fresh_folder("understudy-worker-")
        properties = {"bootstrap.servers": self.kafka.bootstrap, "listeners": self.rest, **STANDARD_WORKER}
        file = self._folder / "connect-distributed.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()), encoding="utf-8")
        command = [sys.executable, "-P", "-m", "workers", "worker", str(file)]
        worker = Process(command, self._folder / "log", environment={**os.environ, **self._shop_environment()})
        self._worker = worker

        def healthy() -> bool:
            if not worker.running:
                raise EmbeddedError(f"The worker ended at its start. The end of its log: {worker.last_words()}")
            return _healthy(self.rest)

        wait_until(healthy, lambda: f"the worker to be healthy. The end of its log: {worker.last_words()}", START_SECONDS, pause=0.01)

    def _shop_environment(self) -> dict[str, str]:
        return {
            "SHOP_DB_HOST": self.postgres.host,
            "SHOP_DB_PORT": str(self.postgres.port),
            "SHOP_DB_USER": self.postgres.user,
            # The server uses trust authentication and never asks for the password.
            "SHOP_DB_PASSWORD": "unused",
            "SHOP_DB_NAME": shop.DATABASE,
        }


def _healthy(rest: str) -> bool:
    try:
        # No proxy leads to this machine's own address.
        answer = httpx.get(f"{rest}/health", timeout=5, trust_env=False)
        return answer.is_success and bool(answer.json()["status"] == "healthy")
    except httpx.HTTPError:
        return False


def _port(wanted: int) -> int:
    """``wanted`` if no process listens on it, else 0."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return 0
    return wanted
