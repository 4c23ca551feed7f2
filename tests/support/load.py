"""A bounded load on two tables that remembers every version it committed, and the check of topics against it.

Every row carries a version that only grows. Each writer owns the keys that are its number modulo the number of writers, so the
order of a key's commits is the order in which its writer remembers them.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

Step = tuple[str, int]
"""An operation (``c``, ``u``, ``d``) and the row's version: after it, for ``d`` before it."""

TABLES: Final = ("item", "entry")
DDL: Final = (
    "CREATE TABLE item (id int PRIMARY KEY, version int NOT NULL, body text NOT NULL)",
    # With the whole old row a delete shows which version it deleted.
    "ALTER TABLE item REPLICA IDENTITY FULL",
    "CREATE TABLE entry (id int PRIMARY KEY, version int NOT NULL)",
)
BULK_EVERY: Final = 40
"""Transactions between two that change many rows at once."""


@dataclass(slots=True)
class _Writer:
    """One thread's keys with the version each has now (0: deleted), and what it committed."""

    keys: list[int]
    versions: dict[tuple[str, int], int]
    alive: set[int]
    done: dict[tuple[str, int], list[Step]] = field(default_factory=dict)


class Load:
    """Writers that run from :meth:`start` to :meth:`stop`. ``seed`` decides all they do, but not how fast."""

    def __init__(self, dsn: str, *, seed: int, keys: int = 400, writers: int = 2, pause: float = 0.01, bulk: int = 300) -> None:
        self._dsn = dsn
        self._seed = seed
        self._pause = pause
        self._bulk = bulk
        self._stop = threading.Event()
        self._failures: list[BaseException] = []
        self.transactions = 0
        self._writers = []
        for number in range(writers):
            own = [key for key in range(1, keys + 1) if key % writers == number]
            self._writers.append(_Writer(own, {(table, key): 1 for table in TABLES for key in own}, set(own)))
        self._threads = [threading.Thread(target=self._run, args=(number,), name=f"writer {number}") for number in range(writers)]
        self._keys = keys

    def prepare(self) -> None:
        """Make the tables, every key at version 1."""
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            for statement in DDL:
                connection.execute(statement.encode())
            connection.execute("INSERT INTO item SELECT i, 1, 'body of ' || i FROM generate_series(1, %s::int) i", (self._keys,))
            connection.execute("INSERT INTO entry SELECT i, 1 FROM generate_series(1, %s::int) i", (self._keys,))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> str:
        """End the writers. Returns the WAL position after their last commit. Raises the exception of a failed writer."""
        self._stop.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        if self._failures:
            raise self._failures[0]
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            row = connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
            assert row is not None
            return str(row[0])

    @property
    def histories(self) -> dict[tuple[str, int], list[Step]]:
        """What was committed, by table and key; only after :meth:`stop`."""
        return {key: steps for writer in self._writers for key, steps in writer.done.items()}

    def rows(self, table: str) -> dict[int, int]:
        """The versions in the table, by key."""
        with psycopg.connect(self._dsn) as connection:
            return {row[0]: row[1] for row in connection.execute(f"SELECT id, version FROM {table}".encode())}

    def _run(self, number: int) -> None:
        writer, choice = self._writers[number], random.Random(self._seed * 100 + number)
        try:
            with psycopg.connect(self._dsn, autocommit=True) as connection:
                count = 0
                while not self._stop.is_set():
                    count += 1
                    steps = (
                        self._bulk_update(connection, writer, choice) if count % BULK_EVERY == 0 else self._few(connection, writer, choice)
                    )
                    for table, key, step in steps:
                        writer.done.setdefault((table, key), []).append(step)
                    self.transactions += 1
                    self._stop.wait(self._pause)
        except BaseException as failure:  # noqa: BLE001 (stop raises a thread's failure)
            self._failures.append(failure)

    def _few(self, connection: psycopg.Connection[Any], writer: _Writer, choice: random.Random) -> list[tuple[str, int, Step]]:
        """One to five changes of item, each with a change of entry, in one transaction."""
        steps: list[tuple[str, int, Step]] = []
        with connection.transaction():
            for key in choice.sample(writer.keys, choice.randint(1, 5)):
                version = writer.versions["item", key]
                if key not in writer.alive:
                    connection.execute("INSERT INTO item VALUES (%s, %s, %s)", (key, version + 1, f"body {choice.random()}"))
                    writer.alive.add(key)
                    step = ("c", version + 1)
                elif choice.random() < 0.2:
                    connection.execute("DELETE FROM item WHERE id = %s", (key,))
                    writer.alive.remove(key)
                    step = ("d", version)
                else:
                    connection.execute("UPDATE item SET version = %s WHERE id = %s", (version + 1, key))
                    step = ("u", version + 1)
                writer.versions["item", key] = step[1]
                steps.append(("item", key, step))
            key = choice.choice(writer.keys)
            writer.versions["entry", key] += 1
            connection.execute("UPDATE entry SET version = version + 1 WHERE id = %s", (key,))
            steps.append(("entry", key, ("u", writer.versions["entry", key])))
        return steps

    def _bulk_update(self, connection: psycopg.Connection[Any], writer: _Writer, choice: random.Random) -> list[tuple[str, int, Step]]:
        """One transaction that changes many rows of entry, some of them more than once."""
        steps: list[tuple[str, int, Step]] = []
        with connection.transaction():
            for _ in range(3):
                keys = choice.sample(writer.keys, min(len(writer.keys), self._bulk))
                connection.execute("UPDATE entry SET version = version + 1 WHERE id = ANY(%s)", (keys,))
                for key in keys:
                    writer.versions["entry", key] += 1
                    steps.append(("entry", key, ("u", writer.versions["entry", key])))
        return steps


