"""Measures how far a running mirror is behind while pgbench writes at a steady rate, or while such a load is replayed.

The lag at a moment is the age of the newest change that the tables have, but not more than the time since the load began: before that
they have all changes. It is largest immediately before a batch ends. Therefore each line of the mirror about a batch gives one lag: the
time from the newest record of the batch before it to this line.
"""

from __future__ import annotations

import asyncio
import re
import statistics
import subprocess
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import psycopg

from workers.lab.bench import orders
from workers.lab.bench.failure import BenchError
from workers.lab.bench.mirror.many_tables import log_of, running_mirror, target
from workers.lab.bench.mirror.replay import Replay, exist, read_topics
from workers.lab.bench.process_tree import ProcessTree
from workers.lab.bench.race import CONNECTOR, Plan, connector_config
from workers.lab.bench.servers import Servers
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until

SECONDS: Final = 1800.0
SCALE: Final = 2
"""pgbench's scale factor: 100,000 accounts each."""
TABLES: Final = ("accounts", "tellers", "branches", "history")
EVENTS: Final = 4
"""The events of pgbench's transaction: an update of each table but the last, and an insert into it (PostgreSQL manual, pgbench)."""
LOOK: Final = 0.05
"""Seconds between two looks at the mirror's output."""
_LINE: Final = re.compile(r"^batch \d+: ([\d,]+) records .*newest record ([\d.]+) s old", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Applied:
    """A batch: when its line was seen (s), its records, and the age of its newest record then (s)."""

    at: float
    records: int
    age: float

    @property
    def newest(self) -> float:
        """When its newest record was written."""
        return self.at - self.age


def lags(batches: list[Applied], begun: float) -> list[float]:
    """The lag immediately before each batch but the first ended, in seconds, under a load that began at ``begun``. Pure."""
    return [round(batch.at - max(before.newest, begun), 2) for before, batch in pairwise(batches)]


class Watch:
    """Follows a mirror's output."""

    def __init__(self, mirror: Process) -> None:
        self._mirror = mirror
        self.batches: list[Applied] = []

    @property
    def records(self) -> int:
        """The records of all batches so far."""
        return sum(batch.records for batch in self.batches)

    def look(self) -> None:
        """Take in new lines. Raises BenchError when the mirror has ended."""
        if not self._mirror.running:
            raise BenchError(f"The mirror ended. The end of its output: {self._mirror.last_words()}")
        now, found = time.time(), _LINE.findall(log_of(self._mirror))
        for records, age in found[len(self.batches) :]:
            self.batches.append(Applied(now, int(records.replace(",", "")), float(age)))

    def until(self, records: int) -> None:
        """Wait for so many records."""
        limit = time.monotonic() + SECONDS
        while self.records < records:
            if time.monotonic() > limit:
                raise BenchError(f"The mirror has {self.records} of {records} records after {SECONDS:.0f} s.")
            self.look()
            time.sleep(LOOK)


@dataclass(frozen=True, slots=True)
class Load:
    """A load by ``program``, which is pgbench: so many ``seconds`` with ``rate`` events a second.

    ``linger`` is ``linger.ms`` of the connector that reads it.
    """

    program: Path
    seconds: int
    rate: int
    linger: int = 0

    def prepare(self, dsn: str) -> None:
        """Create and fill pgbench's tables."""
        command = [str(self.program), "--initialize", "--quiet", f"--scale={SCALE}", dsn]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - pgbench

    def write(self, dsn: str, transactions: int) -> None:
        """Write so many transactions, as fast as it can."""
        command = [str(self.program), "--no-vacuum", "--client=1", f"--transactions={transactions}", dsn]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - pgbench

    def start(self, dsn: str) -> subprocess.Popen[str]:
        """Start it."""
        command = [str(self.program), "--no-vacuum", "--client=4", f"--time={self.seconds}", f"--rate={max(1, self.rate // EVENTS)}", dsn]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # noqa: S603 - pgbench


def measure_lag(servers: Servers, run: str, load: Load, folder: Path, sink: str = "delta") -> dict[str, object]:
    """The figures of a mirror in ``sink`` under ``load``. Raises BenchError when the mirror or pgbench fails."""
    dsn = _create(servers, run, load)
    with psycopg.connect(dsn) as connection:
        rows = sum(_rows(connection, table) for table in TABLES)
        with target(servers, run, folder, sink) as lines, running_mirror(servers.bootstrap, run, folder, lines) as mirror:
            watch, tree = Watch(mirror), ProcessTree(mirror.pid)
            watch.until(rows)
            # A small batch first: the first one of a process plans the decoding.
            _run(replace(load, seconds=1, rate=EVENTS), dsn, watch)
            watch.until(rows + EVENTS * _rows(connection, "history"))
            figures = Figures(watch, tree)
            worker = 0.0 if servers.tree is None else servers.tree.cpu()
            before = _rows(connection, "history")
            _run(load, dsn, watch)
            read = 0.0 if servers.tree is None else servers.tree.cpu() - worker
            events = EVENTS * (_rows(connection, "history") - before)
            found = figures.of(events)
    servers.rest.delete(run)
    orders.drop_database(servers.dsn, run)
    return found | {"linger_ms": load.linger, "worker_cpu_us": round(read / events * 1e6, 1)}


def measure_replayed(servers: Servers, run: str, load: Load, folder: Path, sink: str = "delta") -> dict[str, object]:
    """The same figures while ``load`` is replayed: pgbench and the connector have written it before the mirror starts.

    This process holds the records meanwhile, 6 KB for each event.
    """
    dsn, each = _create(servers, run, load), load.rate // EVENTS
    with psycopg.connect(dsn) as connection:
        rows = {table: _rows(connection, table) for table in TABLES}
    # One transaction for a small batch, then those of the load.
    load.write(dsn, 1 + each * load.seconds)
    topic = f"{run}.public.pgbench_{{}}".format
    counts = {topic(table): count + 1 + each * load.seconds for table, count in rows.items()}
    wait_until(lambda: asyncio.run(exist(servers.bootstrap, counts)), "the topics", SECONDS)
    records = asyncio.run(read_topics(servers.bootstrap, counts))
    servers.rest.delete(run)
    orders.drop_database(servers.dsn, run)
    again = f"{run}_again"

    async def replayed(watch: Watch, tree: ProcessTree) -> dict[str, object]:
        name = f"{again}.public.pgbench_{{}}".format
        async with Replay(servers.bootstrap, records, lambda recorded: recorded.replace(run, again, 1)) as replay:
            await replay.write({name(table): count for table, count in rows.items()})
            await asyncio.to_thread(watch.until, sum(rows.values()))
            await replay.write({name(table): 1 for table in TABLES})
            await asyncio.to_thread(watch.until, sum(rows.values()) + EVENTS)
            ticks = replay.prepare(load.seconds, each)
            figures = Figures(watch, tree)
            await replay.steadily(ticks, watch.look)
            return await asyncio.to_thread(figures.of, EVENTS * each * load.seconds)

    with target(servers, again, folder, sink) as lines, running_mirror(servers.bootstrap, again, folder, lines) as mirror:
        return asyncio.run(replayed(Watch(mirror), ProcessTree(mirror.pid))) | {"replayed": True}


class Figures:
    """The figures of a mirror from now on."""

    def __init__(self, watch: Watch, tree: ProcessTree) -> None:
        self._watch, self._tree = watch, tree
        self._first, self._records, self._cpu, self._begun = len(watch.batches) - 1, watch.records, tree.cpu(), time.monotonic()
        self._since = time.time()

    def of(self, events: int) -> dict[str, object]:
        """Wait for the batches of ``events`` records, which have all been written now. Raises BenchError as :meth:`Watch.until`."""
        ended = time.monotonic()
        self._watch.until(self._records + events)
        found, drained = lags(self._watch.batches[self._first :], self._since), time.monotonic() - ended
        return {
            "events": events,
            "events_s": round(events / (ended - self._begun)),
            "batches": len(found),
            "lag_median_s": round(statistics.median(found), 2),
            "lag_max_s": max(found),
            "lags_s": found,
            "drained_s": round(drained, 2),
            "cpu_us": round((self._tree.cpu() - self._cpu) / events * 1e6, 1),
        }


def _create(servers: Servers, run: str, load: Load) -> str:
    """Create pgbench's database and its connector, which has read all rows when this returns. Returns the connection string."""
    dsn = orders.create_database(servers.dsn, run)
    load.prepare(dsn)
    settings = {"table.include.list": r"public\.pgbench_.*", "tombstones.on.delete": "false"}
    settings["producer.override.linger.ms"] = str(load.linger)
    servers.rest.create(run, connector_config(Plan(run, 1, 1, 1, 1), dsn) | {"connector.class": CONNECTOR} | settings)
    orders.await_slot(dsn, run, SECONDS)
    return dsn


def _rows(connection: psycopg.Connection, table: str) -> int:
    found = connection.execute(f"SELECT count(*) FROM pgbench_{table}".encode()).fetchone()
    connection.commit()
    return 0 if found is None else int(found[0])


def _run(load: Load, dsn: str, watch: Watch) -> None:
    """Run the load to its end, and follow the mirror's output meanwhile."""
    with load.start(dsn) as writer:
        try:
            while writer.poll() is None:
                watch.look()
                time.sleep(LOOK)
            said = writer.communicate()[0]
        except BaseException:
            writer.kill()
            raise
    if writer.returncode:
        raise BenchError(f"pgbench ended with {writer.returncode}: {said}")
