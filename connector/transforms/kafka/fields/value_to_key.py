"""``ValueToKey``: makes the record's key of fields of its value (Kafka documentation, "Transformations")."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from connector.configdef.key import UNTIL_2, Key
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import Field, Schema
from connector.record.struct import SchemaCache, field_of
from connector.transforms.kafka.definitions import definition
from connector.transforms.kafka.fields.field_values import REPLACE_NULL, FieldReader
from connector.transforms.kafka.list_validators import some_distinct_names, some_names
from connector.transforms.kafka.requirements import require_map, require_struct
from connector.transforms.kafka.schemas import distinct

_PURPOSE: Final = "copying fields from value to key"


@dataclass(frozen=True, slots=True)
class ValueToKey:
    """Replaces the key by a struct, without a name, of these fields of the value."""

    fields: tuple[str, ...]
    read: FieldReader
    schemas: SchemaCache[Schema] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options) -> ValueToKey:
        """Make it of its options. Connect 3.9 fails at a field that is named twice."""
        names = options.names("fields")
        return cls(names if options.emulation.version in UNTIL_2 else tuple(dict.fromkeys(names)), FieldReader.of(options))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with its new key. Raises DataError for a tombstone and for a field that the value does not have."""
        schema = record.value_schema
        if schema is None:
            value = require_map(record.value, _PURPOSE)
            return replace(record, key_schema=None, key={name: value.get(name) for name in self.fields})
        struct = require_struct(schema, record.value, _PURPOSE)
        key: dict[str, Any] = {}
        key_schema = self.schemas.get(schema, self._key_schema)
        for name in self.fields:
            key[name] = self.read.one(schema, struct, name)
        return replace(record, key_schema=key_schema, key=key)

    def _key_schema(self, schema: Schema) -> Schema:
        found: list[Field] = []
        for name in self.fields:
            source = field_of(schema, name)
            if source is None:
                raise DataError(f"Field does not exist: {name}")
            found.append(source)
        return Schema("struct", fields=distinct(found))


KEYS: Final = (
    Key(
        "fields",
        "LIST",
        None,
        "HIGH",
        "fields",
        "Names of the value's fields that become the key.",
        validators=(some_distinct_names,),
        validators_until_2=(some_names,),
        required=True,
        framework=True,
        fixed_order=-1,
    ),
    REPLACE_NULL,
)
DEFINITIONS: Final = (definition("ValueToKey", KEYS, ValueToKey.of, "Makes the key of fields of the value."),)
