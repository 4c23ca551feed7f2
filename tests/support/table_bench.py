"""Measures the CPU time of a worker's process for changes of many tables, without scrapes of its metrics and with one each second.

    python -m tests.support.table_bench [--tables 1000] [--rows 200] [--rounds 3]

It starts PostgreSQL, Kafka and a worker. In each round each table gets ``--rows`` rows in transactions of 50, and the worker's CPU time is
taken until everything is confirmed to the slot. Rounds with and without scrapes take turns. Other programs on the
machine change the CPU time by some percent, so look at several rounds.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
import urllib.request
import uuid

import psycopg

from workers.lab.bench.servers import Servers, own_servers, own_worker
from workers.quickstart.embedded.wait import wait_until

_NAME = "tables"
_SECONDS = 300.0


def _config(dsn: str) -> dict[str, str]:
    info = psycopg.conninfo.conninfo_to_dict(dsn)
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput",
        "topic.prefix": _NAME,
        "slot.name": _NAME,
        "snapshot.mode": "no_data",
        "database.hostname": str(info["host"]),
        "database.port": str(info["port"]),
        "database.user": str(info["user"]),
        "database.password": str(info.get("password") or "none"),
        "database.dbname": str(info["dbname"]),
    }


def _write(connection: psycopg.Connection, tables: int, rows: int) -> None:
    for begin in range(0, rows, 50):
        count = min(50, rows - begin)
        for number in range(tables):
            # The statement is a transaction of its own.
            connection.execute(f"insert into t{number} (v) select 'some text ' || n from generate_series(1, {count}) n".encode())


def _confirmed(connection: psycopg.Connection, lsn: str) -> bool:
    row = connection.execute(
        "select coalesce((select confirmed_flush_lsn >= %s::pg_lsn from pg_replication_slots where slot_name = %s), false)", (lsn, _NAME)
    ).fetchone()
    return row is not None and bool(row[0])


def _await_all(connection: psycopg.Connection) -> None:
    row = connection.execute("select pg_current_wal_lsn()::text").fetchone()
    assert row is not None
    # Something after the last change, so that the position is confirmed soon.
    connection.execute("select pg_logical_emit_message(true, 'bench', '')")
    wait_until(lambda: _confirmed(connection, row[0]) or None, "the worker to confirm all changes", _SECONDS, pause=0.02)


def _scrape(url: str, end: threading.Event, sizes: list[int]) -> None:
    while not end.wait(1.0):
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            sizes.append(len(answer.read().splitlines()))


def _measure(servers: Servers, connection: psycopg.Connection, tables: int, rows: int, *, scraped: bool) -> str:
    assert servers.tree is not None, "the CPU time is read from /proc"
    end, sizes = threading.Event(), list[int]()
    scraping = threading.Thread(target=_scrape, args=(servers.rest.url, end, sizes))
    cpu, began = servers.tree.cpu(), time.monotonic()
    if scraped:
        scraping.start()
    _write(connection, tables, rows)
    _await_all(connection)
    spent, seconds = servers.tree.cpu() - cpu, time.monotonic() - began
    end.set()
    if scraped:
        scraping.join()
    shown = f", {len(sizes)} scrapes of {max(sizes, default=0)} lines" if scraped else ""
    return (
        f"{tables * rows} events of {tables} tables: {spent:.2f} CPU s, {spent / (tables * rows) * 1e6:.2f} µs each, {seconds:.1f} s{shown}"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    with (
        own_servers() as (postgres, kafka),
        own_worker(postgres.dsn, kafka.bootstrap, f"tables-{uuid.uuid4().hex[:8]}") as servers,
        psycopg.connect(postgres.dsn, autocommit=True) as connection,
    ):
        for number in range(chosen.tables):
            connection.execute(f"create table t{number} (id bigserial primary key, v text)".encode())
        servers.rest.create(_NAME, _config(postgres.dsn))
        wait_until(lambda: _confirmed(connection, "0/1") or None, "the slot", _SECONDS)
        # The topics are made, and each table's functions are compiled.
        _write(connection, chosen.tables, 1)
        _await_all(connection)
        for each in range(2 * chosen.rounds):
            sys.stdout.write(_measure(servers, connection, chosen.tables, chosen.rows, scraped=each % 2 == 1) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
