"""What the connector asks of the world around it. Protocols only.

The pure modules know none of these; :mod:`connector.runner` joins both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from connector.allowed_plugins import NO_PLUGINS, AllowedPlugins
from connector.errors import CdcError, ErrorKind
from connector.notifications import Notification
from connector.progress import Progress, TableProgress
from connector.signal_inbox import SignalInbox

__all__ = [
    "Clock",
    "ConverterSettings",
    "ExactlyOnce",
    "JsonObject",
    "KafkaSettings",
    "OffsetStore",
    "Progress",
    "TableProgress",
    "TaskContext",
    "TransactionalOffsets",
]

JsonObject = Mapping[str, object]


class OffsetStore(Protocol):
    """Source offsets of one connector, as Kafka Connect keeps them (KIP-618, ``OffsetStorageReader``/``Writer``)."""

    async def load(self, partition: JsonObject) -> JsonObject | None:
        """The last offset stored for ``partition``, or None."""

    async def store(self, partition: JsonObject, offset: JsonObject | None) -> None:
        """Write and wait until Kafka has acknowledged. None removes the offset. Raises CdcError(STORE)."""


class TransactionalOffsets(Protocol):
    """Source offsets of one connector that its producer's transactions write, with the records they belong to (KIP-618)."""

    async def load(self, partition: JsonObject) -> JsonObject | None:
        """The last offset that is committed for ``partition``, or None; transactions under way where it lies are waited for.

        To be asked when no former producer of the connector can commit any more. Raises CdcError.
        """

    def records(self, partition: JsonObject, offset: JsonObject) -> Sequence[tuple[str, bytes, bytes]]:
        """Topic, key and value of each record that a transaction stores ``offset`` with."""


class Out(Protocol):
    """Where one topic's records go."""

    def append(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        """Take a record; see :meth:`connector.record_batch.RecordBatch.append`."""

    def extend(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        """Take many; see :meth:`connector.record_batch.RecordBatch.extend`."""


class OutOfTimeError(Exception):
    """Matching ``pattern`` (by its place) was given up."""

    def __init__(self, pattern: int) -> None:
        super().__init__(pattern)
        self.pattern = pattern


class Backtracking(Protocol):
    """Matches names with patterns that may take any time, and gives up in time."""

    def __call__(self, patterns: Sequence[str], names: Sequence[str]) -> Sequence[Sequence[int]]:
        """For each pattern (for :mod:`re`) the places of the names that it matches as a whole. Raises OutOfTimeError."""


def no_backtracking(patterns: Sequence[str], names: Sequence[str]) -> Sequence[Sequence[int]]:
    """:class:`Backtracking` where none was given. Raises CdcError(INTERNAL)."""
    raise CdcError(ErrorKind.INTERNAL, f"Nothing was given to match {len(patterns)} pattern(s) with backtracking ({len(names)} name(s))")


class Clock(Protocol):
    """Wall clock in nanoseconds since the epoch, and a monotonic one in seconds."""

    def now_ns(self) -> int:
        """Wall-clock time."""

    def monotonic(self) -> float:
        """Time that never goes back."""


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
class ExactlyOnce:
    """What a task with exactly-once delivery needs (``exactly.once.source.support=enabled``).

    Of all producers with ``transactional_id`` only the one that started last can write. ``interval`` is how many seconds lie between
    two commits at least, 0 for none (``transaction.boundary``).
    """

    transactional_id: str
    offsets: TransactionalOffsets
    interval: float = 0.0


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
    signals: SignalInbox = field(default_factory=SignalInbox)
    """Brings what is asked for by REST."""
    notify: Callable[[Notification], None] = lambda _: None
    """Takes what the notification channel that REST shows is given."""
    exactly_once: ExactlyOnce | None = None
    """None where records come at least once."""
    signal_directory: str = ""
    """The folder that signal files must lie in (the worker's ``signal.file.directory``); empty for the working directory."""
    hide: Callable[[str], str] = str
    """Takes the values behind references out of a text that people see."""
    backtrack: Backtracking = no_backtracking
    """Matches the patterns of the configuration and of signals that take a backtracking engine."""
    plugins: AllowedPlugins = NO_PLUGINS
    """Which classes of users the worker allows (``plugin.packages``)."""
