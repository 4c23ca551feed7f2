"""The arguments of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from connector.catalog.table import CatalogTable
from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.progress import Progress
from connector.meters.task_meters import TaskMeters
from connector.notifications.notification import Notification
from connector.plugins.allowed import NO_PLUGINS, AllowedPlugins
from connector.ports import Backtracking, NoTracing, OffsetStore, Tracing, TransactionalOffsets, no_backtracking
from connector.record.json_converter import ConverterSettings
from connector.record.schema import Schema
from connector.signals.inbox import SignalInbox
from connector.types.codec import Types

if TYPE_CHECKING:
    # It imports every transform and converter, which the REST interface does not need at first.
    from connector.delivery.record_conversion import ConversionPlan


@dataclass(frozen=True, slots=True)
class ExactlyOnce:
    """The settings of a task with exactly-once delivery (``exactly.once.source.support=enabled``).

    Of all producers with ``transactional_id``, only the one that started last can write. ``interval`` is the least number of seconds
    between two commits, 0 for no minimum (``transaction.boundary``).
    """

    transactional_id: str
    offsets: TransactionalOffsets
    interval: float = 0.0


@dataclass(frozen=True, slots=True)
class TaskContext:
    """All arguments of a task. In ``config``, references ``${...}`` are resolved, so it must never be logged."""

    connector: str
    config: Mapping[str, str]
    key_converter: ConverterSettings
    value_converter: ConverterSettings
    kafka: KafkaSettings
    offsets: OffsetStore
    progress: Progress
    topic_used: Callable[[str], None]
    """Called once per topic and run, for topic tracking (KIP-558)."""
    table_described: Callable[[CatalogTable, Types], None] | None = None
    """Called when a captured table is described, at the start and after each change of its structure (OpenLineage)."""
    topic_described: Callable[[str, Schema], None] | None = None
    """Called by the transform OpenLineage for each topic and schema of its values."""
    offset_flush_interval: float = 60.0
    """Seconds between writes of the offset while events flow (``offset.flush.interval.ms``)."""
    task_id: int = 0
    meters: TaskMeters = field(default_factory=TaskMeters)
    """The counters that metrics show."""
    tracing: Tracing = field(default_factory=NoTracing)
    """Takes the spans of the task (OpenTelemetry)."""
    signals: SignalInbox = field(default_factory=SignalInbox)
    """The inbox of signals by REST."""
    notify: Callable[[Notification], None] = lambda _: None
    """Receives the notifications that the REST interface shows."""
    exactly_once: ExactlyOnce | None = None
    """None for at-least-once delivery."""
    signal_directory: str = ""
    """The folder in which signal files must be (the worker's ``signal.file.directory``); empty for the working directory."""
    hide: Callable[[str], str] = str
    """Replaces secrets in a text that users see by their references."""
    backtrack: Backtracking = no_backtracking
    """Matches patterns of the configuration and of signals that need a backtracking engine."""
    plugins: AllowedPlugins = NO_PLUGINS
    """Which classes of users the worker allows (``plugin.packages``)."""
    conversion: ConversionPlan | None = None
    """What is done to the records before they are written; ``key_converter`` and ``value_converter`` are then
    :data:`connector.delivery.record_conversion.INTERNAL`. None where those two write them."""
