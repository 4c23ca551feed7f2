"""Understudy continues an incremental snapshot that Debezium began, and Debezium could continue ours: the stored offset is the same text.

The offsets in ``incremental_offsets_recorded.json`` are records of the offset topics of Debezium 3.6.3.Final and 2.3.4.Final as they
lay there, each after the first chunk of four rows of the tables below.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from aiokafka import AIOKafkaProducer

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

CHUNK: Final = 4
DDL: Final = (
    "CREATE TABLE sig (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))",
    "CREATE TABLE pair (a int, b text, v text, PRIMARY KEY (a, b))",
    "INSERT INTO pair SELECT i / 3, 'k' || i % 3, 'v' || i FROM generate_series(0, 22) i",
    "CREATE TABLE one (u uuid PRIMARY KEY, v text)",
    "INSERT INTO one SELECT md5(i::text)::uuid, 'v' || i FROM generate_series(1, 13) i",
    "CREATE TABLE amount (n numeric(14, 3) PRIMARY KEY, v text)",
    "INSERT INTO amount SELECT (i - 6) * 1234567.125, 'v' || i FROM generate_series(1, 13) i",
    "CREATE TABLE chosen (id int PRIMARY KEY, s bigint NOT NULL UNIQUE)",
    "INSERT INTO chosen SELECT i, 1000 - i * 71 FROM generate_series(1, 13) i",
)
BEYOND: Final = {
    "pair": "INSERT INTO pair VALUES (99, 'z')",
    "one": "INSERT INTO one VALUES ('ffffffff-ffff-ffff-ffff-ffffffffffff')",
    "amount": "INSERT INTO amount VALUES (99999999)",
    "chosen": "INSERT INTO chosen VALUES (99, 5000)",
}
"""A row after the last one at the snapshot's begin: only the stream has it."""
ORDER: Final = {"pair": "a, b", "one": "u", "amount": "n", "chosen": "s"}
PLACES: Final = re.compile(rb'("(?:lsn|lsn_proc|lsn_commit|txId|ts_usec)":)\d+|("messageType":)"[A-Z]+"')
"""What differs from server to server, and from moment to moment."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An offset as Debezium stored it, and the signal's data before that. The signal's id was the table's name."""

    version: str
    case: str
    signal: Mapping[str, Any]
    value: str

    @property
    def tables(self) -> list[str]:
        return [str(name).removeprefix("public.") for name in self.signal["data-collections"]]

    def execute(self) -> tuple[str, str, str]:
        return self.case, "execute-snapshot", json.dumps(self.signal)


RECORDED: Final = [
    Recorded(**entry)
    for entry in json.loads(Path(__file__).with_name("incremental_offsets_recorded.json").read_text(encoding="utf-8"))["offsets"]
]
VERSIONS: Final = sorted({recorded.version for recorded in RECORDED})


def changes(version: str) -> dict[str, str]:
    former = version.startswith("2.")
    return {
        "snapshot.mode": "never" if former else "no_data",
        "signal.data.collection": "public.sig",
        "incremental.snapshot.chunk.size": str(CHUNK),
        "decimal.handling.mode": "string",
        "notification.enabled.channels": "sink",
        "notification.sink.topic.name": "{name}-notes",
        **({"connector.plugin.version": version} if former else {}),
    }


def config(connector: Connector, version: str = "3.6.3.Final") -> dict[str, str]:
    return {name: value.replace("{name}", connector.name) for name, value in changes(version).items()}


def signals(database: Database, *rows: tuple[str, str, str]) -> None:
    """Signals in one transaction, so that no chunk is read between them."""
    with psycopg.connect(database.dsn) as connection:
        for row in rows:
            connection.execute("INSERT INTO sig VALUES (%s, %s, %s)", row)


def with_places(value: str, lsn: int, xid: int) -> str:
    """The offset as Debezium would have stored it on this server."""
    value = re.sub(r'("lsn(?:_proc|_commit)?":)\d+', rf"\g<1>{lsn}", value)
    return re.sub(r'("txId":)\d+', rf"\g<1>{xid}", value)


async def put_offset(connector: Connector, value: str) -> None:
    key = json.dumps([connector.name, {"server": connector.name}], separators=(",", ":")).encode()
    producer = AIOKafkaProducer(bootstrap_servers=connector.worker.bootstrap)
    await producer.start()
    try:
        await producer.send_and_wait(f"{connector.worker.group}-offset", value.encode(), key)
    finally:
        await producer.stop()


async def offset_texts(connector: Connector) -> list[bytes]:
    """The records of the offset topic as they lie there."""
    key = json.dumps([connector.name, {"server": connector.name}], separators=(",", ":")).encode()
    return [raw.value for raw in await connector.raw(f"{connector.worker.group}-offset") if raw.key == key and raw.value is not None]


