"""The measured table: ten columns of usual types, in a database that is created for the run and dropped afterwards."""

from __future__ import annotations

from typing import Final

import psycopg
from psycopg import sql

from workers.quickstart.embedded.wait import wait_until

TABLE: Final = "bench.orders"
SMALL: Final = 100
"""The rows of a small transaction."""
FILL: Final = 50_000
"""The rows of one statement while the table is filled. It takes a few seconds at most, so that Ctrl-C has an effect."""
SLOT_SECONDS: Final = 60.0
"""How long a deleted connector may hold its slot. It is Kafka Connect's longest time for the end of a task."""
CREATE: Final = """
CREATE SCHEMA bench;
CREATE TABLE bench.orders (
    id bigint PRIMARY KEY,
    customer_no integer NOT NULL,
    state text NOT NULL,
    total numeric(12, 2) NOT NULL,
    remark varchar(200),
    placed_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamp,
    billed boolean DEFAULT true,
    pieces smallint,
    weight double precision
)"""
INSERT: Final = """
INSERT INTO bench.orders
SELECT i, mod(i, 10000), (ARRAY['open', 'paid', 'sent', 'back'])[1 + mod(i, 4)], mod(i, 100000) / 100.0, 'remark on order ' || i,
    now(), now(), mod(i, 2) = 0, mod(i, 100), i * 1.5
FROM generate_series(%s::bigint, %s::bigint) AS i"""
UPDATE: Final = "UPDATE bench.orders SET state = 'done', pieces = pieces + 1 WHERE id BETWEEN 1 AND %s"


def create_database(dsn: str, name: str, create: str = CREATE) -> str:
    """Create the database ``name`` with the empty table of ``create`` on the server of ``dsn``. Returns its connection string."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    made = psycopg.conninfo.make_conninfo(dsn, dbname=name)
    with psycopg.connect(made) as connection:
        connection.execute(create.encode())
    return made


def drop_database(dsn: str, name: str) -> None:
    """Drop the database's slots when no process reads them, then the database with its publication and remaining connections.

    Raises TimeoutError when a slot stays in use: the connector outlives its DELETE.
    """
    with psycopg.connect(dsn, autocommit=True) as connection:

        def unread() -> bool:
            slots = connection.execute("SELECT slot_name, active FROM pg_replication_slots WHERE database = %s", (name,)).fetchall()
            for slot, active in slots:
                if not active:
                    connection.execute("SELECT pg_drop_replication_slot(%s)", (slot,))
            return not any(active for _, active in slots)

        wait_until(unread, f"the connector to leave its slot in the database {name}", SLOT_SECONDS, pause=0.2)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def server_version(dsn: str) -> str:
    """The server's version, without the builder's remarks."""
    with psycopg.connect(dsn) as connection:
        version = connection.info.parameter_status("server_version") or "unknown"
    return version.split()[0]


def insert(dsn: str, first: int, count: int, at_once: int, statement: str = INSERT) -> None:
    """Insert ``count`` rows with ``statement`` from the id ``first`` on, in transactions of ``at_once`` rows."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for start in range(first, first + count, at_once):
            connection.execute(statement.encode(), (start, min(start + at_once, first + count) - 1))


def update_first(dsn: str, count: int) -> None:
    """Update the rows with the ids from 1 to ``count`` in one transaction."""
    with psycopg.connect(dsn) as connection:
        changed = connection.execute(UPDATE.encode(), (count,)).rowcount
        if changed != count:
            raise ValueError(f"{count} rows were to be updated, {changed} are there")


def await_slot(dsn: str, name: str, seconds: float) -> None:
    """Wait until the slot ``name`` has confirmed all that is committed now. Other slots of the server do not count.

    Raises TimeoutError after ``seconds``.
    """
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute("SELECT pg_current_wal_lsn()").fetchone()

        def confirmed() -> bool:
            found = connection.execute(
                "SELECT confirmed_flush_lsn >= %s FROM pg_replication_slots WHERE slot_name = %s", (*(row or ()), name)
            ).fetchone()
            return bool(found and found[0])

        wait_until(confirmed, f"the slot {name} to confirm what is committed", seconds, pause=0.2)
