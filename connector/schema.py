"""Connect schemas as values, and the JSON that Kafka's JsonConverter writes for them.

The order of the JSON's members is JsonConverter's (``asJsonSchema``): type, then what the type holds, then optional,
name, version, doc, parameters, default, and the field's name last. Consumers hash these bytes, so the order counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, final


@final
class _NoDefault:
    """The one value that means "this schema has no default" (``None`` cannot: null is a value)."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = _NoDefault()

DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
CONNECT_DATE: Final = "org.apache.kafka.connect.data.Date"
CONNECT_TIME: Final = "org.apache.kafka.connect.data.Time"
CONNECT_TIMESTAMP: Final = "org.apache.kafka.connect.data.Timestamp"


@dataclass(frozen=True, slots=True)
class Field:
    """A named member of a struct."""

    name: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Schema:
    """A Connect schema. ``type`` is JsonConverter's word: int8 int16 int32 int64 float double boolean string bytes array map struct.

    Values that go with it (what ``default`` holds, what codecs decode to): int, float, bool, str, bytes, list, dict for maps,
    dict by field name for structs, ``decimal.Decimal`` for the Decimal logical type, and plain ints for Connect's own
    Date (days), Time (ms) and Timestamp (ms).
    """

    type: str
    optional: bool = False
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    default: object = NO_DEFAULT
    fields: tuple[Field, ...] = ()
    items: Schema | None = None
    keys: Schema | None = None
    values: Schema | None = None

    def as_optional(self, optional: bool = True) -> Schema:
        """The same schema, nullable or not."""
        return self if self.optional == optional else replace(self, optional=optional)

    def with_default(self, default: object) -> Schema:
        """The same schema with a default value (of the Connect value that goes with the schema)."""
        return replace(self, default=default)

    def with_doc(self, doc: str) -> Schema:
        """The same schema with a comment."""
        return replace(self, doc=doc)

    def with_parameters(self, parameters: Mapping[str, str]) -> Schema:
        """The same schema with ``parameters`` after those it has."""
        return replace(self, parameters=(*self.parameters, *parameters.items()))


BOOLEAN: Final = Schema("boolean")
INT8: Final = Schema("int8")
INT16: Final = Schema("int16")
INT32: Final = Schema("int32")
INT64: Final = Schema("int64")
FLOAT32: Final = Schema("float")
FLOAT64: Final = Schema("double")
STRING: Final = Schema("string")
BYTES: Final = Schema("bytes")
