"""With exactly-once delivery each change comes once to readers of committed records, wherever the worker is killed."""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector, parsed
from tests.support.load import TABLES, Load, faults, seen
from tests.support.topics import read_to_end
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

SEED = 20_260_711
FEW = 2
KILLS = 20
BIG = 30_000
"""Rows of a transaction that takes several of Kafka's."""
CONFIG = {
    "table.include.list": "public.item,public.entry,public.big",
    "topic.creation.default.partitions": "3",
    "topic.creation.default.replication.factor": "1",
    "exactly.once.support": "required",
}
INSIDE = ("INSERT", "UPDATE", "DELETE")


async def committed(connector: Connector, table: str) -> list[tuple[Any, Any]]:
    topic = f"{connector.name}.public.{table}"
    return [(parsed(raw.key), parsed(raw.value)) for raw in await read_to_end(connector.worker.bootstrap, topic, committed=True)]


@pytest.mark.parametrize("kills", [FEW, pytest.param(KILLS, marks=pytest.mark.long)])
async def test_kills_and_each_change_comes_once(pg: PgServer, worker: Callable[..., Worker], kills: int) -> None:
    sys.stdout.write(f"seed {SEED}\n")
    choice = random.Random(SEED)
    connect = worker(exactly_once_source_support="enabled")
    connector = Connector(connect, pg.database("once"), f"once_{kills}")
    load = Load(connector.database.dsn, seed=SEED)
    load.prepare()
    connector.database.execute("CREATE TABLE big (id int PRIMARY KEY)")
    connector.create(CONFIG)
    rows = inside = 0
    load.start()
    try:
        for kill in range(kills):
            connector.await_phase("streaming")
            if kill % 2:
                rows += BIG
                connector.database.execute(f"INSERT INTO big SELECT generate_series({rows - BIG + 1}, {rows})")
                inside += await_inside(connector, rows)
            else:
                # The moment is random: nothing is waited for.
                threading.Event().wait(choice.uniform(0.0, 0.8))
            connect.kill()
            connect.start()
    finally:
        end = load.stop()
    connector.await_confirmed(end)
    # A few may all miss.
    assert inside > 0 or kills < KILLS, "no kill fell into a big transaction"

    found: list[str] = []
    for table in TABLES:
        events = await committed(connector, table)
        found += faults(table, load.histories, [seen(key, value) for key, value in events], load.rows(table), restarts=0)
        tombstones, deletes = (
            sum(value is None for _, value in events),
            sum(value is not None and value["op"] == "d" for _, value in events),
        )
        assert tombstones == deletes, table
    assert not found, f"seed {SEED}, {load.transactions} transactions: {len(found)} faults\n" + "\n".join(found[:30])
    times = Counter(key["id"] for key, _ in await committed(connector, "big"))
    assert times == Counter(range(1, rows + 1)), f"{[(key, count) for key, count in times.items() if count > 1][:10]} more than once"
    assert load.transactions > 5 * kills


def await_inside(connector: Connector, last: int) -> bool:
    """Wait until an offset inside the big transaction is committed; False when it was over before one could be seen."""

    def look() -> str | None:
        offset = connector.offset()
        if offset.get("messageType") in INSIDE:
            return "inside"
        return "over" if connector.progress()["events"] >= last else None

    def awaited() -> str:
        return f"the transaction up to row {last} to be streamed\n{connector.worker.log[-6000:]}"

    return wait_until(look, awaited, SECONDS, pause=0.02) == "inside"
