"""A standalone cluster of Spark on loopback addresses: a master and workers of one core each, from the classes of the PySpark wheel."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pyspark

from workers.lab.bench.cpu_share import Limit
from workers.lab.bench.failure import BenchError
from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until
from workers.spark.session import find_java

HOME = Path(pyspark.__file__).parent
MEMORY = "1g"


@dataclass(frozen=True)
class Cluster:
    """A running cluster. ``master`` is what Spark's sessions take."""

    master: str
    page: str
    workers: int

    @property
    def spark(self) -> dict[str, str]:
        """The settings of a session on it: Spark's own defaults use all cores."""
        return {}

    @property
    def full(self) -> list[int]:
        """What :meth:`busy` is while each worker runs an executor."""
        return [1] * self.workers

    def state(self) -> dict[str, Any]:
        """What the master knows of its workers and applications."""
        with urlopen(f"{self.page}/json/", timeout=10) as answer:  # noqa: S310 (the master's own page)
            found: dict[str, Any] = json.load(answer)
        return found

    def busy(self) -> list[int]:
        """The cores in use, of each worker that is alive."""
        return [worker["coresused"] for worker in self.state()["workers"] if worker["state"] == "ALIVE"]


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2, limit: Limit | None = None) -> Iterator[Cluster]:
    """A cluster whose workers have registered, within the block. With ``limit`` each worker and its executors have a share of a core."""
    java = find_java()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("SPARK_")},
        "JAVA_HOME": str(java.resolve().parents[1]),
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    }
    port, page = free_port(), free_port()
    cluster = Cluster(f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{page}", workers)

    with ExitStack() as stack:

        def start(name: str, role: str, *arguments: str) -> Process:
            program = f"org.apache.spark.deploy.{role.lower()}.{role}"
            command: list[str | Path] = [HOME / "bin" / "spark-class", program, *arguments]
            if limit is not None and role == "Worker":
                command = limit(name, command)
            process = Process(command, folder / f"{name}.log", environment=environment)
            stack.callback(process.stop, Signals.SIGTERM)
            return process

        master = start("master", "Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page))
        wait_until(lambda: _answers(cluster, master), "the master", 300)
        for number in range(workers):
            place = folder / f"worker-{number}"
            options = ("--host", "127.0.0.1", "--cores", "1", "--memory", MEMORY, "--webui-port", str(free_port()))
            start(f"worker-{number}", "Worker", *options, "--work-dir", str(place), cluster.master)
        wait_until(lambda: len(cluster.busy()) == workers, f"{workers} workers", 300)
        yield cluster


def _answers(cluster: Cluster, master: Process) -> bool:
    if not master.running:
        raise BenchError(f"Spark's master has ended: {master.last_words()}")
    try:
        cluster.state()
    except (URLError, ConnectionError, json.JSONDecodeError):
        # The master's server answers with a page for people before it has the document.
        return False
    return True
