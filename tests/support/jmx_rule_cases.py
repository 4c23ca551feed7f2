"""Small MBeans and rule files, which the real JMX exporter and ours evaluate (``record_jmx_rules.py``)."""

from __future__ import annotations

from typing import Final

import yaml

from tests.support.project import ROOT
from workers.telemetry.mbean import MBean

BEANS: Final[tuple[MBean, ...]] = (
    MBean(
        "kafka.connect",
        (("type", "connector-task-metrics"), ("connector", "shop"), ("task", "0")),
        {"status": "running", "batch-size-avg": 2.5, "running-ratio": 1.0, "task-class": "acme.Task", "offset-commit-max-time-ms": None},
    ),
    MBean("kafka.connect", (("type", "connector-metrics"), ("connector", "shop")), {"status": "running", "connector-type": "source"}),
    MBean(
        "kafka.connect",
        (("type", "connect-metrics"), ("client-id", '"connect-10.0.0.1:8083"')),
        {"request-total": 75.0, "request-rate": 0.5, "request-latency-avg": float("nan")},
    ),
    MBean("kafka.connect", (("type", "connect-worker-metrics"),), {"task-count": 3.0, "connector-startup-attempts-total": 4.0}),
    MBean("kafka.producer", (("type", "producer-topic-metrics"), ("client-id", "p-0"), ("topic", "shop.public.a")), {"byte-total": 1e10}),
    MBean("kafka.producer", (("type", "producer-topic-metrics"), ("client-id", "p-0"), ("topic", "shop.public.b")), {"byte-total": 12.0}),
    MBean(
        "debezium.postgres",
        (("type", "connector-metrics"), ("context", "snapshot"), ("server", "shop")),
        {
            "SnapshotRunning": False,
            "SnapshotCompleted": True,
            "RemainingTableCount": 0,
            "MilliSecondsSinceLastEvent": 123456789,
            "ChunkId": None,
            "LastEvent": "position: 5",
            "CapturedTables": ["public.a", "public.b"],
            "RowsScanned": {"public.a": 5, "public.b": 7},
            "TableChunkCounts": {},
        },
    ),
)

CASES: Final[dict[str, str]] = yaml.safe_load((ROOT / "tests/support/jmx_rule_cases.yaml").read_text())
"""What the case shows → a rule file."""
