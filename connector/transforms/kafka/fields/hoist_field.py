"""``HoistField``: wraps the whole key or value into a struct of one field (Kafka documentation, "Transformations")."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from connector.configdef.key import Key
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord
from connector.record.schema import Field, Schema
from connector.record.struct import SchemaCache
from connector.transforms.kafka.definitions import both_sides
from connector.transforms.kafka.schemas import distinct
from connector.transforms.kafka.sides import Side, part_of, with_part


@dataclass(frozen=True, slots=True)
class HoistField:
    """Makes the key or value, null too, the field ``name`` of a struct, or of a map where it has no schema."""

    side: Side
    name: str
    schemas: SchemaCache[Schema] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options, side: Side) -> HoistField:
        """Make it of its options."""
        return cls(side, options.needed("field"))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with the wrapped key or value. Raises DataError for a field without a name."""
        schema, value = part_of(record, self.side)
        wrapped = None if schema is None else self.schemas.get(schema, self._wrapped)
        return with_part(record, self.side, wrapped, {self.name: value})

    def _wrapped(self, schema: Schema) -> Schema:
        return Schema("struct", fields=distinct([Field(self.name, schema)]))


KEYS: Final = (
    Key("field", "STRING", None, "MEDIUM", "field", "Name of the struct's only field.", required=True, framework=True, fixed_order=-1),
)
DEFINITIONS: Final = both_sides("HoistField", KEYS, HoistField.of, "Wraps the key or value into a struct of one field.")
