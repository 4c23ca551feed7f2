"""A connector whose database is idle while another database of the server is busy survives SIGKILL at any moment.

Only the server's keepalives advance its position. ``UNDERSTUDY_IDLE_KILLS=10`` runs ten kills with the default
status.update.interval.ms, each up to 10 s after the slot has moved; without it there are a few quick ones.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from connector.delivery.offsets import StoredOffset
from connector.wire.lsn import parse_lsn
from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

LONG = int(os.environ.get("UNDERSTUDY_IDLE_KILLS", "0"))
KILLS = LONG or 3
CONFIG = {"status.update.interval.ms": "10000" if LONG else "1000"}
FILL = (
    "INSERT INTO filler SELECT i, repeat(md5(random()::text), 64) FROM generate_series(1, 1500) AS i",
    "TRUNCATE filler",
    "CHECKPOINT",
)
"""About 3 MB of WAL, and the record of running transactions by which a slot's restart_lsn moves."""


@contextmanager
def busy(database: Database, seconds: float) -> Iterator[None]:
    """Another database writes 3 MB of WAL and a checkpoint every so many seconds."""
    over = threading.Event()

    def write() -> None:
        while not over.wait(seconds):
            database.execute(*FILL)

    database.execute("CREATE TABLE filler (id int, body text)")
    writer = threading.Thread(target=write, name="busy database")
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


def start_of(offset: dict[str, Any]) -> int:
    """The position from which streaming continues after a stored offset."""
    return StoredOffset.parse(offset).start


def let_go(connector: Connector, lsn: int) -> bool:
    """Whether the slot holds no WAL of before ``lsn`` any more."""
    return parse_lsn(connector.slot()["restart_lsn"]) > lsn


async def test_an_idle_connector_survives_every_kill(pg: PgServer, worker: Callable[..., Worker]) -> None:
    seed = random.SystemRandom().randrange(10**6)
    choice = random.Random(seed)
    connect = worker(offset_flush_interval_ms="2000" if LONG else "200")
    connector = Connector(connect, pg.database("idle"), "idle_kill")
    connector.database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    connector.create(CONFIG)
    found: list[str] = []
    with busy(pg.database("busy"), 2.0 if LONG else 0.3):
        for kill in range(1, KILLS + 1):
            connector.database.execute(f"INSERT INTO t VALUES ({kill})")
            lsn = parse_lsn(connector.lsn())
            # From here on the slot no longer holds the WAL of the insert: a start at its commit is refused.
            wait_until(
                partial(let_go, connector, lsn),
                lambda: f"the slot to move: {connector.slot()}\n{connect.log[-6000:]}",
                SECONDS,
            )
            threading.Event().wait(choice.uniform(0, 10) if LONG else choice.uniform(0.2, 1.0))
            connect.kill()
            confirmed = parse_lsn(connector.slot()["confirmed_flush_lsn"])
            stored = await connector.stored()
            starts = [start_of(offset) for offset in stored]
            backwards = [n for n in range(1, len(starts)) if starts[n] < starts[n - 1] or stored[n]["lsn"] < stored[n - 1]["lsn"]]
            sys.stdout.write(f"kill {kill}: {len(starts)} offsets, back {len(backwards)} times, last {starts[-1]}, slot {confirmed}\n")
            if backwards:
                found.append(
                    f"kill {kill}: the offset went back {len(backwards)} times: {stored[backwards[0] - 1]} then {stored[backwards[0]]}"
                )
            if starts[-1] < confirmed:
                found.append(f"kill {kill}: the stored offset is {starts[-1]}, the slot is confirmed up to {confirmed}")
            connect.start()
            try:
                connector.await_phase("streaming")
            except AssertionError as failed:
                found.append(f"kill {kill}: FAILED {failed}")
                break
    assert not found, f"seed {seed}\n" + "\n".join(found)
    connector.database.execute("INSERT INTO t VALUES (0)")
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.t") == [("c", row) for row in [*range(1, KILLS + 1), 0]]
