"""After a kill of the worker an incremental snapshot continues at its chunk: no row is missing, stale or out of order."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from connector.incremental.key_objects import read_array
from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from tests.support.load import TABLES, Load, Seen, faults, seen
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

SEED = 20_240_301
FEW = 1
KILLS = 20
CHUNK = 2_000
COLLECTIONS = "incremental_snapshot_collections"
CONFIG = {
    "table.include.list": "public.item,public.entry",
    "signal.data.collection": "public.sig",
    "snapshot.mode": "no_data",
    "incremental.snapshot.chunk.size": str(CHUNK),
    "topic.creation.default.partitions": "3",
    "topic.creation.default.replication.factor": "1",
}
# Every chunk waits while it is read, so that changes come meanwhile and the snapshot lasts longer than the kills.
WAITING = f"""{{"data-collections": ["public.item", "public.entry"], "additional-conditions": [
    {{"data-collection": "public.*", "filter": "id % {CHUNK} <> 0 OR pg_sleep(0.2) IS NOT NULL"}}]}}"""


def stale(table: str, records: list[Seen]) -> list[str]:
    """Read events whose row is older than an earlier record of the same key."""
    found = []
    newest: dict[int, tuple[int, bool]] = {}
    for record in records:
        if record.op == "tombstone":
            continue
        version, gone = newest.get(record.key, (0, False))
        if record.op == "r" and (record.version < version or (gone and record.version == version)):
            found.append(f"{table} {record.key}: a read of version {record.version} after version {version}{', deleted' * gone}")
        if record.version >= version:
            newest[record.key] = record.version, record.op == "d" or (gone and record.version == version)
    return found


def places(offsets: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """How far the stored offsets say that the snapshot is: tables done with, and the last key."""
    found = []
    for offset in offsets:
        if COLLECTIONS in offset:
            key = read_array(offset["incremental_snapshot_primary_key"])
            left = offset[COLLECTIONS].count('"public.')
            found.append((len(TABLES) - left, 0 if key is None or key[0] is None else int(key[0].value)))
    return found


# As many chunks of two tables as the kills need.
@pytest.mark.parametrize(("kills", "keys"), [(FEW, 16_000), pytest.param(KILLS, 100_000, marks=pytest.mark.long)])
async def test_kills_in_an_incremental_snapshot(pg: PgServer, worker: Callable[..., Worker], kills: int, keys: int) -> None:
    sys.stdout.write(f"seed {SEED}\n")
    choice = random.Random(SEED)
    connect = worker()
    connector = Connector(connect, pg.database("inckill"), f"kill_incremental_{kills}")
    load = Load(connector.database.dsn, seed=SEED, keys=keys)
    load.prepare()
    connector.database.execute(
        "CREATE TABLE sig (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))",
        # Chunks come by the index then, and each waits once.
        "ANALYZE item, entry",
    )
    connector.create(CONFIG)

    def on_its_way() -> bool:
        running = connector.progress().get("incremental")
        return running is not None and running["chunks"] > 0

    def further() -> bool:
        """A place is stored that was not when the worker was killed last."""
        return on_its_way() and places([connector.offset()]) != former

    def complete() -> bool:
        return COLLECTIONS not in connector.offset()

    load.start()
    try:
        connector.database.execute(f"INSERT INTO sig VALUES ('s', 'execute-snapshot', $data${WAITING}$data$)")
        former: list[tuple[int, int]] = []
        for _ in range(kills):
            wait_until(further, lambda: f"a chunk to be sent: {connector.progress()}\n{connect.log[-6000:]}", SECONDS, pause=0.02)
            pause(choice.uniform(0.0, 0.25))
            former = places([connector.offset()])
            connect.kill()
            connect.start()
        wait_until(on_its_way, lambda: f"a chunk to be sent: {connector.progress()}\n{connect.log[-6000:]}", SECONDS, pause=0.02)
        wait_until(complete, lambda: f"the snapshot to be complete: {connector.progress()}\n{connect.log[-6000:]}", SECONDS)
    finally:
        end = load.stop()
    connector.await_confirmed(end)

    found: list[str] = []
    reads = 0
    for table in TABLES:
        records = [seen(key, value) for key, value in await connector.events(f"public.{table}")]
        found += faults(table, load.histories, records, load.rows(table), kills)
        found += stale(table, records)
        reads += sum(record.op == "r" for record in records)
        reported = {record.key for record in records}
        found += [f"{table} {key}: no notification reports it" for key in range(1, keys + 1) if key not in reported]
    assert not found, f"seed {SEED}, {load.transactions} transactions: {len(found)} faults\n" + "\n".join(found[:30])
    stored = places(await connector.stored())
    assert stored == sorted(stored), "the stored place went back"
    assert len(set(stored)) > kills
    sys.stdout.write(f"{reads} reads, {load.transactions} transactions, {len(set(stored))} places\n")
    # After a kill only the events since the last stored offset are repeated, not the whole table.
    assert reads < len(TABLES) * keys * 3
    assert load.transactions > 25 * kills


def test_the_check_finds_stale_reads() -> None:
    reported = [
        Seen(1, "u", 3),
        Seen(1, "r", 3),
        Seen(2, "u", 2),
        Seen(2, "r", 1),
        Seen(3, "d", 2),
        Seen(3, "r", 2),
        Seen(3, "c", 3),
        Seen(3, "r", 3),
    ]
    assert len(stale("item", reported)) == 2


def pause(seconds: float) -> None:
    """Let the load and the worker run on: the moment of the kill is random, nothing is waited for."""
    threading.Event().wait(seconds)
