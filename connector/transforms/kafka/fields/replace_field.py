"""``ReplaceField``: leaves fields out and renames them (Kafka documentation, "Transformations")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from connector.configdef.key import UNTIL_2, Key, Settings, Validator
from connector.configdef.options import Options
from connector.java.hash_map import java_order
from connector.java.splitting import java_split
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import Field, Schema
from connector.record.struct import SchemaCache
from connector.transforms.kafka.definitions import both_sides
from connector.transforms.kafka.fields.field_values import REPLACE_NULL, FieldReader
from connector.transforms.kafka.fields.moved_value import moved
from connector.transforms.kafka.list_validators import distinct_names, entries, shown
from connector.transforms.kafka.requirements import require_map, require_struct
from connector.transforms.kafka.schemas import struct_schema
from connector.transforms.kafka.sides import Side, part_of, with_part

_PURPOSE: Final = "field replacement"


@dataclass(frozen=True, slots=True)
class _Plan:
    """The new schema of a struct, and pairs of the old and the new name of each field that stays."""

    schema: Schema
    fields: tuple[tuple[str, str], ...]
    moved: tuple[tuple[str, Schema, Schema], ...]
    """The new names of the fields whose values come from fields of other schemas: that schema, and their own."""


@dataclass(frozen=True, slots=True)
class ReplaceField:
    """Keeps the fields of ``include`` (all, if it is empty) that are not in ``exclude``, under the names of ``renames``."""

    side: Side
    exclude: frozenset[str]
    include: frozenset[str]
    renames: Mapping[str, str]
    read: FieldReader
    plans: SchemaCache[_Plan] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options, side: Side) -> ReplaceField:
        """Make it of its options. Connect 3.9 reads two of them under their former names too."""
        former = options.emulation.version in UNTIL_2
        return cls(
            side,
            frozenset(_names(options, "exclude", "blacklist", former=former)),
            frozenset(_names(options, "include", "whitelist", former=former)),
            dict(map(_rename, options.names("renames"))),
            FieldReader.of(options),
        )

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with the fields that stay. A null key or value stays as it is. Raises DataError."""
        schema, value = part_of(record, self.side)
        if value is None:
            return record
        if schema is None:
            found = require_map(value, _PURPOSE)
            kept = {self.renames.get(name, name): found[name] for name in java_order(found) if self._keeps(name)}
            return with_part(record, self.side, None, kept)
        struct = require_struct(schema, value, _PURPOSE)
        plan = self.plans.get(schema, self._plan)
        values = self.read.every(schema, struct)
        updated: dict[str, Any] = {new: values[old] for old, new in plan.fields}
        for name, source, target in plan.moved:
            updated[name] = moved(source, target, updated[name], name)
        return with_part(record, self.side, plan.schema, updated)

    def _keeps(self, name: str) -> bool:
        return name not in self.exclude and (not self.include or name in self.include)

    def _plan(self, schema: Schema) -> _Plan:
        kept = [each for each in schema.fields if self._keeps(each.name)]
        fields = [Field(self.renames.get(each.name, each.name), each.schema) for each in kept]
        # Connect looks for the value of a field by its new name, whichever field that was.
        former = {self.renames[old]: old for old in java_order(self.renames)}
        pairs = [(former.get(each.name, each.name), each.name) for each in fields]
        sources = {each.name: each.schema for each in schema.fields}
        others: list[tuple[str, Schema, Schema]] = []
        for (old, new), each in zip(pairs, fields, strict=True):
            if old not in sources:
                raise DataError(f"{old} is not a valid field name")
            if sources[old] != each.schema:
                others.append((new, sources[old], each.schema))
        return _Plan(struct_schema(schema, fields), tuple(pairs), tuple(others))


def _names(options: Options, name: str, former_name: str, *, former: bool) -> tuple[str, ...]:
    return options.names(former_name if former and former_name in options and name not in options else name)


def _rename(entry: str) -> tuple[str, str]:
    old, new = java_split(entry, ":")
    return old, new


def _rename_pairs(key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require pairs ``old:new``."""
    listed = entries(value)
    for entry in listed:
        if len(java_split(entry, ":")) != 2:
            yield f"Invalid value {shown(listed)} for configuration {key.name}: Invalid rename mapping: {entry}"
            return


def _row(name: str, doc: str, *validators: Validator) -> Key:
    return Key(name, "LIST", "", "MEDIUM", name, doc, validators=validators, validators_until_2=(), framework=True, fixed_order=-1)


def _former_row(name: str, doc: str) -> Key:
    return Key(name, "LIST", None, "LOW", name, doc, versions=UNTIL_2, framework=True, fixed_order=-1)


KEYS: Final = (
    _row("exclude", "Names of fields that are left out, even if they are included.", distinct_names),
    _former_row("blacklist", "Former name of exclude."),
    _row("include", "Names of the only fields that stay; all stay when it is empty.", distinct_names),
    _former_row("whitelist", "Former name of include."),
    replace(_row("renames", "Pairs old:new of field names.", _rename_pairs), validators_until_2=None),
    REPLACE_NULL,
)
DEFINITIONS: Final = both_sides("ReplaceField", KEYS, ReplaceField.of, "Leaves fields out or renames them.")
