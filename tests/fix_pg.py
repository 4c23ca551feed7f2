"""PostgreSQL for tests.

A test that asks for ``pg`` runs once for every server at hand: the wheel's and each that Debian's packages installed. The
marks ``pg(">= 14")`` and ``pg_has("postgis")`` narrow the choice. ``UNDERSTUDY_TEST_PG`` names one of ``wheel``, ``debian``
or ``all`` (the default), or is a DSN of a server to use instead (a superuser's, with wal_level=logical).
"""

from __future__ import annotations

import operator
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.debian_postgres import debian_programs
from tests.support.postgres_releases import RELEASES, release_programs, runs_here
from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.postgres import EmbeddedPostgres
from workers.quickstart.embedded.programs import Programs, wheel_programs
from workers.quickstart.embedded.wait import wait_until

CHOICE = os.environ.get("UNDERSTUDY_TEST_PG", "all")
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True, slots=True)
class Server:
    """A server for tests. ``programs`` is None for one that the tests did not start."""

    name: str
    major: int
    offers: frozenset[str]
    programs: Programs | None
    dsn: str = ""


class Sessions:
    """Keeps the main thread's last session open for its next statements.

    A look with a session of its own takes 4 ms of CPU time, nearly all of it the server's, and one with an open session 0.1 ms.
    """

    def __init__(self) -> None:
        self._dsn = ""
        self._open: psycopg.Connection | None = None

    @contextmanager
    def of(self, dsn: str) -> Iterator[psycopg.Connection]:
        """A session in the state of a new one. Other threads get one of their own, because a statement may wait for long."""
        if threading.current_thread() is not threading.main_thread():
            with psycopg.connect(dsn, autocommit=True) as connection:
                yield connection
            return
        if self._open is None or dsn != self._dsn or not _reset(self._open):
            self.close()
            # DISCARD ALL removes prepared statements, of which psycopg does not know.
            self._open, self._dsn = psycopg.connect(dsn, autocommit=True, prepare_threshold=None), dsn
        yield self._open

    def close(self) -> None:
        """Close the session."""
        if self._open is not None:
            self._open.close()
            self._open = None


def _reset(connection: psycopg.Connection) -> bool:
    """Whether the session is as a new one now. False: its server has gone, or ended it."""
    try:
        connection.execute("DISCARD ALL")
    except psycopg.OperationalError:
        return False
    return True


SESSIONS: Final = Sessions()


@dataclass(frozen=True, slots=True)
class Database:
    """A database of one test's own."""

    name: str
    host: str
    port: int
    user: str
    dsn: str

    def execute(self, *statements: str) -> list[tuple[object, ...]]:
        """Run each statement in its own transaction. Returns the rows of the last one."""
        rows: list[tuple[object, ...]] = []
        with SESSIONS.of(self.dsn) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def wait_for(self, condition: str, what: Callable[[], str], seconds: float) -> None:
        """Wait until the condition holds. All looks are on one connection: a new one costs the server more than the look.

        Raises TimeoutError that names ``what``.
        """
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            wait_until(lambda: connection.execute(f"SELECT {condition}".encode()).fetchone() == (True,), what, seconds)


@dataclass(slots=True)
class PgServer:
    """A running server. ``embedded`` is None if the tests did not start it."""

    host: str
    port: int
    user: str
    dsn: str
    major: int
    embedded: EmbeddedPostgres | None
    _databases: list[str] = field(default_factory=list)

    def database(self, name: str = "test") -> Database:
        """A fresh empty database whose name begins with ``name``; it goes with the server."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            taken = {row[0] for row in connection.execute("SELECT datname FROM pg_database")}
            fresh = next(candidate for n in range(len(taken) + 1) if (candidate := f"{name}_{n}") not in taken)
            # template0 copies nothing that an extension left in template1. As files it is copied for a third of the CPU time, and without
            # 4 MB of WAL, which each walsender of the server would read; servers before 15 do so always.
            strategy = " STRATEGY file_copy" if self.major >= 15 else ""
            connection.execute(f'CREATE DATABASE "{fresh}" TEMPLATE template0{strategy}'.encode())
        self._databases.append(fresh)
        return Database(fresh, self.host, self.port, self.user, make_conninfo(self.dsn, dbname=fresh))

    def drop_databases(self) -> None:
        """Remove what ``database`` made, with the slots in it: of a server that outlives the tests."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            for name in self._databases:
                slots = "FROM pg_replication_slots WHERE database = %s"
                connection.execute(f"SELECT pg_terminate_backend(active_pid) {slots} AND active".encode(), [name])
                connection.execute(f"SELECT pg_drop_replication_slot(slot_name) {slots} AND NOT active".encode(), [name])
                connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@cache
