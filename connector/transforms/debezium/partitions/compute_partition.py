"""``ComputePartition`` of Debezium 2.3: the partition from one column of each table (Debezium 2.3 documentation, "Partition Routing").

The real one stops with "Unmanaged connector" at the first change of a PostgreSQL table, because it knows the connector by another name.
Here it does what it documents: a table is named ``schema.table``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from connector.configdef.key import UNTIL_2, Key
from connector.configdef.options import OptionError, Options
from connector.configdef.validators import java_int
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.hash_code import hash_code
from connector.record.struct import field_of, get
from connector.transforms.debezium.envelope_name import change_event
from connector.transforms.transform import TransformDefinition

COLUMNS: Final = "partition.data-collections.field.mappings"
COUNTS: Final = "partition.data-collections.partition.num.mappings"

_UNROUTED: Final = ("t", "m")
_KNOWN: Final = ("c", "u", "r", "d")


@dataclass(frozen=True, slots=True)
class ComputePartition:
    """Sets the partition of the changes of the tables that ``columns`` names; ``counts`` has their numbers of partitions."""

    columns: Mapping[str, str]
    counts: Mapping[str, int]

    @classmethod
    def of(cls, options: Options) -> ComputePartition:
        """Make it of its options."""
        columns, written = _pairs(options, COLUMNS), _pairs(options, COUNTS)
        counts = {}
        for table, text in written.items():
            number = java_int(text)
            if number is None:
                raise OptionError(f"Invalid mapping value: {text}")
            counts[table] = number
        if len(counts) != len(columns):
            raise OptionError(f"Unable to validate config. {COUNTS} and {COLUMNS} has different number of table defined")
        if counts.keys() != columns.keys():
            raise OptionError(f"Unable to validate config. {COUNTS} and {COLUMNS} has different tables defined")
        for table, number in counts.items():
            if number < 1:
                raise OptionError(f"Unable to validate config. {COUNTS}: partition number for '{table}' must be positive")
        return cls(columns, counts)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with its partition. Raises DataError for a row or column that is not there."""
        schema, value = change_event(record), record.value
        if schema is None:
            return record
        operation = value.get("op")
        if operation in _UNROUTED:
            return record
        source = value["source"]
        table = f"{source['schema']}.{source['table']}"
        column = self.columns.get(table)
        if column is None:
            return record
        if operation not in _KNOWN:
            raise DataError(f"ComputePartition does not know the operation of an event of {table}")
        state = "before" if operation == "d" else "after"
        row, side = value[state], field_of(schema, state)
        field = field_of(side.schema, column) if side is not None else None
        if row is None or field is None or side is None or get(side.schema, row, column) is None:
            raise DataError(f"ComputePartition finds no value of the column {column} in {state} of an event of {table}")
        code = hash_code(field.schema, get(side.schema, row, column))
        return replace(record, partition=(code & 0x7FFFFFFF) % self.counts[table])


def _pairs(options: Options, name: str) -> dict[str, str]:
    """The pairs of a list like ``table:column,table:column``."""
    written = options.raw.get(name)
    entries = (written or "").split(",")
    while len(entries) > 1 and not entries[-1]:
        entries.pop()
    pairs = [entry.split(":") for entry in entries]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        shown = "null" if written is None else written
        raise OptionError(
            f"Invalid value {shown} for configuration {name}: The '{name}' value is invalid: "
            "Problem parsing list of colon-delimited pairs, e.g. <code>foo:bar,abc:xyz</code>"
        )
    return {pair[0]: pair[1] for pair in pairs}


KEYS: Final = (
    Key(
        COLUMNS,
        "STRING",
        None,
        "MEDIUM",
        "Data collection field mapping",
        "Tables and the column of each that chooses the partition, as pairs: public.products:name,public.orders:purchaser.",
        group="partitions",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
    Key(
        COUNTS,
        "STRING",
        None,
        "MEDIUM",
        "Data collection number of partition mapping",
        "The same tables and the number of partitions of each one's topic: public.products:2,public.orders:3.",
        group="partitions",
        width="MEDIUM",
        framework=True,
        fixed_order=2,
    ),
)
DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.partitions.ComputePartition",
        KEYS,
        ComputePartition.of,
        UNTIL_2,
        "Chooses the partition by one column of each table.",
    ),
)
