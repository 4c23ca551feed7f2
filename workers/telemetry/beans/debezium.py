"""What the two MBeans of a connector's events have in common: their names and their first attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.delivery.progress import Progress
from connector.meters.task_meters import MeterSettings, TaskMeters
from workers.telemetry.beans.attribute import Row
from workers.telemetry.beans.object_name import key_value

DOMAIN: Final = "debezium.postgres"


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """What the values are computed from. ``now_ms`` is in ms since 1970."""

    settings: MeterSettings
    meters: TaskMeters
    progress: Progress
    now_ms: int

    def since(self, moment_ms: int | None) -> int:
        """Milliseconds since ``moment_ms``; -1 without one."""
        return -1 if moment_ms is None else max(0, self.now_ms - moment_ms)


def keys(context: str, settings: MeterSettings) -> tuple[tuple[str, str], ...]:
    """Return the keys in the order recorded from Debezium: type, context, server, then the custom tags."""
    tags = ((name, key_value(value)) for name, value in settings.tags)
    return (("type", "connector-metrics"), ("context", context), ("server", key_value(settings.server)), *tags)


QUEUE: Final[tuple[Row[TaskFacts], ...]] = (
    Row("QueueTotalCapacity", "exact", "`max.queue.size`", lambda facts: facts.settings.queue_size),
    Row(
        "QueueRemainingCapacity",
        "no meaning here",
        "always the whole capacity: events do not wait in a queue of the connector",
        lambda facts: facts.settings.queue_size,
    ),
    Row("MaxQueueSizeInBytes", "exact", "`max.queue.size.in.bytes`", lambda facts: facts.settings.queue_bytes),
    Row("CurrentQueueSizeInBytes", "no meaning here", "always 0: there is no such queue", lambda _facts: 0),
)
