"""All meters of one run of a task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from connector.meters.connection_meter import ConnectionMeter
from connector.meters.delay_meter import DelayMeter
from connector.meters.producer_meter import ProducerMeter
from connector.meters.snapshot_meter import SnapshotMeter
from connector.meters.source_meter import SourceMeter
from connector.meters.stream_meter import StreamMeter


@dataclass(frozen=True, slots=True)
class MeterSettings:
    """What the connector's configuration says of its metrics. ``tags`` are ``custom.metric.tags`` in their order."""

    server: str
    """``topic.prefix``."""
    tags: tuple[tuple[str, str], ...] = ()
    by_table: bool = False
    """``internal.advanced.metrics.enable``"""
    statistics: bool = True
    """``statistics.metrics.enabled``"""
    skips_unchanged: bool = False
    """``skip.messages.without.change``"""
    queue_size: int = 8192
    queue_bytes: int = 0


@dataclass(slots=True)
class TaskMeters:
    """The meters of a task, which the task writes and metrics read on the same event loop."""

    settings: MeterSettings | None = None
    """None until the task has read its configuration, and after its end: it has no metrics then."""
    captured: tuple[str, ...] = ()
    """The captured tables (schema.table) that the task found at its start."""
    stream: StreamMeter = field(default_factory=StreamMeter)
    snapshot: SnapshotMeter = field(default_factory=SnapshotMeter)
    source: SourceMeter = field(default_factory=SourceMeter)
    producer: ProducerMeter = field(default_factory=ProducerMeter)
    admin: ConnectionMeter = field(default_factory=ConnectionMeter)
    """The client that creates topics."""
    active: Callable[[], int] = lambda: 0
    """How many records the producer was given and Kafka has not acknowledged."""
    failures: int = 0
    """Records that a transform or converter failed on."""
    delays: DelayMeter = field(default_factory=DelayMeter)
    in_flight: Callable[[], int] = lambda: 0
    """Returns the bytes of records that wait for Kafka's acknowledgement, without the constant text of their schemas."""
    left_out: int = 0
    """Those of them that ``errors.tolerance=all`` left out."""
    logged: int = 0
    """Those of them that the log names."""
    failed_ms: int = 0
    """When the last of them failed, in ms since 1970; 0 if none did."""

    def record_failed(self, now_ms: int, *, left_out: bool, logged: bool, count: int = 1) -> None:
        """Count a record, or several, that a transform or converter failed on."""
        self.failures += count
        self.left_out += count * left_out
        self.logged += count * logged
        self.failed_ms = now_ms
