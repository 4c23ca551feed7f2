"""A worker with a secured broker, configured in each way that docs/security.md describes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from connector.java.properties import parse_properties
from tests.fix_pg import PgServer
from tests.fix_secured_kafka import PEM, SecuredKafka, TokenEndpoint, unsigned
from tests.fix_worker import SECONDS, Worker, properties_of, read_topics
from tests.support.connector import Connector
from tests.support.project import DOCS
from workers.quickstart.embedded.wait import wait_until

PAGE = DOCS / "security.md"
SNIPPETS: dict[str, str] = dict(re.findall(r"<!-- run: ([\w-]+) -->\n```\w+\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
FEW = ("scram-512-tls", "oauth")
WAYS = [name if name in FEW else pytest.param(name, marks=pytest.mark.long) for name in SNIPPETS if name not in ("connector", "database")]

pytestmark = pytest.mark.pg_once


class Place:
    """Where the page's addresses and files lead in a test."""

    def __init__(self, folder: Path, kafka: SecuredKafka, endpoint: TokenEndpoint) -> None:
        self.folder = folder
        self._places = {
            "kafka.example:9093": kafka.login,
            "kafka.example:9094": kafka.login_tls,
            "kafka.example:9095": kafka.mutual,
            "kafka.example:9096": kafka.token,
            "https://login.example/token": endpoint.url,
            "/etc/understudy": str(folder),
        }
        for name in ("authority.pem", "client.pem"):
            shutil.copy(PEM / name, folder / name)
        (folder / "token.jwt").write_text(unsigned("alice", 600) + "\n")

    def snippet(self, name: str) -> str:
        text = SNIPPETS[name]
        for shown, real in self._places.items():
            text = text.replace(shown, real)
        return text

    def worker(self, name: str) -> dict[str, str]:
        return parse_properties(self.snippet(name))


@pytest.fixture
def place(tmp_path: Path, secured_kafka: SecuredKafka, token_endpoint: TokenEndpoint) -> Place:
    return Place(tmp_path, secured_kafka, token_endpoint)


Start = Callable[..., Worker]


@pytest.fixture
def start(place: Place) -> Iterator[Start]:
    """Start a worker with a snippet of the page; further properties over it."""
    started: list[Worker] = []

    def one(name: str, **more: str) -> Worker:
        own = properties_of(f"secured-{uuid.uuid4().hex[:12]}", "") | place.worker(name) | more
        worker = Worker(place.folder, own, dict(os.environ))
        started.append(worker)
        worker.start()
        return worker

    yield one
    for each in started:
        each.close()


def connector_on(worker: Worker, pg: PgServer) -> Connector:
    database = pg.database()
    database.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    return Connector(worker, database, f"secured_{uuid.uuid4().hex[:12]}")


def signals_like(worker: dict[str, str], topic: str) -> dict[str, str]:
    """The signal channel, with the security of ``worker``."""
    security = {key: value for key, value in worker.items() if key.startswith(("security.", "sasl.", "ssl."))}
    return {
        "signal.enabled.channels": "kafka",
        "signal.kafka.topic": topic,
        "signal.kafka.groupId": topic,
        "signal.kafka.bootstrap.servers": worker["bootstrap.servers"],
        **{f"signal.consumer.{key}": value for key, value in security.items()},
    }


MAKES_TOPICS = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}


async def make_topic(kafka: SecuredKafka, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.plain)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, 1, 1)])
    finally:
        await admin.close()


async def send_signal(kafka: SecuredKafka, topic: str, key: str, message: str) -> None:
    value = json.dumps({"id": "1", "type": "log", "data": {"message": message}}).encode()
    async with AIOKafkaProducer(bootstrap_servers=kafka.plain) as producer:
        await producer.send_and_wait(topic, value, key.encode(), partition=0)


async def rows(kafka: SecuredKafka, topic: str, count: int) -> list[int]:
    records = await read_topics(kafka.plain, [topic], count)
    payloads: list[Any] = [record.json for record in records]
    return [payload["after"]["id"] for payload in payloads]


