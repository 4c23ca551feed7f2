"""Avro schemas, and the text that Avro's Java library writes for them.

The text is what a registry stores and compares, so the order of its members counts: Avro specification, "Schema Declaration", and the order
in which ``org.apache.avro.Schema.toString`` 1.12 was seen to write them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

from connector.java.floats import java_double, java_float
from connector.record.json_converter import json_text
from connector.record.schema import NO_DEFAULT

NAMED: Final = frozenset({"record", "enum", "fixed"})
_WORDS: Final = NAMED | {"array", "map", "union", "string", "bytes", "int", "long", "float", "double", "boolean", "null"}
"""A name among these is always written with its namespace."""


@dataclass(eq=False, slots=True)
class AvroField:
    """A field of a record. ``default`` is a JSON value (as ``json.loads`` gives it), or NO_DEFAULT."""

    name: str
    schema: AvroSchema
    doc: str | None = None
    default: object = NO_DEFAULT


@dataclass(eq=False, slots=True)
class AvroSchema:
    """A schema. ``type`` is Avro's word. It is complete once the mapping has returned it; nothing changes it afterwards.

    ``items`` is an array's element or a map's value. ``props`` are the properties beyond the specification, JSON values by name.
    """

    type: str
    name: str | None = None
    namespace: str | None = None
    doc: str | None = None
    fields: list[AvroField] = field(default_factory=list)
    items: AvroSchema | None = None
    branches: tuple[AvroSchema, ...] = ()
    symbols: tuple[str, ...] = ()
    symbol_default: str | None = None
    size: int = 0
    props: dict[str, Any] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """The name with its namespace; for a type without a name its type."""
        if self.name is None:
            return self.type
        return f"{self.namespace}.{self.name}" if self.namespace else self.name

    def text(self, known: Collection[str] = ()) -> str:
        """Return the JSON. Types whose full names are in ``known`` are written as names: they are defined elsewhere."""
        return _write(self, None, set(known))


class Single(float):
    """A number of 32 bits: its text has only the digits that it needs among those."""


def json_value(value: Any) -> str:
    """Return a JSON value as Jackson writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json_text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = java_float(value) if isinstance(value, Single) else java_double(value)
        return text.decode()
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_text(name)}:{json_value(member)}" for name, member in value.items()) + "}"
    return "[" + ",".join(json_value(member) for member in value) + "]"


def _write(schema: AvroSchema, space: str | None, known: set[str]) -> str:
    """``space`` is the namespace of the enclosing record; names defined on the way are added to ``known``."""
    if schema.type == "union":
        return "[" + ",".join(_write(branch, space, known) for branch in schema.branches) + "]"
    props = [f"{json_text(name)}:{json_value(value)}" for name, value in schema.props.items()]
    if schema.type not in NAMED:
        if schema.items is not None:
            part = '"items"' if schema.type == "array" else '"values"'
            props.insert(0, f"{part}:{_write(schema.items, space, known)}")
        return "{" + ",".join([f'"type":"{schema.type}"', *props]) + "}" if props else f'"{schema.type}"'
    if schema.full_name in known:
        return json_text(_reference(schema, space))
    known.add(schema.full_name)
    members = [f'"type":"{schema.type}"', f'"name":{json_text(schema.name or "")}']
    if schema.namespace and schema.namespace != space:
        members.append(f'"namespace":{json_text(schema.namespace)}')
    elif not schema.namespace and space:
        members.append('"namespace":""')
    if schema.doc is not None:
        members.append(f'"doc":{json_text(schema.doc)}')
    if schema.type == "record":
        members.append(f'"fields":[{",".join(_field(each, schema.namespace, known) for each in schema.fields)}]')
    elif schema.type == "enum":
        members.append(f'"symbols":[{",".join(json_text(symbol) for symbol in schema.symbols)}]')
        if schema.symbol_default is not None:
            members.append(f'"default":{json_text(schema.symbol_default)}')
    else:
        members.append(f'"size":{schema.size}')
    return "{" + ",".join(members + props) + "}"


def _reference(schema: AvroSchema, space: str | None) -> str:
    if schema.name is not None and (schema.namespace or None) == (space or None) and schema.name not in _WORDS:
        return schema.name
    return schema.full_name


def _field(member: AvroField, space: str | None, known: set[str]) -> str:
    parts = [f'"name":{json_text(member.name)}', f'"type":{_write(member.schema, space, known)}']
    if member.doc is not None:
        parts.append(f'"doc":{json_text(member.doc)}')
    if member.default is not NO_DEFAULT:
        parts.append(f'"default":{json_value(member.default)}')
    return "{" + ",".join(parts) + "}"
