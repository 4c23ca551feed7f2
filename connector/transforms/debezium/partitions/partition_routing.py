"""``PartitionRouting``: the partition from fields of the event (Debezium documentation, "Partition Routing").

The hashes of the fields are added up, so their order does not count. ``partition.hash.function`` is Java's own hash or murmur.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from connector.configdef.key import VERSIONS, Key
from connector.configdef.options import OptionError, Options
from connector.configdef.validators import java_int
from connector.java.murmur3 import murmur3
from connector.java.splitting import java_list, java_path
from connector.java.trim import trim
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.hash_code import hash_code
from connector.record.schema import Schema
from connector.record.struct import field_of, get
from connector.transforms.debezium.differences import differences_of
from connector.transforms.debezium.envelope_name import change_event
from connector.transforms.transform import SharesHeaders, TransformDefinition

FIELDS: Final = "partition.payload.fields"
COUNT: Final = "partition.topic.num"
FUNCTION: Final = "partition.hash.function"

_POSITIVE: Final = 0x7FFFFFFF
_UNROUTED: Final = ("t", "m")
"""Operations without a row: truncations and logical decoding messages keep their partition."""


@dataclass(frozen=True, slots=True)
class PartitionRouting(SharesHeaders):
    """Sets the partition of change events. ``paths`` are nested fields; those that an event lacks or that are null do not count."""

    paths: tuple[tuple[str, ...], ...]
    count: int
    murmur: bool
    skips_null_structs: bool = False

    @classmethod
    def of(cls, options: Options) -> PartitionRouting:
        """Make it of its options."""
        count, written = _count(options.raw.get(COUNT)), options.written(FIELDS)
        names = java_list(written)
        if "" in names:
            raise OptionError.of_value(FIELDS, written, "Empty string element(s) not permitted")
        paths = tuple(tuple(map(trim, java_path(name, "."))) for name in names)
        murmur = options.needed(FUNCTION).lower() == "murmur"
        return cls(paths, count, murmur, differences_of(options.emulation).skips_null_structs)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with its partition. Raises DataError for a field of a struct that is null, before version 3.7."""
        schema, value = change_event(record), record.value
        if schema is None:
            return record
        operation = value.get("op")
        if operation in _UNROUTED:
            return record
        found = [hashed for path in self.paths if (hashed := self._hash(schema, value, _resolved(path, operation))) is not None]
        if not found:
            return record
        total = sum(found) & _POSITIVE
        # As in the reference the largest sum counts as none.
        return replace(record, partition=0 if total == _POSITIVE else total % self.count)

    def _hash(self, schema: Schema, value: Any, path: tuple[str, ...]) -> int | None:
        """The hash of one field, or None where there is none."""
        for place, name in enumerate(path):
            if schema.type != "struct":
                return None
            if value is None:
                if self.skips_null_structs:
                    return None
                raise DataError(f"PartitionRouting cannot read the field {'.'.join(path)}: {'.'.join(path[:place])} is null")
            field = field_of(schema, name)
            if field is None:
                return None
            value, schema = get(schema, value, name), field.schema
        if value is None:
            return None
        code = hash_code(schema, value)
        if not self.murmur:
            return code
        return murmur3(value.encode("utf-8", "replace") if isinstance(value, str) else code.to_bytes(4, "little"))


def _resolved(path: tuple[str, ...], operation: str | None) -> tuple[str, ...]:
    """The path with ``change`` replaced by the state that the operation has."""
    if len(path) > 1 and path[0] == "change":
        return ("before" if operation == "d" else "after", *path[1:])
    return path


def _count(written: str | None) -> int:
    if written is None:
        raise OptionError.of_value(COUNT, None, "A value is required")
    number = java_int(written)
    if number is None:
        raise OptionError.of_value(COUNT, written, "An integer is expected")
    if number < 1:
        raise OptionError.of_value(COUNT, written, "A positive, non-zero integer value is expected")
    return number


KEYS: Final = (
    Key(
        FIELDS,
        "LIST",
        None,
        "HIGH",
        "List of payload fields to use for compute partition.",
        "Fields of the event whose values choose the partition; dots lead into structs. change stands for after, or for before when a row "
        "was deleted. A field that an event lacks does not count.",
        group="partitions",
        framework=True,
        fixed_order=1,
    ),
    Key(
        COUNT,
        "INT",
        None,
        "HIGH",
        "Number of partition configured for topic",
        "How many partitions the topic has. A predicate restricts the transform to the topics that have so many.",
        group="partitions",
        framework=True,
        fixed_order=2,
    ),
    Key(
        FUNCTION,
        "STRING",
        "java",
        "LOW",
        "Hash function",
        "The hash of a field's value: java, or murmur.",
        group="partitions",
        framework=True,
        fixed_order=3,
    ),
)
DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.partitions.PartitionRouting",
        KEYS,
        PartitionRouting.of,
        VERSIONS,
        "Chooses the partition by fields of the event.",
    ),
)
