"""Measures a scrape of a worker with many connectors: the time in all, and how long it keeps the event loop from other work at once.

    python -m tests.support.scrape_bench [--connectors 200] [--tables 20]

A herder in memory runs the connectors; their counters are filled in by hand. Neither PostgreSQL nor Kafka takes part. Prints CPU time, the
least of many scrapes, because other programs can only add to it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import time
from collections.abc import Iterator

from connector.delivery.progress import TableProgress
from connector.meters.task_meters import MeterSettings
from connector.runner.context import TaskContext
from tests.support.herder_bench import CLASS, Bench, worker
from workers.__main__ import _backtracking
from workers.telemetry.exposition import Exposition, load_rules
from workers.telemetry.own.text_family import TextFamily, own_families

_SCRAPES = 12


def _fill(context: TaskContext, tables: int) -> None:
    meters = context.meters
    meters.settings = MeterSettings(context.connector)
    for number in range(tables):
        table, topic = f"public.table_{number:03}", f"{context.connector}.public.table_{number:03}"
        counts = meters.stream.counts(table)
        counts.creates, counts.updates, counts.deletes = 1_000 + number, 2_000, 3
        context.progress.tables.append(TableProgress(table, rows=100 + number, done=True))
        meters.producer.packed(topic, 100, 50_000, 5_000, time.monotonic())
    meters.stream.transactions, meters.stream.commits_ms = 10, 10_000
    meters.delays.sent(1, meters.stream)
    meters.delays.acknowledged(1, 1_012)


async def _filled(connectors: int, tables: int, bench: Bench) -> None:
    for number in range(connectors):
        name = f"connector-{number:03}"
        config = {"connector.class": CLASS, "topic.prefix": name, "name": name}
        await bench.herder.put_connector(name, config, allow_replace=False)
    await bench.settled()
    for context in bench.running.values():
        _fill(context, tables)


async def _longest_turn(scrape: asyncio.Task[tuple[bytes, str]]) -> float:
    """The most CPU time between two turns of another task while ``scrape`` runs."""
    longest, last = 0.0, time.thread_time()
    while not scrape.done():
        await asyncio.sleep(0)
        now = time.thread_time()
        longest, last = max(longest, now - last), now
    return longest


async def _measure(connectors: int, tables: int) -> None:
    async with worker() as bench:
        await _filled(connectors, tables, bench)
        # As a worker does when it is ready.
        gc.collect()
        gc.freeze()
        figures = bench.herder.figures

        def ours() -> Iterator[TextFamily]:
            return own_families(figures.worker(), figures.connectors())

        exposition = Exposition(load_rules("debezium", _backtracking()), bench.herder.each_mbean, ours)
        whole, turns, size = [], [], 0
        for _ in range(_SCRAPES):
            began = time.thread_time()
            scrape = asyncio.create_task(exposition.scrape(""))
            turns.append(await _longest_turn(scrape))
            whole.append(time.thread_time() - began)
            size = len(scrape.result()[0].splitlines())
        began = time.thread_time()
        own = sum(len(family.lines) for family in ours())
        seconds = time.thread_time() - began
        sys.stdout.write(
            f"{connectors} connectors with {tables} tables: {size} lines, first scrape {whole[0] * 1000:.0f} ms (longest turn "
            f"{turns[0] * 1000:.0f}), others {min(whole[1:]) * 1000:.0f} ms (longest turn {min(turns[1:]) * 1000:.0f}); "
            f"{own} lines of own series in {seconds * 1000:.0f} ms\n"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--connectors", type=int, default=200)
    parser.add_argument("--tables", type=int, default=20)
    chosen = parser.parse_args()
    asyncio.run(_measure(chosen.connectors, chosen.tables))


if __name__ == "__main__":
    main()
