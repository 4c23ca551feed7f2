"""Measures a running mirror of many tables: the first batch of a process, and small batches after it.

Each table is like ``bench.orders``. A change of *all tables* is one transaction that inserts, updates and deletes a row of each. The
measured seconds are those from its commit to the mirror's line about its last record.
"""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql

from workers.lab.bench import orders
from workers.lab.bench.failure import BenchError
from workers.lab.bench.process_tree import ProcessTree
from workers.lab.bench.race import CONNECTOR, Plan, connector_config
from workers.lab.bench.servers import Servers
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until

SECONDS: Final = 1800.0
ROWS: Final = 100
"""The rows of each table at the start, unless told otherwise."""
CHANGES: Final = 3
"""The records that a change of all tables makes of each table."""
PAUSE: Final = 0.02
SINKS: Final = ("delta", "iceberg", "postgres")
"""The formats of the mirror's tables that can be measured."""
_LINE: Final = re.compile(r"^batch \d+: ([\d,]+) records of (\d+) tables in ([\d.]+) s")


@dataclass(frozen=True, slots=True)
class Batch:
    """A line of the mirror about a batch."""

    records: int
    tables: int
    seconds: float


def batches_of(log: str) -> list[Batch]:
    """The batches that a mirror's output names. Pure."""
    found = (_LINE.match(line) for line in log.splitlines())
    return [Batch(int(line[1].replace(",", "")), int(line[2]), float(line[3])) for line in found if line is not None]


def name_of(number: int) -> str:
    """The name of a table in the schema ``bench``."""
    return f"t{number:03}"


def measure(servers: Servers, run: str, tables: int, rounds: int, folder: Path, sink: str = "delta", rows: int = ROWS) -> dict[str, object]:
    """The figures of a mirror of ``tables`` tables in ``sink``, one of :data:`SINKS`. Each table begins with so many ``rows``.

    After the first batches all tables change ``rounds`` times. Raises BenchError when the mirror ends.
    """
    dsn = orders.create_database(servers.dsn, run)
    with psycopg.connect(dsn) as connection:
        for number in range(tables):
            name = sql.Identifier("bench", name_of(number))
            connection.execute(sql.SQL("CREATE TABLE {} (LIKE bench.orders INCLUDING ALL)").format(name))
            connection.execute(sql.SQL(orders.INSERT.replace("bench.orders", "{}")).format(name), (1, rows))
    settings = {"table.include.list": r"bench\.t\d+", "tombstones.on.delete": "false"}
    servers.rest.create(run, connector_config(Plan(run, rows, 1, 1, 1), dsn) | {"connector.class": CONNECTOR} | settings)
    orders.await_slot(dsn, run, SECONDS)
    with target(servers, run, folder, sink) as lines, running_mirror(servers.bootstrap, run, folder, lines) as mirror:
        tree, begun = ProcessTree(mirror.pid), time.monotonic()
        expected = tables * rows
        first = _until(mirror, expected, begun)
        figures: dict[str, object] = {"sink": sink, "tables": tables, "rows": rows, "first_s": first, "first_cpu_s": round(tree.cpu(), 1)}
        warm = []
        for number in range(rounds):
            before, cpu = len(batches_of(log_of(mirror))), tree.cpu()
            begun = _change(dsn, tables, rows, number)
            expected += tables * CHANGES
            seconds = _until(mirror, expected, begun)
            warm.append((seconds, round(tree.cpu() - cpu, 2), [one.seconds for one in batches_of(log_of(mirror))[before:]]))
        figures |= {"s": [one[0] for one in warm], "cpu_s": [one[1] for one in warm], "batches_s": [one[2] for one in warm]}
    servers.rest.delete(run)
    orders.drop_database(servers.dsn, run)
    return figures


def _change(dsn: str, tables: int, rows: int, number: int) -> float:
    """Insert, update and delete a row of each table in one transaction. Returns the time of the commit."""
    with psycopg.connect(dsn) as connection, connection.pipeline():
        for table in range(tables):
            name = sql.Identifier("bench", name_of(table))
            new = rows + 1 + number
            connection.execute(sql.SQL(orders.INSERT.replace("bench.orders", "{}")).format(name), (new, new))
            connection.execute(sql.SQL("UPDATE {} SET state = 'done' WHERE id = %s").format(name), (rows - number,))
            connection.execute(sql.SQL("DELETE FROM {} WHERE id = %s").format(name), (number + 1,))
    return time.monotonic()


@contextmanager
def target(servers: Servers, run: str, folder: Path, sink: str) -> Iterator[list[str]]:
    """The configuration's lines for the mirror's tables: below ``folder``, or in an own database on the server of the source."""
    if sink != "postgres":
        yield [f'format = "{sink}"', f'path = "{folder}/tables"']
        return
    name = f"{run}_mirror"
    yield ['format = "postgres"', f'dsn = "{orders.create_database(servers.dsn, name, "SELECT")}"']
    orders.drop_database(servers.dsn, name)


@contextmanager
def running_mirror(bootstrap: str, run: str, folder: Path, sink: Sequence[str]) -> Iterator[Process]:
    """``understudy-spark mirror`` of all tables into the ``sink`` that these lines describe, with two threads."""
    config = folder / "mirror.toml"
    lines = [
        'name = "bench"',
        f'bootstrap = "{bootstrap}"',
        f'prefix = "{run}"',
        f'checkpoint = "{folder}/checkpoint"',
        'master = "local[2]"',
        "[sink]",
        *sink,
        "[spark]",
        f'"spark.sql.warehouse.dir" = "{folder}/warehouse"',
    ]
    config.write_text("\n".join(lines) + "\n", encoding="utf-8")
    process = Process([sys.executable, "-P", "-m", "workers.bulk", "mirror", "--config", config], folder / "log")
    try:
        yield process
    finally:
        process.stop(signal.SIGTERM, seconds=60.0)


def _until(mirror: Process, expected: int, begun: float) -> float:
    """Seconds from ``begun`` until the mirror has reported ``expected`` records."""

    def done() -> bool:
        if not mirror.running:
            raise BenchError(f"The mirror ended. The end of its output: {mirror.last_words()}")
        return sum(batch.records for batch in batches_of(log_of(mirror))) >= expected

    wait_until(done, "the mirror", SECONDS, pause=PAUSE)
    return round(time.monotonic() - begun, 2)


def log_of(mirror: Process) -> str:
    """The mirror's output so far."""
    return mirror.log.read_text(encoding="utf-8", errors="replace")
