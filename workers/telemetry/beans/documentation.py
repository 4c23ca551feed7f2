"""Writes docs/monitoring.md from the tables in the code: ``python -m workers.telemetry.beans.documentation > docs/monitoring.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from workers.telemetry.beans import app_info, client, connect, connections, group, snapshot, streaming, task
from workers.telemetry.beans.attribute import Row
from workers.telemetry.own import table as own

_INTRODUCTION: Final = Path(__file__).with_name("introduction.md")
_OWN: Final = "<!-- own series -->"
"""The place of the table of own series."""
_BOARDS: Final = Path(__file__).with_name("boards.md")
_CONNECTIONS: Final = "The member's connections"
"""The section whose rows others have too; they refer to it."""
_THERE: Final = "[the member's connections](#the-members-connections)"
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
        _CONNECTIONS,
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


def _table(title: str, rows: Sequence[Row[Any]]) -> str:
    """The rows of one MBean. Constants that share a reason, and what another section describes, are lists of names."""
    if title != _CONNECTIONS and rows is connections.CLIENT:
        return f"The attributes are those of {_THERE}.\n"
    constants: dict[str, list[str]] = {}
    for row in rows:
        if row.likeness == "no meaning here":
            constants.setdefault(row.meaning, []).append(row.name)
    listed = {meaning: names for meaning, names in constants.items() if len(names) > 1}
    shared = [] if title == _CONNECTIONS else [row for row in rows if row in connections.CLIENT and row.meaning not in listed]
    lines = [f"| `{row.name}` | {row.meaning} | {row.likeness} |" for row in rows if row.meaning not in listed and row not in shared]
    text = "\n".join(["| attribute | meaning here | |", "|---|---|---|", *lines]) + "\n"
    if shared:
        text += f"\nAs in {_THERE}: {_names(row.name for row in shared)}.\n"
    for meaning, names in listed.items():
        text += f"\nNo meaning here, {meaning}: {_names(names)}.\n"
    return text


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


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
        parts.append(f"\n### {title}\n\n`{name}`, tested by [{_TESTS}/{test}](../{_TESTS}/{test})\n\n{_table(title, rows)}")
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
