"""``SetSchemaMetadata``: gives the schema of the key or value another name or version (Kafka documentation, "Transformations")."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from connector.configdef.key import Key
from connector.configdef.options import OptionError, Options
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import Schema
from connector.record.struct import SchemaCache
from connector.transforms.kafka.definitions import both_sides
from connector.transforms.kafka.fields.field_values import REPLACE_NULL, FieldReader
from connector.transforms.kafka.sides import Side, part_of, with_part


@dataclass(frozen=True, slots=True)
class SetSchemaMetadata:
    """Sets what is given of name and version; the rest of the schema stays."""

    side: Side
    name: str | None
    version: int | None
    read: FieldReader
    schemas: SchemaCache[Schema] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options, side: Side) -> SetSchemaMetadata:
        """Make it of its options. Raises OptionError."""
        version = None if options.text("schema.version") is None else options.number("schema.version")
        name = options.text("schema.name")
        if name is None and version is None:
            raise OptionError("Neither schema name nor version configured")
        return cls(side, name, version, FieldReader.of(options))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with its new schema. A null without a schema stays as it is. Raises DataError for any but a struct."""
        schema, value = part_of(record, self.side)
        if schema is None:
            if value is None:
                return record
            raise DataError(f"Schema required for [updating schema metadata]: the {self.side} has none")
        if schema.type != "struct":
            raise DataError("Cannot list fields on non-struct type")
        updated = self.schemas.get(schema, self._renamed)
        if value is not None:
            value = self.read.every(schema, value)
        return with_part(record, self.side, updated, value)

    def _renamed(self, schema: Schema) -> Schema:
        name = schema.name if self.name is None else self.name
        return replace(schema, name=name, version=schema.version if self.version is None else self.version)


KEYS: Final = (
    Key("schema.name", "STRING", None, "HIGH", "schema.name", "New name of the schema.", framework=True, fixed_order=-1),
    Key("schema.version", "INT", None, "HIGH", "schema.version", "New version of the schema.", framework=True, fixed_order=-1),
    REPLACE_NULL,
)
DEFINITIONS: Final = both_sides("SetSchemaMetadata", KEYS, SetSchemaMetadata.of, "Gives the schema another name or version.")
