"""MBeans of Kafka Connect that describe the worker's membership in its group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from workers.telemetry.beans.attribute import Row, attributes, unreported, unreported_averages
from workers.telemetry.beans.connect import DOMAIN
from workers.telemetry.beans.object_name import key_value
from workers.telemetry.mbean import MBean
from workers.telemetry.worker_meter import WorkerMeter

_NAN: Final = float("nan")


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """The group as this worker knows it. ``leader`` is the URL of the worker that assigns; empty before the first assignment."""

    worker_id: str
    leader: str
    generation: int
    connectors: int
    tasks: int
    meter: WorkerMeter

    @property
    def since(self) -> float:
        """Seconds since the last assignment; -1 before the first."""
        return -1.0 if self.meter.rebalanced_at is None else self.meter.now() - self.meter.rebalanced_at


REBALANCE: Final[tuple[Row[GroupFacts], ...]] = (
    Row("leader-name", "exact", "the URL of the group's leader", lambda facts: facts.leader or None),
    Row("connect-protocol", "nearest", "always `SESSIONED`; the workers here have a protocol of their own", lambda _facts: "SESSIONED"),
    Row("epoch", "nearest", "the group's generation; Connect begins one for each new connector too", lambda facts: float(facts.generation)),
    Row(
        "completed-rebalances-total",
        "nearest",
        "assignments that this worker received; Connect has one for each new connector too",
        lambda facts: float(facts.meter.rebalances),
    ),
    Row("rebalancing", "exact", "1 while the worker waits for an assignment", lambda facts: float(facts.meter.rebalancing)),
    Row(
        "rebalance-avg-time-ms",
        "exact",
        "time until an assignment was received; NaN if there was none in the last minute",
        lambda facts: facts.meter.rebalance_ms.average(facts.meter.now()),
    ),
    Row("rebalance-max-time-ms", "exact", "likewise", lambda facts: facts.meter.rebalance_ms.largest(facts.meter.now())),
    Row(
        "time-since-last-rebalance-ms", "exact", "since the last assignment", lambda facts: facts.since * 1000 if facts.since >= 0 else _NAN
    ),
)
COORDINATOR: Final[tuple[Row[GroupFacts], ...]] = (
    Row("assigned-connectors", "exact", "connectors that this worker runs", lambda facts: float(facts.connectors)),
    Row("assigned-tasks", "exact", "their tasks", lambda facts: float(facts.tasks)),
    Row("rebalance-total", "nearest", "assignments that this worker received, likewise", lambda facts: float(facts.meter.rebalances)),
    Row("last-rebalance-seconds-ago", "exact", "-1 before the first assignment", lambda facts: float(int(facts.since))),
    *unreported(
        "failed-rebalance-rate-per-hour failed-rebalance-total heartbeat-rate heartbeat-total join-rate join-total "
        "last-heartbeat-seconds-ago rebalance-latency-total rebalance-rate-per-hour sync-rate sync-total"
    ),
    *unreported_averages(
        "heartbeat-response-time-max join-time-avg join-time-max rebalance-latency-avg rebalance-latency-max sync-time-avg sync-time-max"
    ),
)


def client_id(worker_id: str) -> str:
    """The client id of the worker's member, as Kafka Connect names it."""
    return key_value(f"connect-{worker_id}")


def group_beans(facts: GroupFacts) -> tuple[MBean, MBean]:
    """Return both MBeans."""
    return (
        MBean(DOMAIN, (("type", "connect-worker-rebalance-metrics"),), attributes(REBALANCE, facts)),
        MBean(DOMAIN, (("type", "connect-coordinator-metrics"), ("client-id", client_id(facts.worker_id))), attributes(COORDINATOR, facts)),
    )
