"""A delivery that failed is noticed and repeated though nothing more happens in the database."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from connector.wire.lsn import format_lsn
from tests.fix_pg import PgServer
from tests.fix_worker import Worker, read_topics
from tests.support.connector import Connector
from workers.quickstart.embedded.kafka import EmbeddedKafka
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


async def test_the_last_event_before_a_silence_is_delivered(pg: PgServer, kafka: EmbeddedKafka, worker: Callable[..., Worker]) -> None:
    database = pg.database("quiet")
    # The server asks for no sign of life: what it sends by itself is all that wakes the reader.
    database.execute(f"ALTER DATABASE {database.name} SET wal_sender_timeout = 0", "CREATE TABLE t (id int PRIMARY KEY)")
    connector = Connector(worker(), database, "quiet_failure")
    own = {f"{client}.override.bootstrap.servers": kafka.bootstrap for client in ("producer", "admin")}
    # Status updates make the server answer; there is none for a minute.
    own["status.update.interval.ms"] = "60000"
    # An idempotent producer never gives up; this one does, and its task must begin again.
    connector.create({**own, "producer.override.request.timeout.ms": "1500", "producer.override.enable.idempotence": "false"})
    database.execute("INSERT INTO t VALUES (1)")
    # The event's own position: the end of the WAL moves with every other database, and is confirmed with the next status update.
    topic = f"{connector.name}.public.t"
    [first] = await read_topics(kafka.bootstrap, [topic], 1)
    connector.await_confirmed(format_lsn(json.loads(first.value or b"null")["source"]["lsn"]))
    kafka.halt()
    database.execute("INSERT INTO t VALUES (2)")
    # Well before the minute after which the next status update would have shown it.
    wait_until(lambda: "trying again" in connector.worker.log, lambda: f"the task to begin again\n{connector.worker.log[-3000:]}", 40)
    kafka.resume()
    # The test waits for the records, because the confirmation of the slot may take until the next status update.
    records = await read_topics(kafka.bootstrap, [topic], 2)
    assert [json.loads(record.value or b"null")["after"]["id"] for record in records] == [1, 2]
