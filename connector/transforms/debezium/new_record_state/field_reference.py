"""A field of the event that ``add.fields`` or ``add.headers`` names (Debezium documentation, "New record state extraction")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from connector.configdef.options import OptionError
from connector.java.splitting import java_path
from connector.record.connect_record import DataError
from connector.record.schema import NO_DEFAULT, Schema
from connector.record.struct import field_of
from connector.transforms.debezium.differences import Differences

_OF_TRANSACTION: Final = frozenset({"id", "total_order", "data_collection_order"})


@dataclass(frozen=True, slots=True)
class FieldReference:
    """``[struct.]field[:name]``: a field of the envelope or of one of its structs, and the name that its value gets."""

    struct: str | None
    """None: the envelope itself."""
    field: str
    new_name: str

    @classmethod
    def parse(cls, prefix: str, text: str, differences: Differences) -> FieldReference:
        """Read one entry of the list. Raises OptionError for two colons."""
        parts = java_path(text, ":")
        if len(parts) > 2:
            raise OptionError(f"Unexpected field name: {text}")
        path = java_path(parts[0], ".")
        if len(path) > 1:
            struct: str | None = path[0]
            field, name = path[1], f"{path[0]}_{path[1]}"
        else:
            field = name = path[0]
            struct = "transaction" if field in _OF_TRANSACTION else None if field in differences.envelope_fields else "source"
        return cls(struct, field, prefix + (parts[1] if len(parts) == 2 else name))

    def resolved(self, envelope: Schema) -> ResolvedField | None:
        """Return where the field is in this envelope; None when there is no such field. Raises DataError when its struct is missing."""
        parent = envelope
        struct = self.struct
        if struct is not None:
            holder = field_of(envelope, struct)
            if holder is None:
                raise DataError(f"The event has no field {struct}, which {struct}.{self.field} belongs to")
            parent = holder.schema
            if parent.type != "struct":
                raise DataError("Cannot look up fields on non-struct type")
        found = field_of(parent, self.field)
        outside = found is None
        if outside:
            found = field_of(envelope, self.field)
        return None if found is None else ResolvedField(self.new_name, struct, self.field, _optional_copy(found.schema), outside)


@dataclass(frozen=True, slots=True)
class ResolvedField:
    """A referred field of one envelope's schema, and the schema that its value gets."""

    name: str
    struct: str | None
    field: str
    schema: Schema
    outside: bool
    """The struct has no such field, but the envelope has."""

    @property
    def differs_within_transaction(self) -> bool:
        """Whether the value is the event's LSN, or made of it."""
        return self.struct == "source" and self.field in ("lsn", "sequence")

    def value(self, envelope: Mapping[str, Any]) -> Any:
        """Return the value; null when its struct is null. Raises DataError for a struct and a map, which the reference cannot copy."""
        parent = envelope if self.struct is None else envelope[self.struct]
        value = None if parent is None else (envelope if self.outside else parent)[self.field]
        if value is not None and self.schema.type == "struct":
            raise DataError(f"Struct schemas do not match: {self.field} is a struct and cannot be added as {self.name}")
        return value


def _optional_copy(schema: Schema) -> Schema:
    """Kafka's ``copySchemaBasics``, made optional: a struct's copy has no fields."""
    if schema.type == "map":
        raise DataError("No schema defined for key of map field")
    return replace(schema, optional=True, default=NO_DEFAULT, fields=())
