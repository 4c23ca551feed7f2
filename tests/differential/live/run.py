"""One run: a database, and a connector of each worker that reads its changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final

import psycopg
from confluent_kafka.admin import AdminClient
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from .comparison import Rules, compare
from .configuration import hides_marks
from .kinds import EXTENSIONS, KINDS, SETUP
from .literals import quote
from .side import FAILED, MISSING, Side
from .world import World

QUIET: Final = 1.8
"""Seconds without a record after which all was read, where no mark can show it."""
LONGEST: Final = 25.0


@dataclass(frozen=True, slots=True)
class Place:
    """The servers of a run."""

    url: str
    own_url: str
    dsn: str
    bootstrap: str
    version: str = ""
    """Debezium's version."""
    signals: Path | None = None
    """Where files of signals may lie."""

    @property
    def later(self) -> bool:
        """Whether it is a version from 3.7 on."""
        return self.version >= "3.7"

    def connect(self, database: str) -> psycopg.Connection[Any]:
        return psycopg.connect(make_conninfo(self.dsn, dbname=database), autocommit=True, prepare_threshold=None)


@dataclass(slots=True)
class Outcome:
    """``status``: ok, DIFFERENT, or what kept the run from its end on both sides."""

    status: str
    lines: list[str] = field(default_factory=list)


class LoggedDatabase:
    """Executes statements and keeps them, so that a difference can be reproduced."""

    def __init__(self, connection: psycopg.Connection[Any], log: list[str]) -> None:
        self.connection = connection
        self.log = log
        self._within = False
        connection.execute("SET lock_timeout = '2s'")

    def execute(self, statement: str) -> bool:
        """COPY has its rows after the semicolon."""
        try:
            if self._within:
                self.connection.execute("SAVEPOINT statement")
            if statement.startswith("COPY "):
                command, rows = statement.split(";", 1)
                with self.connection.cursor() as cursor, cursor.copy(command.encode()) as copy:
                    copy.write(rows)
            else:
                self.connection.execute(statement.encode())
        except psycopg.Error as error:
            self.log.append(f"-- FAILED {statement[:400]!r}: {str(error).splitlines()[0]}")
            ending = statement.startswith(("COMMIT", "PREPARE", "ROLLBACK"))
            if self._within:
                self.connection.execute("ROLLBACK" if ending else "ROLLBACK TO SAVEPOINT statement")
                self._within = not ending
            return False
        self.log.append(statement + ";")
        if statement == "BEGIN":
            self._within = True
        elif statement in {"COMMIT", "ROLLBACK"} or statement.startswith("PREPARE TRANSACTION"):
            self._within = False
        return True


