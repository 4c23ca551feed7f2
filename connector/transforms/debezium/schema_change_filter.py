"""``SchemaChangeEventFilter``: drops schema change events of some kinds (Debezium documentation, "Schema Change Event Filter").

PostgreSQL's connector sends no schema change events; records of other kinds pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.configdef.key import SINCE_3, Key
from connector.configdef.options import OptionError, Options
from connector.java.splitting import java_list
from connector.record.connect_record import ConnectRecord
from connector.transforms.transform import TransformDefinition

EXCLUDED: Final = "schema.change.event.exclude.list"
KINDS: Final = ("CREATE", "ALTER", "DROP", "TRUNCATE", "DATABASE")


@dataclass(frozen=True, slots=True)
class SchemaChangeEventFilter:
    """Drops the events whose first change of a table is of one of the kinds, and those without a list of changes."""

    excluded: frozenset[str]

    @classmethod
    def of(cls, options: Options) -> SchemaChangeEventFilter:
        """Make it of its options."""
        kinds = java_list(options.written(EXCLUDED))
        for kind in kinds:
            if kind not in KINDS:
                raise OptionError(f"No enum constant io.debezium.schema.SchemaChangeEvent.SchemaChangeEventType.{kind}")
        return cls(frozenset(kinds))

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """Return the record, or None for an event that is dropped."""
        schema = record.value_schema
        if record.value is None or schema is None or schema.name is None or not schema.name.endswith(".SchemaChangeValue"):
            return record
        changes = record.value.get("tableChanges")
        if changes is None:
            return None
        # Without a table the change is one of the database.
        return None if (changes[0]["type"] if changes else "DATABASE") in self.excluded else record


KEYS: Final = (
    Key(
        EXCLUDED,
        "STRING",
        None,
        "HIGH",
        "Schema change event exclude list",
        f"Kinds of the schema changes whose events are dropped, separated by commas: {', '.join(KINDS)}.",
        width="SHORT",
        framework=True,
        fixed_order=1,
    ),
)
DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.SchemaChangeEventFilter",
        KEYS,
        SchemaChangeEventFilter.of,
        SINCE_3,
        "Drops schema change events, which PostgreSQL's connector does not send.",
    ),
)
