"""A connector whose principal may write to its topics and create none, on a broker that checks permissions."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.protocol.admin import CreateAclsRequest

from tests.fix_pg import PgServer
from tests.fix_secured_kafka import SECURITY
from tests.fix_worker import Worker, properties_of, read_topics
from tests.support.connector import Connector
from workers.quickstart.embedded.kafka import EmbeddedKafka
from workers.quickstart.embedded.place import free_port

pytestmark = pytest.mark.pg_once

LOGIN = f'{SECURITY}plain.PlainLoginModule required username="bob" password="bob-secret";'
CREATES = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}


@pytest.fixture(scope="module")
def guarded_kafka() -> Iterator[tuple[EmbeddedKafka, str]]:
    """A broker where bob may write to topics that begin with ``owned`` and nothing else, and its address for him."""
    ports = {name: free_port() for name in ("PLAINTEXT", "LOGIN", "CONTROLLER")}
    places = {name: f"{name}://127.0.0.1:{port}" for name, port in ports.items()}
    settings = {
        "listeners": ",".join(places.values()),
        "advertised.listeners": ",".join(place for name, place in places.items() if name != "CONTROLLER"),
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT",
        "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": f'{SECURITY}plain.PlainLoginModule required user_bob="bob-secret";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "auto.create.topics.enable": "false",
    }
    with EmbeddedKafka(port=ports["PLAINTEXT"], settings=settings) as broker:
        asyncio.run(let_bob_write(broker))
        yield broker, f"127.0.0.1:{ports['LOGIN']}"


async def let_bob_write(broker: EmbeddedKafka) -> None:
    """What ``kafka-acls`` does. The numbers are Kafka's (AclOperation and so on)."""
    topic, prefixed, allow, write, describe = 2, 4, 3, 4, 8
    admin: Any = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await admin.start()
    try:
        for operation in (write, describe):
            answer = await admin._send_request(CreateAclsRequest(topic, "owned", prefixed, "User:bob", "*", operation, allow))
            assert answer.creation_responses[0][0] == 0, answer
    finally:
        await admin.close()


@pytest.fixture
def worker(tmp_path: Path, guarded_kafka: tuple[EmbeddedKafka, str]) -> Iterator[Worker]:
    """A worker that is not restricted itself."""
    own = properties_of(f"guarded-{uuid.uuid4().hex[:12]}", guarded_kafka[0].bootstrap)
    one = Worker(tmp_path, {**own, "connector.client.config.override.policy": "All"}, dict(os.environ))
    one.start()
    yield one
    one.close()


def as_bob(address: str) -> dict[str, str]:
    login = {
        "bootstrap.servers": address,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": LOGIN,
    }
    return {f"{client}.override.{key}": value for client in ("producer", "admin") for key, value in login.items()}


def connector_on(worker: Worker, pg: PgServer) -> Connector:
    database = pg.database()
    database.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    return Connector(worker, database, f"owned_{uuid.uuid4().hex[:12]}")


async def test_an_existing_topic_needs_no_permission_to_create(
    worker: Worker, guarded_kafka: tuple[EmbeddedKafka, str], pg: PgServer
) -> None:
    broker, address = guarded_kafka
    connector = connector_on(worker, pg)
    topic = f"{connector.name}.public.t"
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, 1, 1)])
    finally:
        await admin.close()
    try:
        connector.create({**CREATES, **as_bob(address)})
        [record] = await read_topics(broker.bootstrap, [topic], 1)
        payload: Any = record.json
        assert payload["after"] == {"id": 1}
    finally:
        connector.delete()


async def test_a_missing_topic_that_may_not_be_created_is_named(
    worker: Worker, guarded_kafka: tuple[EmbeddedKafka, str], pg: PgServer
) -> None:
    connector = connector_on(worker, pg)
    try:
        connector.post({**CREATES, **as_bob(guarded_kafka[1])})
        trace = connector.trace()
        assert f"Kafka does not let this principal create topic {connector.name}.public.t" in trace
        assert "Grant Create on it" in trace
    finally:
        connector.delete()
