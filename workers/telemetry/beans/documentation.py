"""Writes docs/monitoring.md from the tables in the code: ``python -m workers.telemetry.beans.documentation > docs/monitoring.md``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from workers.telemetry.beans import app_info, client, connect, connections, group, snapshot, streaming, task
from workers.telemetry.beans.attribute import Row
from workers.telemetry.own import table as own

_INTRODUCTION: Final = Path(__file__).with_name("introduction.md")
_OWN: Final = "<!-- own series -->"
"""The place of the table of own series."""
_BOARDS: Final = Path(__file__).with_name("boards.md")
_TESTS: Final = "tests/unit/workers"
_TASK: Final = "connector=…,task=0"
_TABLES: Final[tuple[tuple[str, str, str, Sequence[Row[Any]]], ...]] = (
    (
        "Debezium's stream",
        "debezium.postgres:type=connector-metrics,context=streaming,server=<topic.prefix>",
        "telemetry/beans/test_debezium.py",
        streaming.TABLE,
    ),
    (
        "Debezium's snapshots",
        "debezium.postgres:type=connector-metrics,context=snapshot,server=<topic.prefix>",
        "telemetry/beans/test_debezium.py",
        snapshot.TABLE,
    ),
    ("The worker", "kafka.connect:type=connect-worker-metrics", "herder/test_mbeans.py", connect.WORKER),
    ("Tasks by state", "kafka.connect:type=connect-worker-metrics,connector=…", "herder/test_mbeans.py", connect.WORKER_CONNECTOR),
    ("The connector", "kafka.connect:type=connector-metrics,connector=…", "herder/test_mbeans.py", connect.CONNECTOR),
    ("The task", f"kafka.connect:type=connector-task-metrics,{_TASK}", "telemetry/beans/test_task.py", task.CONNECTOR_TASK),
    ("Its records", f"kafka.connect:type=source-task-metrics,{_TASK}", "telemetry/beans/test_task.py", task.SOURCE_TASK),
    ("Its errors", f"kafka.connect:type=task-error-metrics,{_TASK}", "telemetry/beans/test_task.py", task.TASK_ERROR),
    ("Generations of the group", "kafka.connect:type=connect-worker-rebalance-metrics", "telemetry/beans/test_group.py", group.REBALANCE),
    (
        "The member of the group",
        "kafka.connect:type=connect-coordinator-metrics,client-id=…",
        "telemetry/beans/test_group.py",
        group.COORDINATOR,
    ),
    (
        "The member's connections",
        "kafka.connect:type=connect-metrics,client-id=…",
        "telemetry/beans/test_connections.py",
        connections.CLIENT,
    ),
    (
        "Consumers of the internal topics",
        "kafka.consumer:type=consumer-metrics,client-id=…",
        "telemetry/beans/test_connections.py",
        connections.CLIENT,
    ),
    (
        "Clients that create topics",
        "kafka.admin.client:type=admin-client-metrics,client-id=…",
        "telemetry/beans/test_connections.py",
        connections.CLIENT,
    ),
    ("Producers", "kafka.producer:type=producer-metrics,client-id=…", "telemetry/beans/test_client.py", client.PRODUCER),
    (
        "Topics of a producer",
        "kafka.producer:type=producer-topic-metrics,client-id=…,topic=…",
        "telemetry/beans/test_client.py",
        client.TOPIC,
    ),
)
"""Title, name of the MBean, the file of its tests below :data:`_TESTS`, and the attributes."""


def _table(rows: Sequence[Row[Any]]) -> str:
    lines = [f"| `{row.name}` | {row.meaning} | {row.likeness} |" for row in rows]
    return "\n".join(["| attribute | meaning here | |", "|---|---|---|", *lines]) + "\n"


def _own_table() -> str:
    named = [(("connector", *figure.labels), figure) for figure in own.CONNECTOR] + [(figure.labels, figure) for figure in own.WORKER]
    lines = [
        f"| `{figure.series}` | {figure.kind} | {', '.join(f'`{label}`' for label in labels)} | {figure.meaning} |"
        for labels, figure in named
    ]
    return "\n".join(["| series | type | labels | meaning |", "|---|---|---|---|", *lines])


def page() -> str:
    """Return docs/monitoring.md."""
    parts = [_INTRODUCTION.read_text(encoding="utf-8").replace(_OWN, _own_table())]
    for title, name, test, rows in _TABLES:
        parts.append(f"\n### {title}\n\n`{name}`, tested by [{_TESTS}/{test}](../{_TESTS}/{test})\n\n{_table(rows)}")
    listed = "".join(f"| `{name}` | {meaning} | {likeness} |\n" for name, (likeness, meaning) in app_info.MEANINGS.items())
    parts.append(
        "\n### Versions\n\n`kafka.connect:type=app-info`, and with `client-id=…` or `id=…` of the worker's member and of each producer, "
        "tested by "
        f"[{_TESTS}/herder/test_mbeans.py](../{_TESTS}/herder/test_mbeans.py)\n\n| attribute | meaning here | |\n|---|---|---|\n{listed}"
    )
    parts.append(_BOARDS.read_text(encoding="utf-8"))
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page())
