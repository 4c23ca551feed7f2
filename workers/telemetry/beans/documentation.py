"""Writes the tables of docs/monitoring.md from the tables in the code: ``python -m workers.telemetry.beans.documentation``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from workers.telemetry.beans import snapshot, streaming
from workers.telemetry.beans.attribute import Row

_INTRODUCTION: Final = """# Monitoring

Understudy has no JMX. The worker computes the MBeans of Debezium and Kafka Connect with the same names, keys and attributes
(`workers.herder.herder.WorkerHerder.mbeans`). This page lists what each attribute of Debezium's MBeans means here. It is generated:
`.venv/bin/python -m workers.telemetry.beans.documentation > docs/monitoring.md`.

- **exact**: Debezium 3.6.3 shows the same value after the same changes.
- **nearest**: the description says what differs.
- **no meaning here**: the attribute exists, so that boards and rules find it, and its value is constant.

Both MBeans exist from the start of a task to its end, also while no snapshot is taken. A restart of the task begins all counts at 0.
`custom.metric.tags`, `internal.advanced.metrics.enable` and `statistics.metrics.enabled` have Debezium's effects. Connectors that emulate
Debezium 2.3.4 have the attributes of 3.6.3 too. The MBeans have no operations.

## Scraping

`GET /metrics` of the REST interface answers Prometheus, in its text format or in OpenMetrics. If the interface has a login, the scrape
needs it:

```yaml
scrape_configs:
  - job_name: understudy
    static_configs: [{targets: ["worker:8083"]}]
    basic_auth: {username: prometheus, password_file: /run/secrets/prometheus}
```

Numbers, booleans (1 or 0) and numbers by table are series; attributes with text or lists are not. The names are those that JMX exporter
gives the MBeans with the rules of the boards that Debezium and Strimzi publish:

| MBean | series | labels |
|---|---|---|
| Debezium's | `debezium_metrics_<Attribute>` | `plugin`, `context`, `name` (the `topic.prefix`), `table`, and `custom.metric.tags` |
| `connect-worker-metrics` | `kafka_connect_worker_metrics_<attribute>` and `kafka_connect_worker_<attribute>` | |
| `connect-worker-metrics,connector=…` | `kafka_connect_worker_<attribute>` | `connector` |
| `connector-metrics,connector=…` | `kafka_connect_connector_status`, always 1 | `connector`, `status` |

Each worker of a group shows the connectors that it runs: scrape all of them.
"""
_CONNECT: Final = """
## MBeans of Kafka Connect

| MBean | attributes |
|---|---|
| `kafka.connect:type=connect-worker-metrics` | `connector-count` and `task-count`: what this worker runs |
| `kafka.connect:type=connect-worker-metrics,connector=…` | tasks by state, such as `connector-running-task-count`; destroyed is always 0 |
| `kafka.connect:type=connector-metrics,connector=…` | `connector-class`, `connector-type`, `connector-version`, `status` |
"""


def _table(rows: Sequence[Row[Any]]) -> str:
    lines = [f"| `{row.name}` | {row.meaning} | {row.likeness} |" for row in rows]
    return "\n".join(["| attribute | meaning here | |", "|---|---|---|", *lines]) + "\n"


def page() -> str:
    """Return docs/monitoring.md."""
    return (
        f"{_INTRODUCTION}\n## Streaming\n\n`debezium.postgres:type=connector-metrics,context=streaming,server=<topic.prefix>`\n\n"
        f"{_table(streaming.TABLE)}\n## Snapshots\n\n`debezium.postgres:type=connector-metrics,context=snapshot,server=<topic.prefix>`\n\n"
        f"{_table(snapshot.TABLE)}{_CONNECT}"
    )


if __name__ == "__main__":
    sys.stdout.write(page())
