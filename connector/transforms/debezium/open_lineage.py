"""``OpenLineage``: leaves records as they are (Debezium documentation, "OpenLineage").

The real one reports to an OpenLineage service where data goes. The reports need OpenLineage's own client, which this connector does not
have; so there are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.configdef.key import SINCE_3
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord
from connector.transforms.transform import TransformDefinition


@dataclass(frozen=True, slots=True)
class OpenLineage:
    """Returns every record unchanged."""

    @classmethod
    def of(cls, _options: Options) -> OpenLineage:
        """Make it; it has no options."""
        return cls()

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record."""
        return record


DEFINITIONS: Final = (
    TransformDefinition("io.debezium.transforms.openlineage.OpenLineage", (), OpenLineage.of, SINCE_3, "Leaves records as they are."),
)
