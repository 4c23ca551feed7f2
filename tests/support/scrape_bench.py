"""Measures a scrape of a worker whose connector has many tables: ``python -m tests.support.scrape_bench --tables 1000``."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from typing import Final

from connector.delivery.progress import TableProgress
from connector.meters.task_meters import MeterSettings
from connector.ports import no_backtracking
from tests.support.herder_bench import worker
from workers.telemetry.exposition import BUILT_IN, Exposition, load_rules

SCRAPES: Final = 30
PROMETHEUS: Final = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


async def _measure(tables: int, rules: str, *, by_table: bool) -> tuple[int, float, float]:
    """Return the number of series, and the CPU milliseconds of the first scrape and of each further one."""
    async with worker() as bench:
        await bench.create()
        context = bench.running["shop"]
        context.meters.settings = MeterSettings("shop", by_table=by_table)
        names = [f"public.t{number}" for number in range(tables)]
        context.progress.tables = [TableProgress(name, rows=number, done=True) for number, name in enumerate(names)]
        expose = Exposition(load_rules(rules, no_backtracking), bench.herder.mbeans)
        spent = []
        for turn in range(SCRAPES + 1):
            for number, name in enumerate(names):
                context.meters.stream.counts(name).creates += turn
                context.meters.producer.packed(f"shop.{name}", number + 1, 100, 50, time.monotonic())
            began = time.process_time()
            body, _ = expose(PROMETHEUS)
            spent.append((time.process_time() - began) * 1000)
    series = sum(not line.startswith(b"#") for line in body.splitlines())
    return series, spent[0], sum(spent[1:]) / SCRAPES


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.scrape_bench", description=__doc__)
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--rules", choices=BUILT_IN, default="debezium")
    parser.add_argument("--by-table", action="store_true", help="as with internal.advanced.metrics.enable")
    chosen = parser.parse_args()
    series, first, further = asyncio.run(_measure(chosen.tables, chosen.rules, by_table=chosen.by_table))
    sys.stdout.write(f"{series} series; CPU of the first scrape {first:.0f} ms, of each further one {further:.1f} ms\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
