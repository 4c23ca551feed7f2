"""Whether one definition of Protocol Buffers can read what another writes, as Confluent's registry decides it.

Fields are compared by their numbers. Types must be of one group, whose members have the same bytes (Protocol Buffers documentation,
"Updating A Message Type"). Names of fields and fields that only one of the two has do not matter. Source: Confluent documentation,
"Protobuf compatibility rules".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from connector.converters.protobuf.declaration import DeclaredField, DeclaredFile, DeclaredMessage, declared

_GROUPS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "bool"), "a varint"),
    **dict.fromkeys(("sint32", "sint64"), "a signed varint"),
    **dict.fromkeys(("fixed32", "sfixed32"), "four bytes"),
    **dict.fromkeys(("fixed64", "sfixed64"), "eight bytes"),
    **dict.fromkeys(("string", "bytes"), "a string or bytes"),
    "float": "a float",
    "double": "a double",
}
_ENUM: Final = "a varint"
_TEXT: Final = "a string or bytes"


def unreadable(reader: str, writer: str) -> str | None:
    """Return why ``reader`` cannot read what ``writer`` writes, in one clause that names messages and fields; None where it can."""
    try:
        files = declared(reader), declared(writer)
    except ValueError as problem:
        return str(problem)
    return _Comparison(*files).messages(files[0].messages, files[1].messages)


class _Comparison:
    """One comparison of two files."""

    def __init__(self, reader: DeclaredFile, writer: DeclaredFile) -> None:
        self._reader = reader
        self._writer = writer

    def messages(self, reader: Sequence[DeclaredMessage], writer: Sequence[DeclaredMessage]) -> str | None:
        """Why the messages of one level cannot be read."""
        known = {message.name: message for message in reader}
        for written in writer:
            if written.name not in known:
                return f"it lacks the message {written.name}"
            if problem := self._message(known[written.name], written):
                return problem
        return None

    def _message(self, reader: DeclaredMessage, writer: DeclaredMessage) -> str | None:
        outside = {field.number: field for field in writer.fields}
        inside = {field.number for fields in writer.oneofs.values() for field in fields}
        for name, fields in reader.oneofs.items():
            moved = [field.number for field in fields if field.number in outside]
            if len(moved) > 1 or (moved and any(field.number in inside for field in fields)):
                return f"its oneof {reader.name}.{name} has fields that are in none of the record's"
            for number in moved:
                del outside[number]
        for name, fields in writer.oneofs.items():
            if name in reader.oneofs and (problem := self._oneof(reader, name, reader.oneofs[name], fields)):
                return problem
        known = {field.number: field for field in reader.fields}
        for number in sorted(outside.keys() | known.keys()):
            if problem := self._one(reader.name, known.get(number), outside.get(number)):
                return problem
        return self.messages(reader.messages, writer.messages)

    def _oneof(self, message: DeclaredMessage, name: str, reader: Sequence[DeclaredField], writer: Sequence[DeclaredField]) -> str | None:
        known = {field.number: field for field in reader}
        for field in writer:
            if field.number not in known:
                return f"its oneof {message.name}.{name} lacks the field {field.number}"
            if problem := self._types(message.name, known[field.number], field):
                return problem
        return None

    def _one(self, message: str, reader: DeclaredField | None, writer: DeclaredField | None) -> str | None:
        """Why a field, which one of the two may lack, cannot be read."""
        if reader is not None and writer is not None:
            return self._types(message, reader, writer)
        for field, whose in ((reader, "the record's schema lacks"), (writer, "it lacks")):
            if field is not None and field.label == "required":
                return f"{whose} the required field {message}.{field.name}"
        return None

    def _types(self, message: str, reader: DeclaredField, writer: DeclaredField) -> str | None:
        place = f"the field {writer.number} of the message {message}"
        if bool(reader.key) != bool(writer.key):
            return f"{place} is a map in one of them"
        for mine, other in ((reader.key, writer.key), (reader.type, writer.type)) if reader.key else ((reader.type, writer.type),):
            if problem := self._kinds(message, mine, other):
                return f"{place} is {problem}"
        if _GROUPS.get(reader.type) != _TEXT and self._is_scalar(message, reader.type) and reader.label and writer.label:
            return None if reader.label == writer.label else f"{place} is {reader.label}, and not {writer.label}"
        return None

    def _kinds(self, message: str, reader: str, writer: str) -> str | None:
        """Why a type cannot be read: what it is, and what it is not."""
        kinds = [self._kind(file, message, name) for file, name in ((self._reader, reader), (self._writer, writer))]
        return None if kinds[0] == kinds[1] else f"{kinds[0]}, and not {kinds[1]}"

    @staticmethod
    def _kind(file: DeclaredFile, message: str, name: str) -> str:
        """The group of a scalar type or an enum, or the message."""
        if (group := _GROUPS.get(name)) is not None:
            return group
        found = file.resolved(name, message)
        return _ENUM if found in file.enums else f"the message {found}"

    def _is_scalar(self, message: str, name: str) -> bool:
        return not self._kind(self._reader, message, name).startswith("the message ")
