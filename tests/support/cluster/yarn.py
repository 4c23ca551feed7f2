"""A YARN on loopback addresses: a resource manager and node managers, from Hadoop's jar for tests and the jars of the PySpark wheel."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any, Final
from urllib.error import URLError
from urllib.request import urlopen
from xml.sax.saxutils import escape

import pyspark

from tests.support.spark.spark_command import QUICK_JAVA
from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until
from workers.spark.jars import Jar, files_of
from workers.spark.session import find_java, jar_folder

JARS: Final = (
    Jar("org.apache.hadoop", "hadoop-client-minicluster", "3.4.2", "ae2406c544825b7734b8aad4f87eff60d9ec422284f0b16c2856032083b63c77"),
    # The resource manager signs certificates, and both kinds of daemon serve pages.
    Jar("org.bouncycastle", "bcpkix-jdk18on", "1.78.1", "4b48ea084e5232b9d79ebca1887b9de037b124931807cd60710748c2aee08cc9"),
    Jar("org.bouncycastle", "bcprov-jdk18on", "1.78.1", "add5915e6acfc6ab5836e1fd8a5e21c6488536a8c1f21f386eeb3bf280b702d7"),
    Jar("org.bouncycastle", "bcutil-jdk18on", "1.78.1", "d9fa56f97b0f761ce3bc8d9d74c5d7137a987bf5bd3abfe1003f9bafa45a1d2f"),
    Jar("javax.xml.bind", "jaxb-api", "2.2.11", "273d82f8653b53ad9d00ce2b2febaef357e79a273560e796ff3fcfec765f8910"),
)
"""What the daemons need besides the wheel's ``hadoop-client-api`` and ``hadoop-client-runtime`` of the same version: 50 MB."""
HOME: Final = Path(pyspark.__file__).parent
SERVER: Final = "org.apache.hadoop.yarn.server"
NODE_MEMORY: Final = 1536
"""Megabytes of a node: an executor (512 and 384 for Java itself) and the application's master (256 and 384), or no second executor."""


@dataclass(frozen=True)
class Yarn:
    """A running YARN. ``configuration`` is the folder for ``HADOOP_CONF_DIR``, and ``master`` is what Spark's sessions take."""

    configuration: Path
    page: str
    spark: Mapping[str, str]
    """The settings of a session with an executor of one core on each of two nodes."""
    master: str = "yarn"

    @property
    def full(self) -> list[int]:
        """What :meth:`busy` is while such a session runs: one of the nodes has the application's master too."""
        return [1, 2]

    def asked(self, path: str) -> dict[str, Any]:
        """What the resource manager answers."""
        with urlopen(f"{self.page}/ws/v1/cluster/{path}", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def busy(self) -> list[int]:
        """The number of containers on each node that is alive, in ascending order."""
        return sorted(node["numContainers"] for node in self.asked("nodes")["nodes"] if node["state"] == "RUNNING")


@contextmanager
def yarn_cluster(folder: Path, nodes: int = 2) -> Iterator[Yarn]:
    """A YARN whose nodes have registered, within the block. Its containers end with it."""
    java = find_java()
    jars = files_of(java, jar_folder(), JARS)
    configuration = folder / "hadoop"
    configuration.mkdir()
    page = f"127.0.0.1:{free_port()}"
    (configuration / "core-site.xml").write_text(_document({"fs.defaultFS": "file:///", "hadoop.tmp.dir": str(folder / "tmp")}))
    queues = {"yarn.scheduler.capacity.root.queues": "default", "yarn.scheduler.capacity.root.default.capacity": "100"}
    (configuration / "capacity-scheduler.xml").write_text(_document(queues))
    (configuration / "yarn-site.xml").write_text(_document(_settings(folder, page)))
    yarn = Yarn(configuration, f"http://{page}", _session(folder))
    environment = {**os.environ, "JAVA_HOME": str(java.resolve().parents[1]), "HADOOP_CONF_DIR": str(configuration)}
    # Hadoop's libraries write into java.lang's private parts to make classes.
    options = ("-Xmx256m", "-XX:+UseSerialGC", QUICK_JAVA, "-Dlog4j2.level=info", "--add-opens=java.base/java.lang=ALL-UNNAMED")
    classes = os.pathsep.join(map(str, (configuration, *jars, HOME / "jars" / "*")))

    with ExitStack() as stack:

        def start(name: str, program: str, settings: Mapping[str, str]) -> Process:
            own = [word for key, value in settings.items() for word in ("-D", f"{key}={value}")]
            command = (str(java), *options, "-cp", classes, f"{SERVER}.{program}", *own)
            process = Process(command, folder / f"{name}.log", environment=environment)
            # A node manager ends its containers before itself.
            stack.callback(process.stop, Signals.SIGTERM)
            return process

        manager = start("resource-manager", "resourcemanager.ResourceManager", {})
        wait_until(lambda: _answers(yarn, manager), "the resource manager", 300)
        for number in range(nodes):
            place = folder / f"node-{number}"
            settings = {"yarn.nodemanager.local-dirs": f"{place}/files", "yarn.nodemanager.log-dirs": f"{place}/logs"}
            start(f"node-{number}", "nodemanager.NodeManager", settings)
        wait_until(lambda: yarn.busy() == [0] * nodes, f"{nodes} nodes", 300)
        yield yarn


def _settings(folder: Path, page: str) -> dict[str, str]:
    addresses = ("address", "scheduler.address", "resource-tracker.address", "admin.address")
    return {
        **{f"yarn.resourcemanager.{name}": f"127.0.0.1:{free_port()}" for name in addresses},
        "yarn.resourcemanager.webapp.address": page,
        "yarn.scheduler.minimum-allocation-mb": "128",
        "yarn.node-attribute.fs-store.root-dir": str(folder / "attributes"),
        **{f"yarn.nodemanager.{name}": "127.0.0.1:0" for name in ("address", "localizer.address", "webapp.address")},
        "yarn.nodemanager.resource.memory-mb": str(NODE_MEMORY),
        "yarn.nodemanager.resource.cpu-vcores": "2",
        # A test shall run on a machine whose disk is almost full, and whose Java reserves more than it uses.
        "yarn.nodemanager.disk-health-checker.enable": "false",
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.pmem-check-enabled": "false",
        # While it waits for the time to delete logs, a node manager does not end.
        "yarn.nodemanager.log.retain-seconds": "0",
    }


def _session(folder: Path) -> dict[str, str]:
    return {
        "spark.executor.instances": "2",
        "spark.executor.cores": "1",
        "spark.yarn.am.memory": "256m",
        # Without it each start would copy the wheel's jars, 400 MB, and each node would copy them again.
        "spark.yarn.jars": f"local:{HOME}/jars/*",
        "spark.yarn.stagingDir": str(folder / "staging"),
    }


def _document(settings: Mapping[str, str]) -> str:
    entries = (f"<property><name>{name}</name><value>{escape(value)}</value></property>" for name, value in settings.items())
    return f"<configuration>{''.join(entries)}</configuration>"


def _answers(yarn: Yarn, manager: Process) -> bool:
    assert manager.running, manager.last_words()
    try:
        yarn.asked("info")
    except (URLError, ConnectionError, json.JSONDecodeError):
        # The page is there before it has the document.
        return False
    return True
