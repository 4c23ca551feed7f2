"""The MBeans that a worker shows of the connectors that it runs."""

from __future__ import annotations

import pytest

from connector.errors import CdcError, ErrorKind
from connector.meters.task_meters import MeterSettings
from connector.signals.signal import Signal
from tests.support.herder_bench import CONFIG, Bench, worker
from workers.telemetry.mbean import OperationError, separate

EVENTS = [
    "debezium.postgres:type=connector-metrics,context=snapshot,server=srv",
    "debezium.postgres:type=connector-metrics,context=streaming,server=srv",
]
MEMBER = 'client-id="connect-127.0.0.1:8083"'
WORKER = "kafka.connect:type=connect-worker-metrics"
OWN = [
    WORKER,
    "kafka.connect:type=connect-worker-rebalance-metrics",
    f"kafka.connect:type=connect-coordinator-metrics,{MEMBER}",
    f"kafka.connect:type=connect-metrics,{MEMBER}",
]
CONNECTOR = ["kafka.connect:type=connector-metrics,connector=shop", f"{WORKER},connector=shop"]
TASK = [
    f"kafka.connect:type={kind},connector=shop,task=0" for kind in ("connector-task-metrics", "source-task-metrics", "task-error-metrics")
]
CHANNELS = [f"debezium.postgres:type=management,context={context},server=srv" for context in ("signals", "notifications")]
STORES = [f"kafka.producer:type=producer-metrics,client-id=connect-cluster-{name}" for name in ("configs", "offsets", "statuses")]
PRODUCER = "kafka.producer:type=producer-metrics,client-id=connector-producer-shop-0"
CONSUMERS = [f"kafka.consumer:type=consumer-metrics,client-id=connect-cluster-{name}" for name in ("configs", "offsets", "statuses")]
SHARED = "kafka.admin.client:type=admin-client-metrics,client-id=connect-cluster-shared-admin"
ADMIN = "kafka.admin.client:type=admin-client-metrics,client-id=connector-adminclient-shop-0"
CLIENTS = [*STORES, *CONSUMERS, SHARED]


def names(bench: Bench) -> list[str]:
    return [bean.name for bean in bench.herder.mbeans() if "app-info" not in bean.name]


async def test_a_worker_without_connectors() -> None:
    async with worker() as bench:
        beans = {bean.name: bean.attributes for bean in bench.herder.mbeans()}
        assert names(bench) == [*OWN, *CLIENTS]
    assert beans[WORKER] == dict.fromkeys(beans[WORKER], 0.0)
    assert beans[OWN[1]]["completed-rebalances-total"] == 1
    assert beans[OWN[1]]["leader-name"] == "http://127.0.0.1:8083/"
    own = beans["kafka.connect:type=app-info"]
    assert own["version"] == "4.3.0"
    assert own == beans[f"kafka.connect:type=app-info,{MEMBER}"]
    assert own == beans['kafka.connect:type=app-info,client-id="127.0.0.1:8083"']
    assert list(beans[f"kafka.connect:type=app-info,{MEMBER.removeprefix('client-')}"]) == ["Version", "CommitId", "StartTimeMs"]


async def test_a_running_connector() -> None:
    async with worker() as bench:
        await bench.create()
        assert names(bench) == [*OWN, *CONNECTOR, *TASK, *STORES, PRODUCER, *CONSUMERS, SHARED, ADMIN]
        bench.running["shop"].meters.settings = MeterSettings("srv")
        assert names(bench) == [*OWN, *CONNECTOR, *TASK, *EVENTS, *STORES, PRODUCER, *CONSUMERS, SHARED, ADMIN]
        beans = {bean.name: bean.attributes for bean in bench.herder.mbeans()}
    assert {name: value for name, value in beans[WORKER].items() if value} == {
        "connector-count": 1,
        "task-count": 1,
        "connector-startup-attempts-total": 1,
        "connector-startup-success-total": 1,
        "connector-startup-success-percentage": 1,
        "task-startup-attempts-total": 1,
        "task-startup-success-total": 1,
        "task-startup-success-percentage": 1,
    }
    assert beans[TASK[0]]["status"] == "running"
    assert beans[TASK[0]]["value-converter-class"] == "org.apache.kafka.connect.json.JsonConverter"
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
        context = bench.running["shop"]
        context.progress.events = 5
        context.meters.record_failed(12, left_out=False, logged=False)
        await bench.fail(CdcError(ErrorKind.TRANSFORM, "It failed"))
        beans = {bean.name: bean.attributes for bean in bench.herder.mbeans()}
        await bench.herder.restart_task("shop", 0)
        await bench.settled()
        later = {bean.name: bean.attributes for bean in bench.herder.mbeans()}
    assert [name for name in beans if "app-info" not in name] == [*OWN, *CONNECTOR, *TASK, *CLIENTS]
    # As in Kafka Connect, the task counts, and so does what it had counted, until it is restarted.
    assert beans[WORKER]["task-count"] == 1.0
    assert beans[TASK[1]]["source-record-poll-total"] == 5
    assert (beans[TASK[2]]["total-record-failures"], later[TASK[2]]["total-record-failures"]) == (1, 0)
    assert beans[WORKER]["task-startup-failure-total"] == 1.0
    assert beans[TASK[0]]["status"] == "failed"
    assert beans[TASK[2]]["last-error-timestamp"]
    assert beans[CONNECTOR[1]]["connector-failed-task-count"] == 1


async def test_counters_may_grow_while_the_mbeans_are_read() -> None:
    async with worker() as bench:
        await bench.create()
        meters = bench.running["shop"].meters
        meters.settings = MeterSettings("srv")
        meters.producer.packed("first", 1, 10, 5, 0.0)
        found = []
        for number, bean in enumerate(separate(bench.herder.each_mbean())):
            found.append(bean.name)
            # The task goes on between two of them: it sends to another topic and sees another table.
            meters.producer.packed(f"topic-{number}", 1, 10, 5, 0.0)
            meters.stream.counts(f"public.t{number}")
    assert any("topic=first" in name for name in found)


async def test_a_deleted_connector_has_none() -> None:
    async with worker() as bench:
        await bench.create()
        await bench.herder.delete_connector("shop")
        await bench.settled()
        assert names(bench) == [*OWN, *CLIENTS]


async def test_channels_of_jmx() -> None:
    async with worker() as bench:
        jmx = {"signal.enabled.channels": "source,jmx", "notification.enabled.channels": "jmx"}
        await bench.create({**CONFIG, **jmx})
        bench.running["shop"].meters.settings = MeterSettings("srv")
        assert [name for name in names(bench) if "management" in name] == CHANNELS
        [signals, notifications] = [bean for bean in bench.herder.mbeans() if "management" in bean.name]
        assert notifications.attributes == {"Notifications": []}
        [signal] = signals.operations
        # Debezium takes every signal, and logs the ones that it cannot read.
        signal.call("s0", "execute-snapshot", "no json")
        with pytest.raises(OperationError, match="does not accept signals now"):
            signal.call("s1", "log", '{"message": "x"}')
        taken: list[Signal] = []
        bench.running["shop"].signals.open("jmx", taken.append)
        signal.call("s2", "log", '{"message": "x"}')
        assert [(each.id, each.type, each.channel) for each in taken] == [("s2", "log", "jmx")]
