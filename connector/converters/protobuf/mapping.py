"""The file of Protocol Buffers for a Connect schema, as Confluent's ``ProtobufData`` makes it.

A struct is a message. It stands within the message of the first field that has it; a struct of the same name in the same message refers to
it. Maps are repeated messages of key and value. Documentation and defaults have no place in the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.converters.protobuf.definition import ProtoEnum, ProtoField, ProtoFile, ProtoMessage
from connector.converters.protobuf.kinds import (
    LOGICAL,
    SUM_UNION,
    UNION,
    enum_type,
    enum_values,
    is_union,
    is_wrapped,
    numbered,
    parameter,
    part,
    scalar_type,
    wrapper,
)
from connector.converters.protobuf.known_files import FILE_OF, WRAPPERS
from connector.converters.protobuf.names import identifier, map_entry, scrubbed, split_name
from connector.converters.protobuf.settings import ProtobufSettings
from connector.record.connect_record import DataError
from connector.record.schema import DECIMAL, Schema

_UNNAMED: Final = "ConnectDefault"
_PRECISION: Final = "connect.decimal.precision"


@dataclass(frozen=True, slots=True)
class Mapped:
    """A file, and the message in it that holds the values: its full name, and the indexes that lead to it."""

    file: ProtoFile
    full_name: str
    indexes: tuple[int, ...]


def protobuf_file(schema: Schema, settings: ProtobufSettings) -> Mapped:
    """Return the file of a schema: of a struct its own, of a scalar type that of the wrappers. Raises DataError."""
    if schema.type in ("array", "map") or schema.name in LOGICAL or is_union(schema):
        raise DataError(f"ProtobufConverter cannot write {schema.name or schema.type} as a whole key or value. Put it into a struct")
    if schema.type != "struct":
        # The wrapper at the root depends on Connect's type alone.
        message = wrapper(scalar_type(Schema(schema.type)))
        place = next(place for place, each in enumerate(WRAPPERS.messages) if message.endswith(f".{each.name}"))
        return Mapped(WRAPPERS, message, (place,))
    mapping = _Mapping(settings)
    package, name = split_name(mapping.name_of(schema), settings.scrub)
    root = mapping.message(name, schema)
    file = ProtoFile(package, (root,), tuple(mapping.imports))
    return Mapped(file, f"{package}.{name}" if package else name, (0,))


class _Mapping:
    """One conversion."""

    def __init__(self, settings: ProtobufSettings) -> None:
        self._settings = settings
        self._unnamed = 0
        self._made: dict[int, tuple[Schema, int]] = {}
        self.imports: dict[str, None] = {}

    def name_of(self, schema: Schema) -> str:
        """Return the schema's name, or one that is made up."""
        if schema.name:
            return schema.name
        self._unnamed += 1
        return f"{_UNNAMED}{self._unnamed}"

    def message(self, name: str, schema: Schema) -> ProtoMessage:
        """Return the message of a struct."""
        message = ProtoMessage(identifier(name, "message"))
        for field, field_name, number in numbered(schema, self._settings):
            if is_union(field.schema):
                self._oneof(message, field.schema)
            else:
                message.fields.append(self._field(message, field.schema, field_name, number))
        _check(message)
        return message

    def _field(self, message: ProtoMessage, schema: Schema, name: str, number: int, *, in_oneof: bool = False) -> ProtoField:
        identifier(name, "field")
        label = self._label(schema)
        if schema.type == "array":
            schema = part(schema.items)
            if schema.type in ("array", "map") or is_union(schema):
                raise DataError(f"Array cannot be nested: the items of the array {name} are of the type {schema.type}")
        kind = self._type(message, schema, name, in_oneof=in_oneof)
        return ProtoField(name, number, kind, "" if in_oneof and label == "optional" else label, _params(schema))

    def _label(self, schema: Schema) -> str:
        if schema.type in ("array", "map"):
            return "repeated"
        return "optional" if self._settings.optionals and schema.optional else ""

    def _type(self, message: ProtoMessage, schema: Schema, field_name: str, *, in_oneof: bool) -> str:
        """Return the type of a field, and define it if it is new."""
        if schema.name in LOGICAL:
            return self._known(LOGICAL[schema.name])
        if schema.type == "struct":
            return self._nested(message, schema, field_name)
        if schema.type == "map":
            entry = self._entry(map_entry(self._short_name(schema)), schema)
            message.messages.append(entry)
            return entry.name
        if (enum := enum_type(schema)) is not None:
            self._enum(message, schema, enum)
            return enum
        scalar = scalar_type(schema)
        return self._known(wrapper(scalar)) if is_wrapped(schema, self._settings, in_oneof=in_oneof) else scalar

    def _known(self, message: str) -> str:
        self.imports[FILE_OF[message]] = None
        return message

    def _short_name(self, schema: Schema) -> str:
        short = self.name_of(schema).rpartition(".")[2]
        return scrubbed(short) if self._settings.scrub else short

    def _nested(self, parent: ProtoMessage, schema: Schema, field_name: str) -> str:
        name = self._short_name(schema)
        if name == field_name:
            # A field and a message within the same message cannot have one name.
            name += "Message"
        known = next((each for each in parent.messages if each.name == name), None)
        if known is None and name != parent.name:
            before = self._unnamed
            made = self.message(name, schema)
            self._made[id(made)] = (schema, before)
            parent.messages.append(made)
        elif known is None or not self._has_fields_of(known, schema):
            raise DataError(
                f"Two structs with the name {name}, of which the message {parent.name} needs both, have different fields. "
                "Rename one of them with the transformation SetSchemaMetadata"
            )
        return name

    def _has_fields_of(self, message: ProtoMessage, schema: Schema) -> bool:
        """Whether ``schema`` would be the same message; names that are made up count from where they did for the first one."""
        first, before = self._made[id(message)]
        if first.fields == schema.fields:
            return True
        unnamed, self._unnamed = self._unnamed, before
        same = self.message(message.name, schema) == message
        self._unnamed = unnamed
        return same

    def _entry(self, name: str, schema: Schema) -> ProtoMessage:
        entry = ProtoMessage(identifier(name, "message"))
        for number, (field_name, member) in enumerate((("key", part(schema.keys)), ("value", part(schema.values))), 1):
            if is_union(member):
                raise DataError(f"The {field_name} of a map cannot be a union")
            field = self._field(entry, member, field_name, number)
            # The entry is no place for optional fields.
            entry.fields.append(ProtoField(field.name, number, field.type, field.label.replace("optional", ""), field.params))
        _check(entry)
        return entry

    def _enum(self, message: ProtoMessage, schema: Schema, kind: str) -> None:
        if schema.name is None or kind != self._short_name(schema):
            raise DataError(f"The enum {kind} must be the last part of its schema's name, which is {schema.name}")
        values = enum_values(schema, self._settings)
        if not values or values[0][1] != 0:
            raise DataError(f"The first value of the enum {kind} must have the number 0")
        enum = ProtoEnum(identifier(kind, "enum"), tuple((identifier(name, "enum value"), number) for name, number in values))
        known = next((each for each in message.enums if each.name == kind), None)
        if known is None:
            message.enums.append(enum)
        elif known != enum:
            raise DataError(f"Two enums with the name {kind}, of which the message {message.name} needs both, have different values")

    def _oneof(self, message: ProtoMessage, schema: Schema) -> None:
        name = parameter(schema, SUM_UNION) if self._settings.sum_types else None
        if name is None:
            name = self._short_name(Schema("struct", name=(schema.name or "").removeprefix(UNION).removeprefix(".")))
        members = [
            self._field(message, field.schema, field_name, number, in_oneof=True)
            for field, field_name, number in numbered(schema, self._settings)
        ]
        if any(member.label for member in members):
            raise DataError(f"The union {name} cannot hold arrays or maps")
        message.oneofs.append((identifier(name, "oneof"), members))


def _params(schema: Schema) -> tuple[tuple[str, str], ...]:
    """What Connect alone knows of a type."""
    if schema.name == DECIMAL:
        found = (("precision", parameter(schema, _PRECISION)), ("scale", parameter(schema, "scale")))
        return tuple((key, value) for key, value in found if value is not None)
    if schema.type in ("int8", "int16") and schema.name not in LOGICAL:
        return (("connect.type", schema.type),)
    return ()


def _check(message: ProtoMessage) -> None:
    """Raise DataError where two parts of a message have the same name, or two fields the same number."""
    fields = [*message.fields, *(member for _, members in message.oneofs for member in members)]
    names = [each.name for each in fields] + [name for name, _ in message.oneofs]
    names += [each.name for each in message.messages] + [each.name for each in message.enums]
    names += [name for enum in message.enums for name, _ in enum.values]
    for what, found in (("name", names), ("number", [each.number for each in fields])):
        twice = next((each for place, each in enumerate(found) if each in found[:place]), None)
        if twice is not None:
            raise DataError(f"The message {message.name} has the {what} {twice} twice. Rename a column or a type")