def servers() -> tuple[Server, ...]:
    """The servers at hand, none of them started."""
    if CHOICE not in {"all", "wheel", "debian"}:
        with psycopg.connect(CHOICE) as connection:
            offers = frozenset(str(row[0]) for row in connection.execute("SELECT name FROM pg_available_extensions"))
            return (Server("dsn", connection.info.server_version // 10000, offers, None, CHOICE),)
    found: list[tuple[str, Programs]] = []
    if CHOICE != "debian":
        found.append(("wheel", wheel_programs()))
    if CHOICE != "wheel":
        found += [("debian", programs) for programs in debian_programs()]
    if not found:
        raise EmbeddedError(f"UNDERSTUDY_TEST_PG is {CHOICE}, and no such server is installed")
    return tuple(Server(f"{kind}{p.major}", p.major, p.extensions | p.libraries, p) for kind, p in found)


def fits(server: Server, marks: list[pytest.Mark]) -> bool:
    """Whether the marks of a test allow this server."""
    for mark in marks:
        if mark.name == "pg_has" and not set(mark.args) <= server.offers:
            return False
        if mark.name == "pg":
            asked = re.fullmatch(r"\s*([=!<>]*)\s*(\d+)\s*", mark.args[0])
            if asked is None or asked[1] not in COMPARE:
                raise ValueError(f"The mark pg takes a comparison such as '>= 14', not {mark.args[0]!r}")
            if not COMPARE[asked[1]](server.major, int(asked[2])):
                return False
    return True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run of a test for each server that its marks allow, all but the first ``long``; or one skip that says what is missing."""
    if "pg" not in metafunc.fixturenames:
        return
    marks = [mark for mark in metafunc.definition.iter_markers() if mark.name in {"pg", "pg_has"}]
    fitting = [server for server in servers() if fits(server, marks)]
    if metafunc.definition.get_closest_marker("pg_once"):
        fitting = fitting[:1]
    if fitting:
        runs = [pytest.param(server, id=server.name, marks=[pytest.mark.long] if at else []) for at, server in enumerate(fitting)]
        metafunc.parametrize("pg", runs, indirect=True, scope="session")
        return
    wanted = ", ".join(f"{mark.name}({', '.join(mark.args)})" for mark in marks)
    missing = pytest.param(None, id="missing", marks=pytest.mark.skip(reason=f"no PostgreSQL here fits {wanted}"))
    metafunc.parametrize("pg", [missing], indirect=True, scope="session")


@pytest.fixture(scope="session", autouse=True)
def _last_session() -> Iterator[None]:
    """The session that is still open is closed."""
    yield
    SESSIONS.close()


@pytest.fixture(scope="session")
def pg(request: pytest.FixtureRequest) -> Iterator[PgServer]:
    """A running PostgreSQL with logical replication."""
    server: Server = request.param
    if server.programs is None:
        parts = conninfo_to_dict(server.dsn)
        host, port, user = str(parts.get("host", "127.0.0.1")), int(str(parts.get("port", 5432))), str(parts.get("user", "postgres"))
        running = PgServer(host, port, user, server.dsn, server.major, None)
        yield running
        running.drop_databases()
        return
    with EmbeddedPostgres(server.programs) as embedded:
        yield PgServer(embedded.host, embedded.port, embedded.user, embedded.dsn, server.major, embedded)


@pytest.fixture(scope="session", params=sorted(RELEASES))
def pg_release(request: pytest.FixtureRequest) -> Iterator[PgServer]:
    """A running PostgreSQL of each major version that is supported, one after the other, fetched when it is not in the cache."""
    major: int = request.param
    if not runs_here():
        pytest.skip("the releases of PostgreSQL are pinned for Linux with glibc on x86-64 only")
    with EmbeddedPostgres(release_programs(major)) as embedded:
        yield PgServer(embedded.host, embedded.port, embedded.user, embedded.dsn, major, embedded)