@pytest.mark.parametrize("way", WAYS)
async def test_a_worker_as_the_page_has_it(way: str, start: Start, place: Place, secured_kafka: SecuredKafka, pg: PgServer) -> None:
    worker = start(way)
    connector = connector_on(worker, pg)
    await make_topic(secured_kafka, f"{connector.name}-signal")
    try:
        connector.create({**MAKES_TOPICS, **signals_like(place.worker(way), f"{connector.name}-signal")})
        connector.database.execute("INSERT INTO t VALUES (2)")
        assert await rows(secured_kafka, f"{connector.name}.public.t", 2) == [1, 2]
        await send_signal(secured_kafka, f"{connector.name}-signal", connector.name, f"heard {way}")
        wait_until(lambda: f"heard {way}" in worker.log, lambda: f"the signal\n{worker.log[-4000:]}", SECONDS)
        # The stores were written and are read again.
        worker.restart()
        worker.await_state(connector.name, "RUNNING")
        connector.database.execute("INSERT INTO t VALUES (3)")
        assert await rows(secured_kafka, f"{connector.name}.public.t", 3) == [1, 2, 3]
        for secret in ("alice-secret", "oauth-secret"):
            assert secret not in worker.log
    finally:
        connector.delete()


async def test_logins_that_run_out(start: Start, secured_kafka: SecuredKafka, token_endpoint: TokenEndpoint, pg: PgServer) -> None:
    """The broker ends each session after five seconds, tokens last for three: clients log in again, with fresh ones, and go on."""
    worker = start("oauth", **{"bootstrap.servers": secured_kafka.short})
    connector = connector_on(worker, pg)
    try:
        connector.create(MAKES_TOPICS)
        for number in (2, 3):
            asked = len(token_endpoint.asked)
            wait_until(lambda asked=asked: len(token_endpoint.asked) > asked + 1, lambda: "further tokens to be asked for", SECONDS)  # type: ignore[misc]
            # Another topic each time: the admin client, too, meets a connection that was cut.
            connector.database.execute(f"INSERT INTO t VALUES ({number})", f"CREATE TABLE t{number} (id int PRIMARY KEY)")
            connector.database.execute(f"INSERT INTO t{number} VALUES ({number})")
            assert await rows(secured_kafka, f"{connector.name}.public.t{number}", 1) == [number]
        assert await rows(secured_kafka, f"{connector.name}.public.t", 3) == [1, 2, 3]
        assert "trying again" not in worker.log
        last = token_endpoint.asked[-1]
        assert (last["login"], last["grant_type"], last["scope"]) == ("understudy:oauth-secret", "client_credentials", "kafka")
    finally:
        connector.delete()


async def test_a_connector_with_its_own_login(start: Start, place: Place, secured_kafka: SecuredKafka, pg: PgServer) -> None:
    worker = start("plain")
    connector = connector_on(worker, pg)
    topic = f"{connector.name}-signal"
    await make_topic(secured_kafka, topic)
    own = json.loads(place.snippet("connector"))
    try:
        connector.create({**MAKES_TOPICS, "signal.enabled.channels": "kafka", "signal.kafka.topic": topic, **own})
        assert await rows(secured_kafka, f"{connector.name}.public.t", 1) == [1]
        await send_signal(secured_kafka, topic, connector.name, "heard bob")
        wait_until(lambda: "heard bob" in worker.log, lambda: f"the signal\n{worker.log[-4000:]}", SECONDS)
    finally:
        connector.delete()


def test_a_login_that_is_not_accepted_fails_the_task(start: Start, pg: PgServer) -> None:
    worker = start("plain")
    connector = connector_on(worker, pg)
    wrong = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="hunter2";'
    try:
        connector.post({"producer.override.sasl.jaas.config": wrong})
        reported = connector.trace()
        assert "does not accept this login" in reported
        assert "Check sasl.mechanism and sasl.jaas.config" in reported
        assert "hunter2" not in reported + worker.log
    finally:
        connector.delete()


@pytest.mark.parametrize(
    ("way", "changed", "reported"),
    [
        ("plain", {"sasl.jaas.config": 'x.PlainLoginModule required username="alice" password="hunter2";'}, "does not accept this login"),
        ("scram-512-tls", {"ssl.truststore.type": "", "ssl.truststore.location": ""}, "is not trusted"),
        ("oauth", {"sasl.oauthbearer.client.credentials.client.secret": "hunter2"}, "401 invalid_client"),
    ],
)
def test_a_rejected_worker_reports_the_reason(way: str, changed: dict[str, str], reported: str, place: Place) -> None:
    properties = properties_of(f"secured-{uuid.uuid4().hex[:12]}", "") | place.worker(way) | changed
    properties["listeners"] = "http://127.0.0.1:0"
    file = place.folder / "worker.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "workers", "worker", str(file)], capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 1
    assert reported in done.stderr.splitlines()[-1]
    assert "hunter2" not in done.stdout + done.stderr
