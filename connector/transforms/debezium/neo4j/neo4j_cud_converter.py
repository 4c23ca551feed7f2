"""``Neo4jCudConverter`` of Debezium 3.7: change events as commands in the CUD format of the Neo4j sink connector.

Rows of each mapped table become nodes with relationships, or relationships alone. The value becomes a JSON text; all else stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal

from connector.configdef.key import SINCE_3_7
from connector.configdef.options import OptionError, Options
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import STRING
from connector.record.struct import field_of
from connector.transforms.debezium.envelope import is_change_event, schema_of, text_of
from connector.transforms.debezium.neo4j.cud_event import Missing, Row, commands
from connector.transforms.debezium.neo4j.mapping import TableMapping, mappings_of
from connector.transforms.debezium.new_record_state.extract_new_record_state_keys import option
from connector.transforms.reports import Reports
from connector.transforms.transform import TransformDefinition

_MODE: Final = "output.mode"
_TOMBSTONES: Final = "tombstones.enabled"
_MISSING: Final = "field.missing.behavior"
_ROWS: Final = ("c", "r", "u", "d")
_OTHERS: Final = ("t", "m")


class Neo4jCudConverter:
    """Writes the events of mapped tables as commands; leaves other records as they are. Drops TRUNCATE and messages of mapped tables."""

    def __init__(self, options: Options) -> None:
        """Raises OptionError."""
        self.reports = Reports()
        self._several = _choice(options, _MODE, ("array", "single")) == "array"
        self._tombstones = options.flag(_TOMBSTONES)
        self._on_missing = _choice(options, _MISSING, ("fail", "warn", "ignore"))
        self._mappings = mappings_of(options)

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """Return the record with its commands. Raises DataError for a row that lacks what is needed (``field.missing.behavior=fail``)."""
        if record.value is None:
            return record if self._tombstones else None
        if not is_change_event(record) or record.value_schema is None:
            return record
        mapping = self._mapping(record)
        if mapping is None:
            return record
        operation = text_of(record.value_schema, record.value, "op")
        if operation in _OTHERS:
            self.reports("event dropped, which the cud format cannot hold", record.topic, operation=operation)
            return None
        if operation not in _ROWS:
            raise DataError(f"The operation of an event of table {mapping.table} is none that CUD commands can be made of")
        text = self._text(record, mapping, "before" if operation == "d" else "after")
        return None if text is None else replace(record, value_schema=STRING, value=text)

    def _mapping(self, record: ConnectRecord) -> TableMapping | None:
        schema = record.value_schema
        source = None if schema is None else field_of(schema, "source")
        block = None if source is None or source.schema.type != "struct" else record.value.get("source")
        if source is None or block is None or (table := field_of(source.schema, "table")) is None or table.schema.type != "string":
            return None
        return self._mappings.get(block.get("table"))

    def _text(self, record: ConnectRecord, mapping: TableMapping, image: str) -> str | None:
        missing = self._missing(record.topic)
        schema: Any = record.value_schema
        kind, row = schema_of(schema, image), record.value.get(image)
        if kind.type != "struct":
            raise DataError(f"Field '{image}' is not of type STRUCT")
        if row is None:
            missing(f"the event has no {image}", "the record is left out")
            return None
        operation: Literal["delete", "merge"] = "delete" if image == "before" else "merge"
        found = commands(Row(kind, row), operation, mapping, missing, several=self._several)
        if not found:
            return None
        return f"[{','.join(found)}]" if self._several else found[0]

    def _missing(self, topic: str) -> Missing:
        def missing(problem: str, consequence: str) -> None:
            if self._on_missing == "fail":
                raise DataError(f"A CUD command cannot be made: {problem} ({_MISSING}=fail)")
            if self._on_missing == "warn":
                self.reports("cud command incomplete", topic, problem=problem, consequence=consequence)

        return missing


def _choice(options: Options, name: str, choices: tuple[str, ...]) -> str:
    value = options.needed(name)
    if value.lower() not in choices:
        raise OptionError(f"Unable to validate config. The '{name}' value is invalid: Value must be one of {', '.join(choices)}")
    return value.lower()


DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.Neo4jCudConverter",
        (
            option(
                _MODE,
                "STRING",
                "array",
                "HIGH",
                "NONE",
                "Output mode",
                "array writes all commands of a row as one JSON array, single only the first, which is the node or the relationship.",
            ),
            option(_TOMBSTONES, "BOOLEAN", "true", "LOW", "NONE", "Tombstones enabled", "Whether tombstones are passed on."),
            option(
                _MISSING,
                "STRING",
                "warn",
                "MEDIUM",
                "NONE",
                "Missing field behavior",
                "What happens to a row that lacks a column of its mapping: fail fails the task, warn and ignore leave the command out.",
            ),
        ),
        Neo4jCudConverter,
        SINCE_3_7,
        "Writes change events as commands for the Neo4j sink connector. Options `table.NAME.…` map each table to nodes or relationships.",
    ),
)
