"""What a worker's own figures are computed from."""

from __future__ import annotations

from connector.errors import CdcError, ErrorKind
from tests.support.herder_bench import CONFIG, Bench, worker
from workers.telemetry.own.slot_watch import SlotFigures

SLOT = SlotFigures("reserved", True, 0, 0.0, 0, None, None, 0, 0.0)


def shop(bench: Bench) -> tuple[str, int, dict[str, int], dict[str, int]]:
    [facts] = bench.herder.figures.connectors()
    return facts.state, facts.outcomes.starts, facts.outcomes.retries, facts.outcomes.failures


async def test_a_worker_without_connectors() -> None:
    async with worker() as bench:
        figures = bench.herder.figures
        assert (figures.connectors(), figures.configs()) == ([], {})
        assert figures.worker().meter is bench.herder.meter


async def test_a_running_connector() -> None:
    async with worker() as bench:
        await bench.create()
        [facts] = bench.herder.figures.connectors(lambda name: SLOT if name == "shop" else None)
        context = bench.running["shop"]
        assert (facts.name, facts.state, facts.slot, facts.by_table) == ("shop", "running", SLOT, True)
        assert (facts.meters, facts.progress) == (context.meters, context.progress)
        assert bench.herder.figures.configs() == {"shop": CONFIG}


async def test_failures_are_counted_by_their_kind_over_all_starts() -> None:
    async with worker() as bench:
        await bench.create()
        assert shop(bench) == ("running", 1, {}, {})
        bench.began.clear()
        await bench.fail(CdcError(ErrorKind.SOURCE_UNREACHABLE, "It is away"))
        await bench.began.wait()
        assert shop(bench) == ("running", 1, {"source_unreachable": 1}, {})
        await bench.fail(CdcError(ErrorKind.CONFIG_INVALID, "It failed"))
        assert shop(bench) == ("failed", 1, {"source_unreachable": 1}, {"config_invalid": 1})
        await bench.herder.restart_task("shop", 0)
        await bench.settled()
        assert shop(bench) == ("running", 2, {"source_unreachable": 1}, {"config_invalid": 1})
        await bench.herder.delete_connector("shop")
        await bench.settled()
        assert bench.herder.figures.connectors() == []
        assert bench.herder.meter.outcomes == {}


async def test_a_paused_connector_has_no_counters_of_a_task() -> None:
    async with worker(properties={"metrics.per.table": "false"}) as bench:
        await bench.create()
        await bench.target("PAUSED")
        [facts] = bench.herder.figures.connectors()
        assert (facts.state, facts.meters, facts.by_table) == ("paused", None, False)
