"""Access to the fields of structs (``org.apache.kafka.connect.data.Struct``), and the building of schemas from other schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar

from connector.record.schema import NO_DEFAULT, Field, Schema

T = TypeVar("T")

_MOST: Final = 1_000


def field_of(schema: Schema, name: str) -> Field | None:
    """Return the field of a struct's schema, or None."""
    return next((field for field in schema.fields if field.name == name), None)


def get(schema: Schema, struct: Mapping[str, Any], name: str) -> Any:
    """Return a field's value, or its schema's default in place of null (``Struct.get``). Raises KeyError for an unknown field."""
    value = struct.get(name)
    if value is not None:
        return value
    field = field_of(schema, name)
    if field is None:
        raise KeyError(name)
    return value_of(field, struct)


def value_of(field: Field, struct: Mapping[str, Any]) -> Any:
    """Return the value of a field that is at hand: :func:`get` looks for it among all fields where the value is null."""
    value = struct.get(field.name)
    if value is not None:
        return value
    return None if field.schema.default is NO_DEFAULT else field.schema.default


def with_fields(schema: Schema, fields: Iterable[Field]) -> Schema:
    """Return the same schema with other fields."""
    return replace(schema, fields=tuple(fields))


class SchemaCache(Generic[T]):
    """Remembers what was made of a schema: first by the schema's identity, then by its value.

    Hashing a schema costs as much as encoding a row. So whoever makes schemas must make each of them once, which a cache of the schemas
    that they are made of ensures.
    """

    __slots__ = ("_by_identity", "_by_value")

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[Schema, T]] = {}
        self._by_value: dict[Schema, T] = {}

    def get(self, schema: Schema, make: Callable[[Schema], T]) -> T:
        """Return what ``make`` made of this schema, or of an equal one."""
        known = self._by_identity.get(id(schema))
        if known is not None:
            return known[1]
        try:
            found = self._by_value.get(schema)
        except TypeError:
            # A default that is a list or a dict cannot be hashed.
            found = make(schema)
        else:
            if found is None:
                found = make(schema)
                if len(self._by_value) >= _MOST:
                    self._by_value.clear()
                self._by_value[schema] = found
        if len(self._by_identity) >= _MOST:
            self._by_identity.clear()
        # The entry keeps the schema alive, so that its identity is not given to another.
        self._by_identity[id(schema)] = (schema, found)
        return found
