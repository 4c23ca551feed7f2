"""Malformed records in the internal topics: the worker continues, also after a restart, and its connectors run."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Callable, Sequence
from urllib.parse import quote

import httpx
import pytest
from aiokafka import AIOKafkaProducer

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.bad_records import (
    MARK,
    Record,
    odd_config,
    odd_offsets,
    odd_status,
    refused_config,
    refused_offsets,
    refused_status,
)
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


async def write(bootstrap: str, topic: str, records: Sequence[Record]) -> set[tuple[str, int, int]]:
    """Where each of them lies."""
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        sent = [await producer.send(topic, value, key) for key, value in records]
        return {(topic, found.partition, found.offset) for found in await asyncio.gather(*sent)}


def named(log: str) -> list[tuple[str, int, int]]:
    """Topic, partition and offset of each record that the log names."""
    lines = re.findall(r'msg="record of an internal topic passed over" topic=(\S+) partition=(\d+) offset=(\d+) reason=', log)
    return [(topic, int(partition), int(offset)) for topic, partition, offset in lines]


def await_named(here: Worker, records: set[tuple[str, int, int]]) -> None:
    wait_until(lambda: records <= set(named(here.log)), lambda: f"records to be named: {records - set(named(here.log))}", SECONDS)


async def follow(here: Worker, store: str, bad: Sequence[Record], odd: Sequence[Record]) -> set[tuple[str, int, int]]:
    """Write ``bad`` while the worker runs. Each is named, and what follows is followed. Where they lie."""
    assert len(bad) >= 45
    refused = await write(here.bootstrap, f"{here.group}-{store}", bad)
    await_named(here, refused)
    await write(here.bootstrap, f"{here.group}-{store}", odd)
    return refused


async def test_bad_records_in_every_internal_topic(pg: PgServer, worker: Callable[..., Worker]) -> None:
    database = pg.database("badrecords")
    database.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    here = worker()
    good = Connector(here, database, f"good_{uuid.uuid4().hex[:8]}")
    good.create()
    database.execute("INSERT INTO t VALUES (2)")
    good.await_confirmed(good.lsn())

    refused: set[tuple[str, int, int]] = set()
    # A running task stores its offset whenever the server's WAL has grown, and that hides a record of the same key that came before.
    good.put("pause")
    here.await_state(good.name, "PAUSED")
    refused |= await follow(here, "offset", refused_offsets(good.name, good.name), odd_offsets(good.name, good.name))
    good.put("resume")
    here.await_state(good.name, "RUNNING")
    good.await_phase("streaming")
    # Before the configurations, for a state that the worker itself is about to write hides what others write meanwhile.
    refused |= await follow(here, "status", refused_status(good.name), odd_status(good.name))
    refused |= await follow(here, "config", refused_config(good.name), odd_config(good.name))

    assert len(named(here.log)) == len(refused)
    check(here, good)
    database.execute("INSERT INTO t VALUES (3)")
    good.await_confirmed(good.lsn())

    # And at its start.
    before = len(here.log)
    here.restart()
    good.await_phase("streaming")
    assert refused == set(named(here.log[before:]))
    check(here, good)
    database.execute("INSERT INTO t VALUES (4)")
    good.await_confirmed(good.lsn())
    assert await good.seen("public.t") == [("r", 1), ("c", 2), ("c", 3), ("c", 4)]
    assert MARK not in here.log
    assert "Traceback" not in here.log
    good.delete()


def check(here: Worker, good: Connector) -> None:
    """The worker serves, the good connector runs, and each bad one fails separately."""
    assert here.health() == httpx.codes.OK
    here.await_state(good.name, "RUNNING")

    def bad() -> list[str] | None:
        names = [name for name in here.rest("GET", "/connectors").json() if name != good.name]
        return names if len(names) == 4 else None

    for name in wait_until(bad, "the four bad connectors", SECONDS):
        here.await_state(quote(name, safe=""), "FAILED", tasks=0)
