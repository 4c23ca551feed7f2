"""``HeaderFrom``: copies or moves fields into headers (KIP-440)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from connector.configdef.kafka_validators import one_of
from connector.configdef.key import Key
from connector.configdef.options import OptionError, Options
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.schema import Schema
from connector.record.struct import SchemaCache, field_of
from connector.transforms.kafka.definitions import both_sides
from connector.transforms.kafka.fields.field_values import REPLACE_NULL, FieldReader
from connector.transforms.kafka.list_validators import some_names
from connector.transforms.kafka.requirements import require_map, require_struct
from connector.transforms.kafka.schemas import struct_schema
from connector.transforms.kafka.sides import Part, Side, part_of, with_part


@dataclass(frozen=True, slots=True)
class HeaderFrom:
    """Adds a header for each pair of a field and a header's name; ``move`` takes the fields out of the key or value."""

    side: Side
    pairs: tuple[tuple[str, str], ...]
    move: bool
    read: FieldReader
    schemas: SchemaCache[Schema] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options, side: Side) -> HeaderFrom:
        """Make it of its options. Raises OptionError."""
        fields, headers = options.names("fields"), options.names("headers")
        if len(fields) != len(headers):
            raise OptionError("'fields' config must have the same number of elements as 'headers' config.")
        return cls(side, tuple(zip(fields, headers, strict=True)), options.needed("operation") == "move", FieldReader.of(options))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with its new headers. Raises DataError for null and for a field that the schema does not have."""
        part = part_of(record, self.side)
        purpose = f"header {'move' if self.move else 'copy'}"
        fields = {name for name, _ in self.pairs}
        if part.schema is None:
            value = require_map(part.value, purpose)
            headers = tuple(Header(header, None, value.get(name)) for name, header in self.pairs)
            left = Part(None, {name: each for name, each in value.items() if name not in fields})
        else:
            struct = require_struct(part.schema, part.value, purpose)
            headers = tuple(self._headers(part.schema, struct))
            schema = self.schemas.get(part.schema, self._without)
            values = self.read.every(part.schema, struct) if self.move else {}
            left = Part(schema, {name: each for name, each in values.items() if name not in fields})
        moved = with_part(record, self.side, *left) if self.move else record
        return replace(moved, headers=(*record.headers, *headers))

    def _headers(self, schema: Schema, struct: object) -> Iterator[Header]:
        for name, header in self.pairs:
            source = field_of(schema, name)
            if source is None:
                raise DataError(f"Field does not exist: {name}")
            yield Header(header, source.schema, self.read.one(schema, struct, name))  # type: ignore[arg-type]

    def _without(self, schema: Schema) -> Schema:
        fields = {name for name, _ in self.pairs}
        return struct_schema(schema, [each for each in schema.fields if each.name not in fields])


def _list(name: str, doc: str) -> Key:
    return Key(
        name,
        "LIST",
        None,
        "HIGH",
        name,
        doc,
        validators=(some_names,),
        required=True,
        framework=True,
        fixed_order=-1,
    )


KEYS: Final = (
    _list("fields", "Names of the fields."),
    _list("headers", "Names of the headers, one for each field, in the same order."),
    Key(
        "operation",
        "STRING",
        None,
        "HIGH",
        "operation",
        "move: take the fields out of the key or value. copy: leave them there.",
        validators=(one_of("move", "copy"),),
        required=True,
        framework=True,
        fixed_order=-1,
    ),
    REPLACE_NULL,
)
DEFINITIONS: Final = both_sides("HeaderFrom", KEYS, HeaderFrom.of, "Copies or moves fields into headers.")
