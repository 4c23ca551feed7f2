"""Measures a scrape of a worker with many tables: the time in all, and how long it keeps the event loop from other work at once.

    python -m tests.support.scrape_bench [--connectors 1] [--tables 10 1000] [--apart 1]

A herder in memory runs the connectors; their counters are filled in by hand. Neither PostgreSQL nor Kafka takes part. Prints CPU time, the
least of many scrapes, because other programs can only add to it. Between two scrapes ``--apart`` seconds pass on the clock of the figures.
Three states of the tables are measured: idle for more than a minute, idle for less (so that the rates still fall), and all with changes
between two scrapes.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from unittest import mock

from connector.delivery.progress import TableProgress
from connector.meters.task_meters import MeterSettings
from connector.runner.context import TaskContext
from tests.support.herder_bench import CLASS, Bench, worker
from workers.__main__ import _backtracking
from workers.telemetry.exposition import Exposition, load_rules
from workers.telemetry.own.text_family import OwnFamilies, TextFamily

_SCRAPES = 12
_OF_THIS_RUN = (b"process_", b"jmx_scrape_duration", b"understudy_event_loop", b"understudy_scrape_cpu")


def _fill(context: TaskContext, tables: int, now: float) -> None:
    meters = context.meters
    meters.settings = MeterSettings(context.connector)
    for number in range(tables):
        context.progress.tables.append(TableProgress(f"public.table_{number:03}", rows=100 + number, done=True))
    _change(context, tables, now)
    meters.stream.transactions, meters.stream.commits_ms = 10, 10_000
    meters.delays.sent(1, meters.stream)
    meters.delays.acknowledged(1, 1_012)


def _change(context: TaskContext, tables: int, now: float) -> None:
    """Count some events of each table, and a batch of their records."""
    for number in range(tables):
        counts = context.meters.stream.counts(f"public.table_{number:03}")
        counts.creates += 1_000 + number
        counts.updates += 2_000
        counts.deletes += 3
        context.meters.producer.packed(f"{context.connector}.public.table_{number:03}", 100 + number % 7, 50_000, 5_000 + number, now)


async def _filled(connectors: int, tables: int, bench: Bench) -> None:
    for number in range(connectors):
        name = f"connector-{number:03}"
        config = {"connector.class": CLASS, "topic.prefix": name, "name": name}
        await bench.herder.put_connector(name, config, allow_replace=False)
    await bench.settled()
    for context in bench.running.values():
        _fill(context, tables, bench.herder.meter.now())


async def _longest_turn(scrape: asyncio.Task[tuple[bytes, str]]) -> float:
    """The most CPU time between two turns of another task while ``scrape`` runs."""
    longest, last = 0.0, time.thread_time()
    while not scrape.done():
        await asyncio.sleep(0)
        now = time.thread_time()
        longest, last = max(longest, now - last), now
    return longest


class _Scraper:
    """Scrapes and takes the time. ``digest`` is that of all answers, without the figures of this process."""

    def __init__(self, exposition: Exposition) -> None:
        self._exposition = exposition
        self._digest = hashlib.sha256()
        self.lines = 0

    async def once(self) -> tuple[float, float]:
        """Return the seconds of CPU of a scrape, and those of its longest turn."""
        began = time.thread_time()
        scrape = asyncio.create_task(self._exposition.scrape(""))
        turn = await _longest_turn(scrape)
        seconds = time.thread_time() - began
        lines = scrape.result()[0].splitlines()
        self.lines = len(lines)
        for line in lines:
            if not line.startswith(_OF_THIS_RUN) and b"rebalance" not in line:
                self._digest.update(line)
        return seconds, turn

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()[:12]


async def _measure(connectors: int, tables: int, apart: float) -> None:
    passed = 0.0

    def clock() -> float:
        return 1_000.0 + passed

    with mock.patch("time.time_ns", return_value=1_700_000_000_000_000_000):
        async with worker() as bench:
            meter = bench.herder.meter
            with mock.patch.object(meter, "now", clock):
                await _filled(connectors, tables, bench)
                # As a worker does when it is ready.
                gc.collect()
                gc.freeze()
                figures, families = bench.herder.figures, OwnFamilies()

                def ours() -> Iterator[TextFamily]:
                    return families(figures.worker(), figures.connectors())

                def change() -> None:
                    for context in bench.running.values():
                        _change(context, tables, meter.now())

                scraper = _Scraper(Exposition(load_rules("debezium", _backtracking()), bench.herder.each_mbean, ours))
                first, turn = await scraper.once()
                sys.stdout.write(
                    f"{connectors} connectors with {tables} tables: {scraper.lines} lines, "
                    f"first scrape {first * 1000:.1f} ms (longest turn {turn * 1000:.1f})\n"
                )
                states: dict[str, Callable[[], None]] = {"idle for seconds": lambda: None, "all changed": change, "idle": lambda: None}
                for state, before in states.items():
                    if state == "idle":
                        passed += 100
                        await scraper.once()
                    found = []
                    for _ in range(_SCRAPES):
                        passed += apart
                        before()
                        found.append(await scraper.once())
                    whole, turns = min(seconds for seconds, _ in found), min(turn for _, turn in found)
                    sys.stdout.write(f"  {state}: {whole * 1000:.2f} ms (longest turn {turns * 1000:.2f})\n")
                sys.stdout.write(f"  digest of the answers {scraper.digest}\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--connectors", type=int, default=1)
    parser.add_argument("--tables", type=int, nargs="+", default=[10, 1000])
    parser.add_argument("--apart", type=float, default=1.0)
    chosen = parser.parse_args()
    for tables in chosen.tables:
        asyncio.run(_measure(chosen.connectors, tables, chosen.apart))


if __name__ == "__main__":
    main()
