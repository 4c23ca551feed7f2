"""How a transform reads a field whose value is null and whose schema has a default (KIP-1040, ``replace.null.with.default``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connector.configdef.key import Key
from connector.configdef.options import Options
from connector.record.schema import Schema
from connector.record.struct import SchemaCache, get
from connector.transforms.kafka.schemas import has_default

REPLACE_NULL: Final = Key(
    "replace.null.with.default",
    "BOOLEAN",
    "true",
    "MEDIUM",
    "replace.null.with.default",
    "Whether a field that is null takes the default of its schema.",
    framework=True,
    fixed_order=-1,
)

_NO_DEFAULTS: Final[tuple[tuple[str, object], ...]] = ()


class FieldReader:
    """Reads fields of structs, with the defaults of their schemas in place of null or without."""

    __slots__ = ("_defaults", "_replaces_null")

    def __init__(self, *, replaces_null: bool) -> None:
        self._replaces_null = replaces_null
        self._defaults: SchemaCache[tuple[tuple[str, object], ...]] = SchemaCache()

    @classmethod
    def of(cls, options: Options) -> FieldReader:
        """Make it of a transform's options."""
        return cls(replaces_null=options.flag(REPLACE_NULL.name))

    def one(self, schema: Schema, struct: Mapping[str, Any], name: str) -> Any:
        """Return the value of a field."""
        return get(schema, struct, name) if self._replaces_null else struct[name]

    def every(self, schema: Schema, struct: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy of a struct. A struct of a struct is not copied.

        Only the fields that have a default are looked at, which takes a fifth of the time of reading them one by one.
        """
        values = dict(struct)
        for name, default in self._defaults.get(schema, _defaults) if self._replaces_null else _NO_DEFAULTS:
            if values[name] is None:
                values[name] = default
        return values


def _defaults(schema: Schema) -> tuple[tuple[str, object], ...]:
    return tuple((field.name, field.schema.default) for field in schema.fields if has_default(field.schema))
