"""``ExtractField``: puts one field in place of the whole key or value (Kafka documentation, "Transformations")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.configdef.kafka_validators import one_of_any_case
from connector.configdef.key import Key
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord, DataError
from connector.transforms.kafka.definitions import both_sides
from connector.transforms.kafka.fields.field_path import FieldPath
from connector.transforms.kafka.fields.field_values import REPLACE_NULL, FieldReader
from connector.transforms.kafka.requirements import require_map_or_null, require_struct_or_null
from connector.transforms.kafka.sides import Side, part_of, with_part

_PURPOSE: Final = "field extraction"


@dataclass(frozen=True, slots=True)
class ExtractField:
    """Replaces a struct or map by what ``path`` leads to; null by null."""

    side: Side
    name: str
    path: FieldPath
    read: FieldReader

    @classmethod
    def of(cls, options: Options, side: Side) -> ExtractField:
        """Make it of its options. Raises OptionError."""
        name = options.needed("field")
        return cls(side, name, FieldPath.read(name, options.needed("field.syntax.version").upper()), FieldReader.of(options))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with the field alone. Raises DataError for a field that the schema does not have."""
        schema, value = part_of(record, self.side)
        if schema is None:
            return with_part(record, self.side, None, self.path.value_in_map(require_map_or_null(value, _PURPOSE)))
        struct = require_struct_or_null(schema, value, _PURPOSE)
        found = self.path.field_in(schema)
        if found is None:
            raise DataError(f"Unknown field: {self.name}")
        return with_part(record, self.side, found.schema, self.path.value_in(schema, struct, self.read))


KEYS: Final = (
    Key("field", "STRING", None, "MEDIUM", "field", "Name of the field, or a path to it.", required=True, framework=True, fixed_order=-1),
    REPLACE_NULL,
    Key(
        "field.syntax.version",
        "STRING",
        "V1",
        "HIGH",
        "field.syntax.version",
        "V1: field is the name of a field. V2: it is a path with dots (KIP-821).",
        validators=(one_of_any_case("V1", "V2"),),
        framework=True,
        fixed_order=-1,
    ),
)
DEFINITIONS: Final = both_sides("ExtractField", KEYS, ExtractField.of, "Puts one field in place of the whole key or value.")
