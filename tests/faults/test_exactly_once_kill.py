"""With exactly-once delivery each change comes once to readers of committed records, wherever the worker is killed."""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from fix_pg import PgServer
from fix_worker import Worker
from support.connector import SECONDS, Connector, parsed
from support.load import TABLES, Load, faults, seen
from support.topics import read_to_end

from workers.embedded.wait import wait_until

pytestmark = [pytest.mark.pg_once, pytest.mark.slow]

SEED = 20_260_711
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


async def test_twenty_kills_and_each_change_comes_once(pg: PgServer, worker: Callable[..., Worker]) -> None:
    sys.stdout.write(f"seed {SEED}\n")
    choice = random.Random(SEED)
    connect = worker(exactly_once_source_support="enabled")
    connector = Connector(connect, pg.database("once"), "once_twenty")
    load = Load(connector.database.dsn, seed=SEED)
    load.prepare()
    connector.database.execute("CREATE TABLE big (id int PRIMARY KEY)")
    connector.create(CONFIG)
    rows = inside = 0
    load.start()
    try:
        for kill in range(KILLS):
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
    assert inside > 0, "no kill fell into a big transaction"

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
    assert load.transactions > 100


def await_inside(connector: Connector, last: int) -> bool:
    """Wait until an offset inside the big transaction is committed; False when it was over before one could be seen."""

    def look() -> str | None:
        offset = connector.offset()
        if offset.get("messageType") in INSIDE:
            return "inside"
        return "over" if connector.progress()["events"] >= last else None

    return wait_until(look, lambda: f"the transaction up to row {last} to be streamed\n{connector.worker.log[-6000:]}", SECONDS) == "inside"
