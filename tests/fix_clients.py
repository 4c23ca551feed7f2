"""Fixtures for the tests of real clients: a connector, and a Java whose classes Py4J calls by name, without a compiler."""

from __future__ import annotations

import os
import threading
import uuid
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector
from tests.support.project import SUPPORT
from workers.quickstart.embedded.jars import pinned_jars
from workers.quickstart.embedded.java import find_java

SUMS: Final = SUPPORT / "kafka-connect-client-4.0.5.sha256"
ARTIFACT: Final = ("org.sourcelab", "kafka-connect-client", "4.0.5")
OPENED: Final = (
    # The JDK hands out its HTTP client and its collections as classes that it does not export; Py4J calls them by reflection.
    "--add-opens=java.net.http/jdk.internal.net.http=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)
STOP_SECONDS: Final = 60
UNPUBLISHED: Final = {"publication.autocreate.mode": "disabled"}


@pytest.fixture
def target(pg: PgServer, shared_worker: Worker) -> Iterator[Connector]:
    """A connector for one table of one row, not created yet; it is deleted at the end when the test has not done so."""
    database = pg.database("contract")
    database.execute("CREATE TABLE t (id int PRIMARY KEY, name text)", "INSERT INTO t VALUES (1, 'one')")
    connector = Connector(shared_worker, database, f"contract_{uuid.uuid4().hex[:8]}")
    yield connector
    if shared_worker.rest("GET", f"/connectors/{connector.name}").status_code == httpx.codes.OK:
        connector.delete()


@pytest.fixture
def failing(target: Connector) -> Connector:
    """The same, created and FAILED, because its publication is missing. :func:`repair` creates that."""
    # It is lost only when the configuration has been accepted.
    repair(target)
    body = {"name": target.name, "config": target.config(UNPUBLISHED), "initial_state": "STOPPED"}
    answer = target.worker.rest("POST", "/connectors", body)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    target.database.execute(f"DROP PUBLICATION {target.name}")
    target.put("resume")
    target.trace()
    return target


def repair(connector: Connector) -> None:
    """Create the publication that ``failing`` lacks. The task must be restarted afterwards."""
    connector.database.execute(f"CREATE PUBLICATION {connector.name} FOR ALL TABLES")


@pytest.fixture(scope="session")
def jvm() -> Iterator[Any]:
    """The classes of a running JVM: Java's own, and those of the published Connect client that AKHQ uses."""
    # Imported here, because this file must also load without Py4J, which is part of PySpark.
    pytest.importorskip("py4j", reason="Py4J is not installed (extra 'spark')")
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway  # noqa: PLC0415

    java = find_java()
    jars = pinned_jars(java, "kafka-connect-client-4.0.5", [ARTIFACT], SUMS)
    words: deque[str] = deque(maxlen=50)
    port, token, process = launch_gateway(
        classpath=os.pathsep.join(str(jar) for jar in sorted(jars.iterdir())),
        javaopts=["-Xmx128m", "-XX:TieredStopAtLevel=1", *OPENED],
        java_path=str(java.program),
        redirect_stdout=words,
        redirect_stderr=words,
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    yield gateway.jvm
    gateway.shutdown()
    process.stdin.close()
    process.wait(STOP_SECONDS)
    # The threads that read what the JVM writes end with it, and close its pipes.
    for thread in threading.enumerate():
        if type(thread).__name__ == "OutputConsumer":
            thread.join(STOP_SECONDS)
