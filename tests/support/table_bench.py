"""Measures what scrapes of its metrics cost a worker with many tables that is fully busy, and one that is idle.

    python -m tests.support.table_bench [--tables 1000] [--rows 1000] [--rounds 3] [--idle 30]

It starts PostgreSQL, Kafka and a worker. In each round the server writes ``--rows`` rows for each table at once, in transactions of 50, and
the worker's CPU time is taken until everything is confirmed to the slot. A first scrape, which evaluates the rules, comes before. Rounds
without scrapes and with one each second take turns. Other programs on the machine change the CPU time of whole rounds by more than the
scrapes do. So the worker's own count of the CPU time in which it answered them is shown too, for each scrape: 10 ms are 1 % of a core with
one scrape each second. At last the idle worker is looked at for ``--idle`` seconds without scrapes and with one each second: what it uses
more is a scrape with everything, from HTTP to the queries about the slot.
"""

from __future__ import annotations

import argparse
import re
import sys
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Final

import psycopg

from workers.lab.bench.servers import Servers, own_servers, own_worker
from workers.quickstart.embedded.wait import wait_until

_NAME = "tables"
_SECONDS = 300.0
_TRANSACTION: Final = 50
_COUNT: Final = re.compile(rb"^understudy_scrape_cpu_seconds_total\{\} (\S+)$", re.MULTILINE)


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
    """Write so many rows for each table, 50 in a transaction, as fast as the server can."""
    connection.execute(
        f"""do $$ begin
            for part in 1 .. {-(-rows // _TRANSACTION)} loop
                for number in 0 .. {tables - 1} loop
                    execute format('insert into t%s (v) select %L || n from generate_series(1, {min(rows, _TRANSACTION)}) n',
                                   number, 'some text ');
                    commit;
                end loop;
            end loop;
        end $$""".encode()
    )


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


@dataclass(slots=True)
class _Scrapes:
    """Scrapes of a worker, one each second, and what they cost by its own count."""

    url: str
    count: int = 0
    lines: int = 0
    cpu_s: float = 0.0
    _end: threading.Event = field(default_factory=threading.Event)

    def once(self) -> float:
        """Scrape. Returns the CPU seconds of all scrapes before, and of a part of this one."""
        with urllib.request.urlopen(f"{self.url}/metrics") as answer:
            body = answer.read()
        self.lines = body.count(b"\n")
        found = _COUNT.search(body)
        assert found is not None
        return float(found[1])

    @contextmanager
    def running(self) -> Iterator[None]:
        """Scrape each second within the block."""
        before = self.once()
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._end.set()
            thread.join()
            # The scrape before the block is counted, and this one is not.
            self.cpu_s = self.once() - before
            self.count += 1

    def _run(self) -> None:
        while not self._end.wait(1.0):
            self.once()
            self.count += 1


def _measure(servers: Servers, connection: psycopg.Connection, tables: int, rows: int, *, scraped: bool) -> str:
    assert servers.tree is not None, "the CPU time is read from /proc"
    scrapes = _Scrapes(servers.rest.url)
    cpu, began = servers.tree.cpu(), time.monotonic()
    with scrapes.running() if scraped else nullcontext():
        _write(connection, tables, rows)
        _await_all(connection)
    spent, seconds = servers.tree.cpu() - cpu, time.monotonic() - began
    text = f"{tables * rows} events of {tables} tables: {spent:.2f} CPU s, {spent / (tables * rows) * 1e6:.2f} µs each, {seconds:.1f} s"
    return text + (_shown(scrapes) if scraped else "")


def _shown(scrapes: _Scrapes) -> str:
    return f"; {scrapes.count} scrapes of {scrapes.lines} lines, each {scrapes.cpu_s / scrapes.count * 1000:.1f} ms of CPU"


def _measure_idle(servers: Servers, seconds: float) -> str:
    assert servers.tree is not None, "the CPU time is read from /proc"
    # Rates fall for a minute after the last event.
    time.sleep(65)
    cpu = servers.tree.cpu()
    time.sleep(seconds)
    quiet, scrapes = servers.tree.cpu() - cpu, _Scrapes(servers.rest.url)
    scrapes.once()
    cpu = servers.tree.cpu()
    with scrapes.running():
        time.sleep(seconds)
    more = servers.tree.cpu() - cpu - quiet
    # Of the scrapes at both ends of the block one is not in its count.
    each = more / (scrapes.count + 1)
    return f"idle for {seconds:.0f} s: {quiet:.2f} CPU s; with scrapes {each * 1000:.1f} ms more for each{_shown(scrapes)}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle", type=float, default=30.0)
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
        scrapes = _Scrapes(servers.rest.url)
        scrapes.once()
        first = scrapes.once()
        sys.stdout.write(f"first scrape of {scrapes.lines} lines: {first * 1000:.0f} ms of CPU\n")
        for each in range(2 * chosen.rounds):
            sys.stdout.write(_measure(servers, connection, chosen.tables, chosen.rows, scraped=each % 2 == 1) + "\n")
            sys.stdout.flush()
        if chosen.idle:
            sys.stdout.write(_measure_idle(servers, chosen.idle) + "\n")


if __name__ == "__main__":
    main()