def await_offset(connector: Connector, wanted: Callable[[dict[str, Any]], bool], what: str) -> None:
    wait_until(
        lambda: wanted(connector.offset()),
        lambda: f"the offset {what}: {connector.offset()}\n{connector.worker.log[-6000:]}",
        SECONDS,
        pause=0.02,
    )


def complete(offset: Mapping[str, Any]) -> bool:
    return bool(offset) and not any(name.startswith("incremental_snapshot") for name in offset)


def half_way(case: str, offset: Mapping[str, Any]) -> bool:
    """The snapshot of this signal has sent a chunk."""
    place = str(offset.get("incremental_snapshot_primary_key", ""))
    return offset.get("incremental_snapshot_correlation_id") == case and len(place) > len("aced000570")


def rows(database: Database, table: str, condition: str = "true") -> list[tuple[object, ...]]:
    key = ORDER[table].split(", ")
    named = "id, s" if table == "chosen" else ORDER[table]
    shown = ", ".join(f"{name}::text" for name in named.split(", "))
    return database.execute(f"SELECT {shown} FROM {table} WHERE {condition} ORDER BY {', '.join(f'{table}.{name}' for name in key)}")


async def read(connector: Connector, table: str, op: str) -> list[tuple[object, ...]]:
    """The keys of the table's events of one kind, in their order."""
    named = ("id", "s") if table == "chosen" else tuple(ORDER[table].split(", "))
    values = [value for _, value in await connector.events(f"public.{table}") if value is not None and value["op"] == op]
    return [tuple(str(value["after"][name]) for name in named) for value in values]


def last_values(events: Sequence[tuple[Any, Any]]) -> dict[tuple[object, object], object]:
    """The rows of ``pair`` in their last events."""
    last = {(key["a"], key["b"]): None if value is None or value["after"] is None else value["after"]["v"] for key, value in events}
    return {key: v for key, v in last.items() if v is not None}


async def notes(connector: Connector) -> list[dict[str, Any]]:
    found = [json.loads(raw.value or b"{}") for raw in await connector.raw(f"{connector.name}-notes")]
    return [note for note in found if note["aggregate_type"] == "Incremental Snapshot"]


def reported_key(row: Sequence[object], recorded: Recorded) -> str:
    """A row's key as notifications have it: 2.3.4 reported only the first column."""
    key = [str(cell) for cell in (row[1:] if recorded.case == "chosen" else row)]
    return ",".join(key[:1] if recorded.version == "2.3.4.Final" else key)


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: f"{recorded.version[0]}_{recorded.case}")
async def test_a_snapshot_begun_by_debezium_continues_at_its_chunk(pg: PgServer, worker: Callable[..., Worker], recorded: Recorded) -> None:
    connector = Connector(worker(), pg.database("handover"), f"handover_{recorded.version[0]}_{recorded.case}")
    database = connector.database
    database.execute(*DDL)
    condition = "a <> 3" if recorded.case == "pair" else "true"
    wanted = {table: rows(database, table, condition if table == recorded.case else "true") for table in recorded.tables}
    wanted[recorded.case] = wanted[recorded.case][CHUNK:]
    database.execute(f"CREATE PUBLICATION {connector.name} FOR ALL TABLES")
    [(lsn, xid)] = database.execute(
        f"""SELECT (lsn - '0/0')::bigint, pg_current_xact_id()::text::bigint
            FROM pg_create_logical_replication_slot('{connector.name}', 'pgoutput')"""
    )
    database.execute(BEYOND[recorded.case])
    await put_offset(connector, with_places(recorded.value, int(str(lsn)), int(str(xid))))

    connector.post(config(connector, recorded.version))
    await_offset(connector, complete, "to be without a snapshot")

    for table, keys in wanted.items():
        assert await read(connector, table, "r") == keys
        assert len(await read(connector, table, "c")) == (table == recorded.case)
    reported = await notes(connector)
    kinds = [note["type"].removeprefix("Status ") for note in reported]
    assert "STARTED" not in kinds
    assert kinds[-2:] == ["TABLE_SCAN_COMPLETED", "COMPLETED"]
    assert {note["id"] for note in reported} == {recorded.case}
    first = reported[0]["additional_data"]
    assert first["last_processed_key"] == reported_key(wanted[recorded.case][CHUNK - 1], recorded)
    assert first["maximum_key"] == reported_key(wanted[recorded.case][-1], recorded)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: str(version)[0])
async def test_half_way_the_same_is_stored_as_debezium_stored(pg: PgServer, worker: Callable[..., Worker], version: str) -> None:
    connector = Connector(worker(), pg.database("handover_bytes"), f"handover_bytes_{version[0]}")
    connector.database.execute(*DDL)
    connector.create(config(connector, version))
    for recorded in [recorded for recorded in RECORDED if recorded.version == version]:
        signals(connector.database, recorded.execute(), (f"{recorded.case}-pause", "pause-snapshot", "{}"))
        await_offset(connector, partial(half_way, recorded.case), "to tell of the first chunk")
        texts = [text for text in await offset_texts(connector) if half_way(recorded.case, json.loads(text))]
        assert {PLACES.sub(rb"\1\2?", text) for text in texts} == {PLACES.sub(rb"\1\2?", recorded.value.encode())}
        signals(connector.database, (f"{recorded.case}-resume", "resume-snapshot", "{}"))
        await_offset(connector, complete, "to be without a snapshot")


