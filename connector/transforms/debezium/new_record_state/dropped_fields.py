"""Fields that a header's list names are removed from the row (Debezium documentation, option ``drop.fields.header.name``)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from connector.configdef.options import OptionError, Options
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import Schema
from connector.record.struct import SchemaCache
from connector.transforms.debezium.differences import Differences
from connector.transforms.debezium.envelope import copied, filled, with_defaults

_MOST: Final = 1_000

Shape = tuple[Schema, tuple[tuple[str, Any], ...]]
"""A schema without the dropped fields, and the defaults that take the place of nulls in its fields."""
Shapes = dict[tuple[tuple[str, ...], frozenset[str]], Shape | None]
"""By the names to drop and those to keep; None where nothing is dropped."""
_NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class DroppedFields:
    """Removes the fields that the header ``header`` lists; does nothing when it is None."""

    header: str | None
    from_key: bool
    keeps_required: bool
    """Required fields stay, so that readers of the schema still understand the record."""
    _shapes: SchemaCache[Shapes] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options, differences: Differences) -> DroppedFields:
        """Read the options. Raises OptionError."""
        return cls(
            options.raw.get("drop.fields.header.name") or None,
            _flag(options, "drop.fields.from.key", default=False, checked=differences.checks_drop_options),
            _flag(options, "drop.fields.keep.schema.compatible", default=True, checked=differences.checks_drop_options),
        )

    def applied(self, record: ConnectRecord, keeps: frozenset[str] = _NONE) -> ConnectRecord:
        """Return the record without the fields; those in ``keeps`` stay. Raises DataError for a header that is no list."""
        if self.header is None:
            return record
        named = next(record.named(self.header), None)
        if named is None or named.value is None:
            return record
        if not isinstance(named.value, list):
            raise DataError(f"Header {self.header} is to be a list of field names")
        # What is no text names no column, as the empty text.
        names = tuple(name if isinstance(name, str) else "" for name in named.value)
        if record.value is not None and record.value_schema is not None:
            schema, value = self._without(record.value_schema, record.value, names, keeps)
            record = replace(record, value_schema=schema, value=value)
        if self.from_key and record.key_schema is not None:
            if record.key_schema.type != "struct":
                raise DataError("Cannot list fields on non-struct type")
            schema, key = self._without(record.key_schema, record.key, names, _NONE)
            record = replace(record, key_schema=schema, key=key)
        return record

    def _without(self, schema: Schema, struct: Any, names: tuple[str, ...], keeps: frozenset[str]) -> tuple[Schema, dict[str, Any]]:
        shapes = self._shapes.get(schema, lambda _: {})
        if (names, keeps) not in shapes:
            if len(shapes) >= _MOST:
                shapes.clear()
            shapes[names, keeps] = self._shape(schema, names, keeps)
        shape = shapes[names, keeps]
        if shape is None:
            return schema, struct
        kept, defaults = shape
        return kept, filled({each.name: struct[each.name] for each in kept.fields}, defaults)

    def _shape(self, schema: Schema, names: tuple[str, ...], keeps: frozenset[str]) -> Shape | None:
        gone = set(names) - keeps
        kept = [each for each in schema.fields if each.name not in gone or (self.keeps_required and not each.schema.optional)]
        if not names or (self.keeps_required and len(kept) == len(schema.fields)):
            return None
        without = copied(schema, kept)
        return without, with_defaults(without)


def _flag(options: Options, name: str, *, default: bool, checked: bool) -> bool:
    value = options.raw.get(name)
    if value is None:
        return default
    value = value.strip().lower()
    if value in ("true", "false"):
        return value == "true"
    if checked:
        raise OptionError(f"Unable to validate config. The '{name}' value is invalid: Either 'true' or 'false' is expected")
    return default
