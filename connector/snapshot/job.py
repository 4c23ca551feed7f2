"""The job that the processes receive which read rows of a snapshot.

A job is sent as a pickle and contains the parsed configuration, so readers do not parse it again. A configuration is parsed

1. when a client submits it, for the preflight (:mod:`connector.io.postgres.preflight`). Properties with errors are left out; the answer
   lists them.
2. at each start of a task (:mod:`connector.runner.task`). The configuration then comes from the config topic, possibly on another worker,
   and its references to secrets are resolved for each start.
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from connector.config.connector_config import ConnectorConfig
from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.record_conversion import ConversionPlan
from connector.events.envelope import SourceFacts
from connector.plugins.allowed import NO_PLUGINS, AllowedPlugins
from connector.record.json_converter import ConverterSettings
from connector.types.codec import TypeInfo


def _view(mapping: dict[str, object]) -> MappingProxyType[str, object]:
    return MappingProxyType(mapping)


# The mappings of a configuration are read-only views, which pickle does not support by itself.
copyreg.pickle(MappingProxyType, lambda view: (_view, (dict(view),)))


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a reader needs before its first part; sent once. In ``config``, references to secrets are resolved."""

    config: ConnectorConfig
    key_converter: ConverterSettings
    value_converter: ConverterSettings
    kafka: KafkaSettings
    types: Mapping[int, TypeInfo]
    exported: str
    """The name of the exported snapshot (``pg_export_snapshot()``)."""
    lsn: int
    facts: SourceFacts
    headers: bytes
    """Encoded record headers, which include the run's id."""
    log_level: int
    statements: Mapping[str, str]
    """The statements that a user's class or a signal provides to read a table, by schema.table."""
    transactional_id: str | None = None
    """With exactly-once delivery: the transactional id of this reader's producer."""
    guard: int = 0
    """The key of an advisory lock that every reader shares while it may send; 0 for readers that the caller can end and wait for."""
    plugins: AllowedPlugins = NO_PLUGINS
    """Which user classes the worker allows; a reader loads no others."""
    read_only: bool = False
    """Whether ``statements`` contain SQL of a signal, which must not write."""
    conversion: ConversionPlan | None = None
    """What is done to the records before they are written."""
