"""``ExtractChangedRecordState``: headers that list the columns an update changed (Debezium documentation, "Extracting changes")."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from connector.configdef.key import VERSIONS
from connector.configdef.options import Options
from connector.java.trim import trim
from connector.record.connect_record import ConnectRecord, Header
from connector.record.schema import STRING, Schema
from connector.record.struct import SchemaCache, field_of
from connector.transforms.debezium.differences import differences_of
from connector.transforms.debezium.envelope import is_change_event, schema_of, with_defaults
from connector.transforms.debezium.new_record_state.extract_new_record_state_keys import option
from connector.transforms.transform import SharesHeaders, TransformDefinition

_ARRAYS: Final = frozenset({"io.debezium.data.Bits"})
"""Types whose values the reference holds as Java arrays, which equal nothing but themselves until 3.7."""
_FLOATS: Final = frozenset({"float", "double"})


@dataclass(frozen=True, slots=True)
class _Column:
    """How one column's values are compared."""

    name: str
    earlier_default: Any
    later_default: Any
    differs_always: bool
    items_differ: bool
    is_float: bool

    def same(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
        """As ``Object.equals`` of the values in Java."""
        earlier, later = before[self.name], after[self.name]
        if earlier is None:
            earlier = self.earlier_default
        if later is None:
            later = self.later_default
        if earlier is None or later is None:
            return earlier is later
        if self.differs_always:
            return False
        if self.is_float:
            return (math.isnan(earlier) and math.isnan(later)) or (
                earlier == later and math.copysign(1, earlier) == math.copysign(1, later)
            )
        return bool(earlier == later) and not (self.items_differ and any(item is not None for item in later))


@dataclass(frozen=True, slots=True)
class _Alone:
    """A column that only one of the rows has."""

    name: str

    def same(self, _before: Mapping[str, Any], _after: Mapping[str, Any]) -> bool:
        return False


class ExtractChangedRecordState(SharesHeaders):
    """Adds one header with the changed columns and one with the others."""

    def __init__(self, options: Options) -> None:
        differences = differences_of(options.emulation)
        self._changed: Final = _header(options, "header.changed.name")
        self._unchanged: Final = _header(options, "header.unchanged.name")
        self._compares_defaults: Final = differences.compares_defaults
        self._compares_contents: Final = differences.compares_contents
        self._adds_empty_lists: Final = differences.adds_empty_lists
        self._columns: Final[SchemaCache[tuple[_Column | _Alone, ...]]] = SchemaCache()

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """Return the record with its headers; without them where it is no change event. Raises DataError for rows of unlike columns."""
        if record.value is None or not is_change_event(record) or record.value_schema is None:
            return record
        columns = self._columns.get(record.value_schema, self._compared)
        before, after = record.value["before"], record.value["after"]
        changed: list[str] = []
        unchanged: list[str] = []
        if before is not None and after is not None:
            for column in columns:
                (unchanged if column.same(before, after) else changed).append(column.name)
        elif not self._adds_empty_lists:
            return record
        headers = list(record.headers)
        for schema, names in ((self._changed, changed), (self._unchanged, unchanged)):
            if schema is not None and schema.name is not None:
                headers.append(Header(schema.name, schema, names))
        return replace(record, headers=tuple(headers))

    def _compared(self, envelope: Schema) -> tuple[_Column | _Alone, ...]:
        earlier, later = schema_of(envelope, "before"), schema_of(envelope, "after")
        first, second = (dict(with_defaults(row)) if self._compares_defaults else {} for row in (earlier, later))
        arrays = frozenset() if self._compares_contents else _ARRAYS
        columns: list[_Column | _Alone] = []
        for field in later.fields:
            if self._compares_contents and field_of(earlier, field.name) is None:
                columns.append(_Alone(field.name))
                continue
            columns.append(
                _Column(
                    field.name,
                    first.get(field.name),
                    second.get(field.name),
                    differs_always=field.schema.name in arrays,
                    items_differ=field.schema.items is not None and field.schema.items.name in arrays,
                    is_float=schema_of(earlier, field.name).type in _FLOATS,
                )
            )
        if self._compares_contents:
            columns += [_Alone(field.name) for field in earlier.fields if field_of(later, field.name) is None]
        return tuple(columns)


def _header(options: Options, name: str) -> Schema | None:
    """The schema of a header of this name, which has the same name; None without one."""
    text = options.raw.get(name)
    return Schema("array", optional=True, name=text, items=STRING.as_optional()) if text is not None and trim(text) else None


DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.ExtractChangedRecordState",
        (
            option(
                "header.changed.name",
                "STRING",
                None,
                "LOW",
                "LONG",
                "Header change name.",
                "Header that lists the columns an update changed; none without a name.",
            ),
            option(
                "header.unchanged.name",
                "STRING",
                None,
                "LOW",
                "LONG",
                "Header unchanged name.",
                "Header that lists the columns an update left as they were; none without a name.",
            ),
        ),
        ExtractChangedRecordState,
        VERSIONS,
        "Adds headers that list the columns an update changed, and those it did not.",
    ),
)
