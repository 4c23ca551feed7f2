"""``OpenLineage``: reports the topics and schemas of records, and leaves the records as they are (Debezium documentation, "OpenLineage").

Who runs the transform gives it the function that reports. Without one, as with ``openlineage.integration.enabled=false``, it reports
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from connector.configdef.key import SINCE_3
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord
from connector.record.schema import Schema
from connector.transforms.transform import TransformDefinition

ReportTopic = Callable[[str, Schema], None]
"""Takes a topic and the schema of its values; returns at once."""

_MOST_KNOWN: Final = 64
"""Topics with schemas that are remembered, as in Debezium. The one that was seen first is forgotten."""
_NOT_REPORTED: Final = (
    "io.debezium.connector.common.Heartbeat",
    "io.debezium.connector.common.Notification",
)


@dataclass(frozen=True, slots=True)
class OpenLineage:
    """Returns every record unchanged, and reports each topic with each schema of its values once."""

    report: ReportTopic | None = None
    _known: dict[tuple[str, Schema], None] = field(default_factory=dict)
    _last: dict[str, Schema] = field(default_factory=dict)
    """Each topic's last schema. Comparing identities spares the hash of a schema for each record."""

    @classmethod
    def of(cls, _options: Options) -> OpenLineage:
        """Make it; it has no options."""
        return cls()

    def reporting(self, report: ReportTopic) -> OpenLineage:
        """Return the transform with a function that reports."""
        return OpenLineage(report)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record. Heartbeats, notifications and records without a struct for a value are not reported."""
        schema = record.value_schema
        if self.report is None or schema is None or record.value is None or self._last.get(record.topic) is schema:
            return record
        if schema.type != "struct" or schema.name in _NOT_REPORTED:
            return record
        if len(self._last) >= _MOST_KNOWN:
            self._last.clear()
        self._last[record.topic] = schema
        known = record.topic, schema
        if known not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[known] = None
            self.report(record.topic, schema)
        return record


DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.openlineage.OpenLineage",
        (),
        OpenLineage.of,
        SINCE_3,
        "Leaves records as they are, and reports their topics to OpenLineage if `openlineage.integration.enabled` is set.",
    ),
)
