"""What those who read rows of a snapshot for its process must know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connector.allowed_plugins import NO_PLUGINS, AllowedPlugins
from connector.envelope import SourceFacts
from connector.ports import ConverterSettings, KafkaSettings
from connector.types.codec import TypeInfo


@dataclass(frozen=True, slots=True)
class Job:
    """All that a reader must know before its first part; sent once. ``config`` is the connector's, its secrets resolved."""

    config: Mapping[str, str]
    key_converter: ConverterSettings
    value_converter: ConverterSettings
    kafka: KafkaSettings
    types: Mapping[int, TypeInfo]
    exported: str
    """The snapshot to read in (``pg_export_snapshot()``)."""
    lsn: int
    facts: SourceFacts
    headers: bytes
    """Encoded record headers, the run's id among them."""
    log_level: int
    statements: Mapping[str, str]
    """What a user's class gave to read a table (schema.table) with."""
    transactional_id: str | None = None
    """With exactly-once delivery: of this reader's producer."""
    guard: int = 0
    """An advisory lock that every reader shares while it may send; 0 for readers that their asker can end and wait for."""
    plugins: AllowedPlugins = NO_PLUGINS
    """Which classes of users the worker allows: a reader may load no others."""
    read_only: bool = False
    """``statements`` hold SQL of a signal, which must not write."""