@dataclass(frozen=True, slots=True)
class Seen:
    """One record of a table's topic in the order of its partition; ``step`` is None for a tombstone."""

    key: int
    op: str
    version: int


def seen(key: Mapping[str, int], event: Mapping[str, Any] | None) -> Seen:
    """Of a record's key and value, both without schema."""
    if event is None:
        return Seen(key["id"], "tombstone", 0)
    row = event["before"] if event["op"] == "d" else event["after"]
    assert row["id"] == key["id"], (key, event)
    return Seen(key["id"], event["op"], row["version"])


def faults(
    table: str, histories: Mapping[tuple[str, int], list[Step]], records: Iterable[Seen], rows: Mapping[int, int], restarts: int
) -> list[str]:
    """What is wrong with a topic: steps missing, out of order, invented, or replayed more often than there were restarts.

    A replay returns to an earlier step and continues from there without a gap. A snapshot's row must be a version
    that was committed, or the first.
    """
    found: list[str] = []
    at: dict[int, int] = {}
    covered: dict[int, int] = {}
    replays: dict[int, int] = {}
    last: dict[int, int | None] = {}
    places = {key: {step: place for place, step in enumerate(steps)} for key, steps in histories.items()}
    for record in records:
        key = record.key
        mine = places.get((table, key), {})
        last[key] = None if record.op in ("tombstone", "d") else record.version
        if record.op == "tombstone":
            continue
        if record.op == "r":
            if record.version != 1 and not {("c", record.version), ("u", record.version)} & mine.keys():
                found.append(f"{table} {key}: the snapshot read version {record.version}, which was never committed")
            continue
        place = mine.get((record.op, record.version))
        if place is None:
            found.append(f"{table} {key}: {record.op} of version {record.version} was never committed")
            continue
        before = at.get(key, -1)
        if place > before + 1:
            found.append(f"{table} {key}: {record.op} of version {record.version} came, steps {before + 1} to {place - 1} did not")
        elif place <= before:
            replays[key] = replays.get(key, 0) + 1
        at[key] = place
        covered[key] = max(covered.get(key, -1), place)
    for (of, number), steps in histories.items():
        if of == table and covered.get(number, -1) != len(steps) - 1:
            found.append(f"{table} {number}: {len(steps) - 1 - covered.get(number, -1)} last steps are missing")
    found += [f"{table} {key}: replayed {count} times in {restarts} restarts" for key, count in replays.items() if count > restarts]
    ends = {key: version for key, version in last.items() if version is not None}
    if ends != rows:
        different = sorted(number for number in ends.keys() | rows.keys() if ends.get(number) != rows.get(number))
        found += [f"{table} {number}: the last event says {ends.get(number)}, the table {rows.get(number)}" for number in different]
    return found