class Run:
    """Its names come from the seed. What it makes, it removes in the end."""

    def __init__(self, place: Place, seed: int, label: str = "") -> None:
        self.place = place
        self.random = Random(f"{label}{seed}")
        self.database = f"fuzz_{label}{seed}"
        # Workers keep the offsets of a connector that was deleted, so a name serves once. Both names have the same length.
        name = f"{label}{seed}x{int(time.time()) % 2**24:x}"
        self.real = Side(place.url, f"fuzzr{name}", place.bootstrap)
        self.own = Side(place.own_url, f"fuzzo{name}", place.bootstrap)
        self.config: dict[str, str] = {}
        self.rules = Rules()
        self.quiet = False
        self.statements: list[str] = []
        """What was executed, and what failed."""
        self._marks = 0

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.real, self.own

    @contextmanager
    def opened(self) -> Iterator[World]:
        """The database with the types and tables that every run has."""
        with self.place.connect("postgres") as server:
            name = sql.Identifier(self.database)
            server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
            server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(name))
            found = server.execute("SELECT name FROM pg_available_extensions").fetchall()
            prepares = server.execute("SHOW max_prepared_transactions").fetchone() != ("0",)
            version = server.info.server_version // 10000
        missing = EXTENSIONS.keys() - {name for (name,) in found}
        self.log = database = LoggedDatabase(self.place.connect(self.database), self.statements)
        try:
            for extension in sorted(EXTENSIONS.keys() - missing):
                database.connection.execute(f"CREATE EXTENSION {extension}".encode())
            if "hstore" not in missing:
                database.connection.execute("CREATE DOMAIN dhs AS hstore")
            database.connection.execute(SETUP.encode())
            left_out = {kind for extension in missing for kind in EXTENSIONS[extension]}
            kinds = {name: kind for name, kind in KINDS.items() if name not in left_out}
            yield World(self.random, database, kinds, version=version, prepares=prepares)
        finally:
            self._clean()

    def configuration(self, side: Side) -> dict[str, str]:
        """The properties of one side's connector."""
        server = conninfo_to_dict(self.place.dsn)
        base = {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "tasks.max": "1",
            "database.hostname": str(server.get("host", "127.0.0.1")),
            "database.port": str(server.get("port", 5432)),
            "database.user": str(server.get("user", "postgres")),
            "database.password": str(server.get("password", "")) or "none",
            "database.dbname": self.database,
            "topic.prefix": side.name,
            "plugin.name": "pgoutput",
            "slot.name": side.name,
            "publication.name": side.name,
            "poll.interval.ms": "50",
        }
        return {name: value.replace("PREFIX", side.name) for name, value in (base | self.config).items()}

    def create(self, *, streams: bool = True) -> Outcome | None:
        """Create both connectors and wait until they stream, unless their mode is another; None when they do."""
        self.statements.append(f"-- CONFIGURATION {self.config}")
        self.quiet = hides_marks(self.config)
        answers = [side.create(self.configuration(side)) for side in self.sides]
        if any(code != 201 for code, _ in answers):
            lines = [str(answer)[:600] for answer in answers]
            return Outcome("refused by both" if all(code != 201 for code, _ in answers) else "DIFFERENT", lines)
        if streams:
            self.wait_streaming()
        return self.failure()

    def walsenders(self) -> set[int]:
        """The server's processes that stream to the connectors."""
        # A slot may be active before, while it is created and while a snapshot is read.
        where = "database = current_database() AND state IN ('catchup', 'streaming')"
        slots = "pg_replication_slots JOIN pg_stat_replication ON pid = active_pid"
        rows = self.log.connection.execute(f"SELECT pid FROM {slots} WHERE {where}".encode()).fetchall()
        return {pid for (pid,) in rows}

    def wait_streaming(self, former: Collection[int] = (), count: int = 2) -> bool:
        """Wait until ``count`` connectors stream, by other processes than the ``former``."""

        def streaming() -> bool:
            pids = self.walsenders()
            return (len(pids) == count and not pids & set(former)) or any(side.failed() for side in self.sides)

        return self.until(streaming, 2 * LONGEST)

    def failure(self) -> Outcome | None:
        """What failed, if something did. If one has failed, the other gets time to."""
        states = [side.failed() for side in self.sides]
        if not any(states):
            return None
        if not all(states):
            self.until(lambda: all(side.failed() for side in self.sides), LONGEST)
            states = [side.failed() for side in self.sides]
        lines = [f"real: {_causes(self.real.trace)}", f"ours: {self.own.trace[:1500]}"]
        return Outcome("failed on both", lines) if all(states) else Outcome("DIFFERENT", [f"failed: real, ours = {states}", *lines])

    def mark(self) -> bool:
        """Wait until all earlier changes were read by both."""
        self._marks += 1
        self.log.execute(f"INSERT INTO public.zz_end VALUES ({self._marks}, 'SYNCMARK{self._marks}')")
        if self.quiet:
            return self.silence()
        text = f'SYNCMARK{self._marks}"'.encode()
        waiting = set(self.sides)
        checked = time.monotonic()
        end = checked + LONGEST
        while waiting and time.monotonic() < end:
            for side in tuple(waiting):
                side.poll()
                if any(text in (record.value or b"") for record in side.records[-400:]):
                    waiting.discard(side)
            if time.monotonic() - checked > 2:
                checked = time.monotonic()
                if any(side.failed() for side in self.sides):
                    return False
        return not waiting

    def silence(self, quiet: float = QUIET, longest: float = LONGEST) -> bool:
        """Wait until nothing came for a while; False if a connector has failed."""
        end = time.monotonic() + longest
        last = time.monotonic()
        while time.monotonic() < end and time.monotonic() - last < quiet:
            if sum([side.poll() for side in self.sides]):
                last = time.monotonic()
        return not any(side.failed() for side in self.sides)

    def until(self, holds: Callable[[], bool], longest: float = LONGEST) -> bool:
        end = time.monotonic() + longest
        while not holds():
            if time.monotonic() > end:
                return False
            for side in self.sides:
                side.poll()
        return True

    def reach(self, state: str) -> None:
        """Wait until both connectors are in the state, or have failed. Raises TimeoutError."""
        ends = {state} if state == MISSING else {state, FAILED}
        if not self.until(lambda: all(side.state() in ends for side in self.sides)):
            raise TimeoutError(f"{state} was not reached: real {self.real.state()}, ours {self.own.state()}")

    def call(self, method: str, path: str, body: object = None) -> list[tuple[int, Any]]:
        return [side.call(method, path, body) for side in self.sides]

    def compared(self, *, complete: bool = True) -> Outcome:
        """Compare all that came. ``complete``: the last mark was read by both."""
        self.silence(0.6, 3)
        failed = self.failure()
        # What was read and not yet sent is lost when a task fails.
        rules = replace(self.rules, complete=not (failed and failed.status == "failed on both"))
        lines = compare(self.real.records, self.own.records, (self.real.name, self.own.name), rules)
        if failed and failed.status == "DIFFERENT":
            return Outcome("DIFFERENT", failed.lines + lines)
        if lines:
            return Outcome(f"DIFFERENT{', ' + failed.status if failed else ''}", (failed.lines if failed else []) + lines)
        return failed or Outcome("ok" if complete else "ok, without the last mark")

    def _clean(self) -> None:
        for side in self.sides:
            for _ in range(6):
                if side.call("DELETE", "")[0] in {204, 404}:
                    break
                time.sleep(0.5)
        connection = self.log.connection
        if connection.info.transaction_status:
            connection.execute("ROLLBACK")
        for (name,) in connection.execute("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()").fetchall():
            connection.execute(f"ROLLBACK PREPARED {quote(name)}".encode())
        query = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database()"
        for _ in range(40):
            try:
                connection.execute(query)
                break
            except psycopg.Error:
                time.sleep(0.25)
        connection.close()
        with self.place.connect("postgres") as server:
            server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(self.database)))
        remove_topics(self.place.bootstrap, lambda topic: any(side.name in topic for side in self.sides))
        for side in self.sides:
            side.close()


def remove_topics(bootstrap: str, chosen: Callable[[str], bool]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [topic for topic in admin.list_topics(timeout=10).topics if chosen(topic)]
    if topics:
        for future in admin.delete_topics(topics).values():
            future.exception()


def _causes(trace: str) -> str:
    lines = [line for line in trace.splitlines() if line.startswith("Caused by")] or trace.splitlines()[:1]
    return "; ".join(lines)[:1500]


def properties(config: Mapping[str, str]) -> str:
    """As a line to read."""
    return " ".join(f"{name}={value!r}" for name, value in sorted(config.items()))
