"""Connect schemas as values.

Consumers hash the JSON that JsonConverter writes for a schema, so the order of its members matters (``asJsonSchema``): type, then the
members of the type, then optional, name, version, doc, parameters, default, and the field's name last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, final


@final
class _NoDefault:
    """The type of NO_DEFAULT, which says that a schema has no default. ``None`` cannot say it, because null is a value."""

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

    A value of the schema (a ``default``, or the result of a codec's ``decode``) is an int, float, bool, str, bytes, list, a dict for a map,
    a dict by field name for a struct, a ``decimal.Decimal`` for the logical type Decimal, or an int for Connect's Date (days), Time (ms)
    and Timestamp (ms).
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
        """Return the same schema, nullable or not."""
        return self if self.optional == optional else replace(self, optional=optional)

    def with_default(self, default: object) -> Schema:
        """Return the same schema with a default value, which is a Connect value of the schema."""
        return replace(self, default=default)

    def with_parameters(self, parameters: Mapping[str, str]) -> Schema:
        """Return the same schema with further ``parameters`` after its own."""
        return replace(self, parameters=(*self.parameters, *parameters.items()))


BOOLEAN: Final = Schema("boolean")
INT16: Final = Schema("int16")
INT32: Final = Schema("int32")
INT64: Final = Schema("int64")
FLOAT32: Final = Schema("float")
FLOAT64: Final = Schema("double")
STRING: Final = Schema("string")
BYTES: Final = Schema("bytes")
