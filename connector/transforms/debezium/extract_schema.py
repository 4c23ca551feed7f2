"""``ExtractSchemaToNewRecord``: the table's columns in a field of the event (Debezium documentation, "Schema extraction").

The columns are described by the parameters that ``column.propagate.source.type`` adds to their schemas.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from connector.configdef.key import SINCE_3
from connector.configdef.options import Options
from connector.configdef.validators import java_int
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import INT32, STRING, Field, Schema
from connector.record.struct import SchemaCache, with_fields
from connector.transforms.debezium.envelope import schema_of
from connector.transforms.debezium.envelope_name import change_event
from connector.transforms.transform import SharesHeaders, TransformDefinition

_PROPAGATED: Final = "__debezium.source.column."
_COLUMN: Final = Schema(
    "struct",
    name="io.debezium.connector.source.schema.Column",
    version=1,
    fields=(
        Field("name", STRING),
        Field("typeName", STRING),
        Field("length", INT32.as_optional()),
        Field("scale", INT32.as_optional()),
        Field("comment", STRING.as_optional()),
    ),
)
_TABLE: Final = Schema(
    "struct",
    name="io.debezium.connector.source.schema.Table",
    version=1,
    fields=(Field("columns", Schema("array", items=_COLUMN)),),
)
SOURCE_SCHEMA: Final = Schema(
    "struct", name="io.debezium.connector.source.Schema", version=1, fields=(Field("id", STRING), Field("table", _TABLE))
)


@dataclass(frozen=True, slots=True)
class ExtractSchemaToNewRecord(SharesHeaders):
    """Adds ``sourceSchema`` to changes of rows: the table's name, and name, type, length, scale and comment of each column."""

    _made: SchemaCache[tuple[Schema, list[dict[str, Any]]]] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, _options: Options) -> ExtractSchemaToNewRecord:
        """Make it; it has no options."""
        return cls()

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the event with the field. Raises DataError where the schemas do not tell the types of the columns."""
        schema = change_event(record)
        if schema is None:
            return record
        for state in ("after", "before"):
            schema_of(schema, state)
        if record.value["after"] is None and record.value["before"] is None:
            return record
        made, columns = self._made.get(schema, _made)
        table_schema = {"id": record.value["source"]["table"], "table": {"columns": columns}}
        return replace(record, value_schema=made, value={**record.value, "sourceSchema": table_schema})


def _made(schema: Schema) -> tuple[Schema, list[dict[str, Any]]]:
    rows = schema_of(schema, "after").fields
    return with_fields(schema, (*schema.fields, Field("sourceSchema", SOURCE_SCHEMA))), [_column(column) for column in rows]


def _column(column: Field) -> dict[str, Any]:
    parameters = dict(column.schema.parameters)
    name, kind = parameters.get(f"{_PROPAGATED}name"), parameters.get(f"{_PROPAGATED}type")
    if name is None or kind is None:
        raise DataError(
            f"Schema of the column {column.name} does not tell its type. "
            "Set column.propagate.source.type or datatype.propagate.source.type to .*"
        )
    length, scale = parameters.get(f"{_PROPAGATED}length"), parameters.get(f"{_PROPAGATED}scale")
    return {
        "name": name,
        "typeName": kind,
        "length": None if length is None else java_int(length),
        "scale": None if scale is None else java_int(scale),
        "comment": parameters.get(f"{_PROPAGATED}comment"),
    }


DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.ExtractSchemaToNewRecord",
        (),
        ExtractSchemaToNewRecord.of,
        SINCE_3,
        "Adds the table's columns and their types to the event.",
    ),
)
