from __future__ import annotations

import math

from workers.telemetry.beans.group import GroupFacts, group_beans
from workers.telemetry.worker_meter import WorkerMeter


def test_before_and_after_an_assignment() -> None:
    now = [50.0]
    meter = WorkerMeter(lambda: now[0])
    meter.joining()
    facts = GroupFacts("10.0.0.1:8083", "http://10.0.0.1:8083/", 3, 2, 1, meter)
    rebalance, coordinator = group_beans(facts)
    assert rebalance.name == "kafka.connect:type=connect-worker-rebalance-metrics"
    assert coordinator.name == 'kafka.connect:type=connect-coordinator-metrics,client-id="connect-10.0.0.1:8083"'
    assert (rebalance.attributes["rebalancing"], coordinator.attributes["last-rebalance-seconds-ago"]) == (1, -1)
    assert math.isnan(float(str(rebalance.attributes["time-since-last-rebalance-ms"])))
    now[0] = 51.0
    meter.joined()
    now[0] = 53.5
    rebalance, coordinator = group_beans(facts)
    assert {name: value for name, value in rebalance.attributes.items() if value != "SESSIONED"} == {
        "leader-name": "http://10.0.0.1:8083/",
        "epoch": 3,
        "completed-rebalances-total": 1,
        "rebalancing": 0,
        "rebalance-avg-time-ms": 1000,
        "rebalance-max-time-ms": 1000,
        "time-since-last-rebalance-ms": 2500,
    }
    found = coordinator.attributes
    names = ("assigned-connectors", "assigned-tasks", "rebalance-total", "last-rebalance-seconds-ago")
    assert [found[name] for name in names] == [2, 1, 1, 2]
