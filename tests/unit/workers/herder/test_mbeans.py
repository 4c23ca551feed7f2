"""The MBeans that a worker shows of the connectors that it runs."""

from __future__ import annotations

from connector.errors import CdcError, ErrorKind
from connector.meters.task_meters import MeterSettings
from tests.support.herder_bench import Bench, worker

TASK = [
    "debezium.postgres:type=connector-metrics,context=snapshot,server=srv",
    "debezium.postgres:type=connector-metrics,context=streaming,server=srv",
]
WORKER = "kafka.connect:type=connect-worker-metrics"
CONNECTOR = ["kafka.connect:type=connector-metrics,connector=shop", f"{WORKER},connector=shop"]


def names(bench: Bench) -> list[str]:
    return [bean.name for bean in bench.herder.mbeans()]


async def test_a_worker_without_connectors() -> None:
    async with worker() as bench:
        [bean] = bench.herder.mbeans()
    assert (bean.name, bean.attributes) == (WORKER, {"connector-count": 0.0, "task-count": 0.0})


async def test_a_running_connector() -> None:
    async with worker() as bench:
        await bench.create()
        assert names(bench) == [WORKER, *CONNECTOR]
        bench.running["shop"].meters.settings = MeterSettings("srv")
        assert names(bench) == [WORKER, *CONNECTOR, *TASK]
        beans = {bean.name: bean.attributes for bean in bench.herder.mbeans()}
    assert beans[WORKER] == {"connector-count": 1.0, "task-count": 1.0}
    assert beans[CONNECTOR[0]] == {
        "connector-class": "io.debezium.connector.postgresql.PostgresConnector",
        "connector-type": "source",
        "connector-version": "3.6.3.Final",
        "status": "running",
    }
    assert beans[CONNECTOR[1]] == {
        "connector-destroyed-task-count": 0,
        "connector-failed-task-count": 0,
        "connector-paused-task-count": 0,
        "connector-restarting-task-count": 0,
        "connector-running-task-count": 1,
        "connector-total-task-count": 1,
        "connector-unassigned-task-count": 0,
    }


async def test_a_failed_task_has_no_metrics_of_its_events() -> None:
    async with worker() as bench:
        await bench.create()
        bench.running["shop"].meters.settings = MeterSettings("srv")
        await bench.fail(CdcError(ErrorKind.CONFIG_INVALID, "It failed"))
        beans = {bean.name: bean.attributes for bean in bench.herder.mbeans()}
    assert list(beans) == [WORKER, *CONNECTOR]
    assert beans[WORKER]["task-count"] == 0.0
    assert beans[CONNECTOR[1]]["connector-failed-task-count"] == 1


async def test_a_deleted_connector_has_none() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.herder.delete_connector("shop")
        await bench.settled()
        assert names(bench) == [WORKER]