async def test_killed_with_a_window_open(pg: PgServer, worker: Callable[..., Worker]) -> None:
    """The dead worker's watermark comes while another window is open, which it must not close; and rows of both changed meanwhile."""
    connector = Connector(worker(), pg.database("handover_kill"), "handover_kill")
    database = connector.database
    database.execute(
        *DDL,
        "CREATE SEQUENCE closes",
        # The first two of the second watermarks wait until their gates are open.
        """CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF new.type = 'snapshot-window-close' THEN PERFORM pg_advisory_xact_lock_shared(nextval('closes')); END IF;
             RETURN new; END $$""",
        "CREATE TRIGGER gate BEFORE INSERT ON sig FOR EACH ROW EXECUTE FUNCTION gate()",
    )
    connector.create(config(connector))
    words = connector.worker

    def await_count(wanted: int, query: str, what: str) -> None:
        wait_until(
            lambda: database.execute(f"SELECT count(*) FROM {query}") == [(wanted,)], lambda: f"{what}\n{words.log[-6000:]}", SECONDS
        )

    waiting = "pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with psycopg.connect(database.dsn, autocommit=True) as gate:
        gate.execute("SELECT pg_advisory_lock(1), pg_advisory_lock(2)")
        signals(database, ("k", "execute-snapshot", '{"data-collections": ["public.pair"]}'))
        await_count(1, waiting, "a window to be open")
        connector.worker.kill()
        database.execute("UPDATE pair SET v = 'changed' WHERE (a, b) = (0, 'k1')", "DELETE FROM pair WHERE (a, b) = (1, 'k0')")
        connector.worker.start()
        await_count(2, waiting, "another window to be open")
        gate.execute("SELECT pg_advisory_unlock(1)")
        await_count(1, "sig WHERE type = 'snapshot-window-close'", "the dead worker's watermark")
        database.execute("UPDATE pair SET v = 'late' WHERE (a, b) = (0, 'k2')")
        gate.execute("SELECT pg_advisory_unlock(2)")
    await_offset(connector, complete, "to be without a snapshot")
    connector.await_confirmed(connector.lsn())

    events = await connector.events("public.pair")
    assert [value["op"] for key, value in events if key == {"a": 0, "b": "k2"}] == ["u"]
    assert last_values(events) == {(a, b): v for a, b, v in database.execute("SELECT a, b, v FROM pair")}
    reads = await read(connector, "pair", "r")
    assert len(reads) == len(set(reads)) == len(rows(database, "pair")) - 1


async def test_an_offset_from_before_the_signal_starts_the_snapshot_again(pg: PgServer, worker: Callable[..., Worker]) -> None:
    """The signal's row is sent again with the changes after the offset, and is executed again."""
    connector = Connector(worker(), pg.database("handover_old"), "handover_old")
    database = connector.database
    database.execute(*DDL)
    # The slot is kept back, or the server would not send again what the stored offset was once ahead of.
    connector.create({**config(connector), "lsn.flush.mode": "manual"})
    database.execute("UPDATE pair SET v = 'first' WHERE a = 0")
    await_offset(connector, lambda offset: "lsn" in offset, "to be there")
    connector.stop()
    before = (await offset_texts(connector))[-1]
    connector.put("resume")
    connector.await_phase("streaming")
    signals(database, ("o", "execute-snapshot", '{"data-collections": ["public.pair"]}'), ("o-pause", "pause-snapshot", "{}"))
    await_offset(connector, partial(half_way, "o"), "to tell of the first chunk")
    connector.stop()
    database.execute("DELETE FROM pair WHERE (a, b) = (0, 'k1')", "UPDATE pair SET v = 'last' WHERE a = 2")
    await put_offset(connector, before.decode())
    connector.put("resume")
    connector.await_phase("streaming")
    # The next signal is executed again too and pauses the snapshot.
    await_offset(connector, partial(half_way, "o"), "to tell of the first chunk again")
    signals(database, ("o-resume", "resume-snapshot", "{}"))
    await_offset(connector, complete, "to be without a snapshot")

    events = await connector.events("public.pair")
    assert last_values(events) == {(a, b): v for a, b, v in database.execute("SELECT a, b, v FROM pair")}
    assert [note["type"] for note in await notes(connector)].count("STARTED") == 2
    reads = await read(connector, "pair", "r")
    twice = {row for row in reads if reads.count(row) > 1}
    assert len(reads) == len(rows(database, "pair")) + CHUNK
    assert len(twice) <= CHUNK
