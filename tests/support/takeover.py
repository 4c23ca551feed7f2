"""Connectors in every state, a writer to their tables, and the checks that must hold on every worker of the cluster."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import httpx
import psycopg

from tests.fix_connect import Cluster
from tests.fix_pg import Database
from workers.quickstart.embedded.wait import wait_until

from .connector import SECONDS, Connector, parsed
from .topics import topic_reader

CHUNKED_ROWS: Final = 3000
CHUNK: Final = 10
BEYOND: Final = 1_000_000
"""The first key of the writer: after every row that an incremental snapshot reads."""
ROLES: Final[Mapping[str, Mapping[str, str]]] = {
    "busy": {},
    "beating": {
        "heartbeat.interval.ms": "300",
        "topic.heartbeat.prefix": "beat",
        "heartbeat.action.query": "UPDATE pulse SET at = clock_timestamp()",
    },
    "paused": {},
    "stopped": {},
    "unborn": {"snapshot.mode": "initial"},
    "failed": {},
    "chunked": {"signal.data.collection": "public.signals", "incremental.snapshot.chunk.size": str(CHUNK)},
}
"""A connector for each role, with its own table, and its difference from the plain one."""
STREAMING: Final = ("busy", "beating", "chunked")
STATES: Final[Mapping[str, tuple[str, list[str]]]] = {
    **{role: ("RUNNING", ["RUNNING"]) for role in STREAMING},
    "paused": ("PAUSED", ["PAUSED"]),
    "stopped": ("STOPPED", []),
    "unborn": ("STOPPED", []),
    "failed": ("RUNNING", ["FAILED"]),
}
READERS: Final = (
    "KafkaConfigBackingStore",
    "KafkaStatusBackingStore",
    "KafkaOffsetBackingStore",
    "ConnectorOffsetBackingStore",
    "OffsetStorageReaderImpl",
    "OffsetUtils",
    "KafkaBasedLog",
)
"""Connect's loggers that complain of a record in an internal topic which they cannot read."""
PACE: Final = """
CREATE FUNCTION pace() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.6); RETURN NEW; END $$;
CREATE TRIGGER pace BEFORE INSERT ON signals FOR EACH ROW EXECUTE FUNCTION pace()
"""
"""Every window of the incremental snapshot takes its time: with two signals a chunk all of it takes six minutes, so that it outlives three
changes of workers on a slow machine."""

Step = tuple[str, int, int | None]
"""An operation, the row's key and its version; a delete's version is None."""


