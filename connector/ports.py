"""What the connector asks of the world around it. Protocols only.

The pure modules know none of these; :mod:`connector.runner` joins both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

JsonObject = Mapping[str, object]


class OffsetStore(Protocol):
    """Source offsets of one connector, as Kafka Connect keeps them (KIP-618, ``OffsetStorageReader``/``Writer``)."""

    async def load(self, partition: JsonObject) -> JsonObject | None:
        """The last offset stored for ``partition``, or None."""

    async def store(self, partition: JsonObject, offset: JsonObject | None) -> None:
        """Write and wait until Kafka has acknowledged. None removes the offset. Raises CdcError(STORE)."""


class Clock(Protocol):
    """Wall clock in nanoseconds since the epoch, and a monotonic one in seconds."""

    def now_ns(self) -> int:
        """Wall-clock time."""

    def monotonic(self) -> float:
        """Time that never goes back."""


@dataclass(slots=True)
class TableProgress:
    """How far the snapshot of one table has come. ``estimate`` is the planner's row count, -1 when unknown."""

    table: str
    rows: int = 0
    estimate: int = -1
    seconds: float = 0.0
    done: bool = False


@dataclass(slots=True)
class Progress:
    """What a running task tells about itself; written by the task alone, read by anyone on the same event loop."""

    phase: str = "starting"
    """starting, snapshot, streaming, idle (initial_only after its snapshot), stopped"""
    tables: list[TableProgress] = field(default_factory=list)
    snapshot_started_at: float = 0.0
    """Monotonic seconds; 0 when there was no snapshot in this run."""
    snapshot_seconds: float = 0.0
    events: int = 0
    """Records handed to Kafka by this run, tombstones included."""
    acknowledged_lsn: int = 0
    received_lsn: int = 0
    last_event_source_ms: int = 0
    """Commit time of the last event sent, ms since the epoch."""


@dataclass(frozen=True, slots=True)
class ConverterSettings:
    """A JsonConverter's settings as they hold for one connector (its own, or else the worker's)."""

    schemas_enable: bool = True
    decimal_format: str = "BASE64"
    replace_null_with_default: bool = True


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """What a Kafka client of this connector needs: Kafka's own property names and values, overrides applied.

    ``producer`` holds e.g. ``bootstrap.servers``, ``compression.type``, ``security.protocol``, ``linger.ms``.
    ``topic_creation`` tells whether the worker may create topics (``topic.creation.enable``).
    """

    producer: Mapping[str, str]
    admin: Mapping[str, str]
    topic_creation: bool = True


@dataclass(frozen=True, slots=True)
class TaskContext:
    """All that a task is given. ``config`` has its ``${...}`` resolved and must never be logged."""

    connector: str
    config: Mapping[str, str]
    key_converter: ConverterSettings
    value_converter: ConverterSettings
    kafka: KafkaSettings
    offsets: OffsetStore
    progress: Progress
    topic_used: Callable[[str], None]
    """Called once per topic and run, for topic tracking (KIP-558)."""
    offset_flush_interval: float = 60.0
    """Seconds between writes of the offset while events flow (``offset.flush.interval.ms``)."""
    task_id: int = 0