class Writer:
    """Inserts, updates and deletes a row of each table, in one transaction for each table, until it is stopped."""

    def __init__(self, database: Database) -> None:
        self.steps: dict[str, list[Step]] = {role: [] for role in ROLES}
        self._database = database
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def prepare(self) -> None:
        """Make the tables."""
        tables = [f"CREATE TABLE {role} (id int PRIMARY KEY, version int NOT NULL)" for role in ROLES]
        self._database.execute(
            *tables,
            f"INSERT INTO chunked SELECT i, 1 FROM generate_series(1, {CHUNKED_ROWS}) i",
            "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))",
            "CREATE TABLE pulse (at timestamptz)",
            "INSERT INTO pulse VALUES (now())",
            PACE,
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            with psycopg.connect(self._database.dsn, autocommit=True) as connection:
                number = BEYOND
                while not self._stop.wait(0.02):
                    number += 1
                    for role in ROLES:
                        self.steps[role].extend(self._change(connection, role, number))
        except BaseException as failure:  # noqa: BLE001 (a thread's failure is raised at its end)
            self._failure = failure

    def _change(self, connection: psycopg.Connection[Any], table: str, number: int) -> list[Step]:
        steps: list[Step] = [("c", number, 1)]
        with connection.transaction():
            connection.execute(f"INSERT INTO {table} VALUES ({number}, 1)".encode())
            if number > BEYOND + 1:
                connection.execute(f"UPDATE {table} SET version = 2 WHERE id = {number - 1}".encode())
                steps.append(("u", number - 1, 2))
            if number > BEYOND + 10 and number % 3 == 0:
                connection.execute(f"DELETE FROM {table} WHERE id = {number - 10}".encode())
                steps.append(("d", number - 10, None))
        return steps


@dataclass(frozen=True, slots=True)
class Sight:
    """The cluster's REST answers about its connectors, as far as they must not depend on the worker."""

    info: Mapping[str, Any]
    """Name, configuration, tasks and type."""
    tasks: Mapping[str, Any]
    """Task configurations."""
    states: Mapping[str, tuple[str, list[str]]]
    topics: Mapping[str, frozenset[str]]
    at_rest: Mapping[str, Any]
    """Offsets of the connectors that do not stream."""


@dataclass(slots=True)
class Takeover:
    """The connectors of one cluster, which two kinds of workers run in turn."""

    cluster: Cluster
    database: Database
    prefix: str
    names: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = {role: f"{self.prefix}_{role}" for role in ROLES}

    def connector(self, role: str) -> Connector:
        return Connector(self.cluster.seats[0], self.database, self.names[role])

    def create(self) -> None:
        """Create all, and bring each to its state by REST."""
        for role, changes in ROLES.items():
            connector = self.connector(role)
            body: dict[str, Any] = {"name": connector.name, "config": connector.config({**_plain(role), **changes})}
            if role == "unborn":
                body["initial_state"] = "STOPPED"
            answer = self.cluster.rest("POST", "/connectors", body)
            assert answer.status_code == httpx.codes.CREATED, answer.text
        self.await_states(dict.fromkeys(set(ROLES) - {"unborn"}, ("RUNNING", ["RUNNING"])))
        self.database.execute(
            """INSERT INTO signals VALUES ('go', 'execute-snapshot', '{"data-collections": ["public.chunked"]}')""",
        )
        self.await_stream(*(set(ROLES) - {"unborn"}))
        self.connector("paused").put("pause")
        for role in ("stopped", "failed"):
            self.connector(role).stop()
        self.connector("failed").drop_slot()
        self.connector("failed").put("resume")
        self.await_states(STATES)

    def await_states(self, wanted: Mapping[str, tuple[str, list[str]]]) -> None:
        """Wait until these connectors are in these states, and each worker has some of them."""
        seats = {f"127.0.0.1:{seat.port}" for seat in self.cluster.seats}

        def look() -> bool:
            answer = self.cluster.rest("GET", "/connectors?expand=status")
            if not answer.is_success:
                return False
            listed = answer.json()
            ids = {each["worker_id"] for name in listed for each in [listed[name]["status"]["connector"], *listed[name]["status"]["tasks"]]}
            found = {name: _states(each["status"]) for name, each in listed.items()}
            return ids == seats and all(found.get(self.names[role]) == states for role, states in wanted.items())

        wait_until(
            look,
            lambda: f"the states {wanted}: {self.cluster.rest('GET', '/connectors?expand=status').text}\n{self.cluster.logs}",
            SECONDS,
        )

    def await_stream(self, *roles: str) -> None:
        """Wait until the stored offsets cover all present commits. The writer must be running."""
        lsn = self.connector("busy").lsn()

        for role in roles or STREAMING:
            self._await_offset(role, _number(lsn))

    def _await_offset(self, role: str, lsn: int) -> None:
        def look() -> bool:
            offsets = self.cluster.rest("GET", f"/connectors/{self.names[role]}/offsets").json().get("offsets", ())
            return any(offset["offset"].get("lsn_commit", 0) > lsn for offset in offsets)

        wait_until(look, lambda: f"{role} to be behind {lsn}\n{self.cluster.logs}", SECONDS)

    def sight(self) -> Sight:
        """Look at everything."""
        listed = self.cluster.rest("GET", "/connectors?expand=info&expand=status").json()
        names = sorted(listed)
        assert names == sorted(self.names.values())
        return Sight(
            info={name: listed[name]["info"] for name in names},
            tasks={name: self.cluster.rest("GET", f"/connectors/{name}/tasks").json() for name in names},
            states={name: _states(listed[name]["status"]) for name in names},
            topics={name: frozenset(self.cluster.rest("GET", f"/connectors/{name}/topics").json()[name]["topics"]) for name in names},
            at_rest={
                role: self.cluster.rest("GET", f"/connectors/{self.names[role]}/offsets").json() for role in ROLES if role not in STREAMING
            },
        )

    def restore(self) -> None:
        """Bring to life what rests, and let the incremental snapshot run."""
        self.database.execute("ALTER TABLE signals DISABLE TRIGGER pace")
        for role in ("paused", "stopped", "unborn"):
            self.connector(role).put("resume")
        self.await_states(dict.fromkeys(("paused", "stopped", "unborn"), ("RUNNING", ["RUNNING"])))

    def await_failure(self, *, real: bool) -> None:
        """Wait until the failed task has failed again on its present worker. Java's traces are stacks."""

        def look() -> bool:
            tasks = self.cluster.rest("GET", f"/connectors/{self.names['failed']}/status").json()["tasks"]
            return any(task["state"] == "FAILED" and ("\n\tat " in task["trace"]) == real for task in tasks)

        wait_until(look, lambda: f"the failed task to fail again\n{self.cluster.logs}", SECONDS)

    def reading(self) -> bool:
        """Whether the incremental snapshot continues, as the offset shows."""
        [offset] = self.cluster.rest("GET", f"/connectors/{self.names['chunked']}/offsets").json()["offsets"]
        return "incremental_snapshot_collections" in offset["offset"]

    async def await_events(self, steps: Mapping[str, Sequence[Step]]) -> dict[str, list[Step]]:
        """Wait until the last of these steps is in its table's topic. Returns the records of the topics, in order."""
        async with asyncio.timeout(SECONDS):
            while True:
                found = await self.events(steps)
                if all(wanted[-1] in found[role] for role, wanted in steps.items()):
                    return found

    async def events(self, roles: Iterable[str]) -> dict[str, list[Step]]:
        """The records of the tables' topics, in order."""
        found: dict[str, list[Step]] = {}
        async with topic_reader(self.cluster.bootstrap) as reader:
            for role in roles:
                records = [parsed(raw.value) for raw in await reader.read(f"{self.names[role]}.public.{role}")]
                found[role] = [_step(record) for record in records]
        return found

    def complaints(self) -> list[str]:
        """What Connect's workers had against records of the internal topics."""
        lines = "\n".join(seat.real_log for seat in self.cluster.seats).splitlines()
        return [line for line in lines if any(f" {reader} " in line for reader in READERS)]


def replays(wanted: Sequence[Step], events: Sequence[Step], *, whole: bool) -> list[int]:
    """How many events each replay has; fails where the order of commits is left in any other way, or (``whole``) the last are missing.

    A replay begins at an earlier step, and continues in order from there. The connector began with the first event.
    """
    wanted = wanted[wanted.index(events[0]) :]
    place_of = {step: place for place, step in enumerate(wanted)}
    lengths: list[int] = []
    furthest = last = -1
    for event in events:
        place = place_of[event]
        assert place <= furthest + 1, f"{wanted[furthest + 1 : place][:5]} are missing before {event}"
        if place <= last:
            lengths.append(0)
        else:
            assert place == last + 1, f"{event} follows {wanted[last]}"
        if place <= furthest:
            lengths[-1] += 1
        last, furthest = place, max(furthest, place)
    assert furthest == len(wanted) - 1 or not whole, f"{len(wanted) - 1 - furthest} last steps are missing"
    return lengths


def _plain(role: str) -> dict[str, str]:
    return {
        "table.include.list": f"public.{role}",
        "publication.autocreate.mode": "filtered",
        "snapshot.mode": "no_data",
        "tombstones.on.delete": "false",
    }


def _number(lsn: str) -> int:
    high, low = lsn.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def _states(status: Mapping[str, Any]) -> tuple[str, list[str]]:
    return status["connector"]["state"], [task["state"] for task in status["tasks"]]


def _step(event: Mapping[str, Any]) -> Step:
    row = event["before"] if event["op"] == "d" else event["after"]
    return event["op"], row["id"], None if event["op"] == "d" else row["version"]
