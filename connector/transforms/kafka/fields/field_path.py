"""Paths to nested fields (KIP-821): ``a.b``, with backticks around a name that has dots of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connector.configdef.options import OptionError
from connector.record.connect_record import DataError
from connector.record.schema import Field, Schema
from connector.record.struct import field_of
from connector.transforms.kafka.fields.field_values import FieldReader
from connector.transforms.kafka.requirements import require_map_or_null, require_struct_or_null

_PURPOSE: Final = "nested field access"


@dataclass(frozen=True, slots=True)
class FieldPath:
    """The names of a struct's field, of a field of that, and so on."""

    steps: tuple[str, ...]

    @classmethod
    def read(cls, text: str, version: str) -> FieldPath:
        """Read a path: one name in version V1, a path in V2. Raises OptionError for a backtick that is not closed."""
        return cls((text,) if version == "V1" else tuple(_steps(text)))

    def field_in(self, schema: Schema) -> Field | None:
        """Return the field, or None if the schema has no such field. Raises DataError for an empty path."""
        self._check()
        *outer, last = self.steps
        for name in outer:
            found = field_of(schema, name)
            if found is None:
                return None
            schema = found.schema
        return field_of(schema, last)

    def value_in(self, schema: Schema, struct: Mapping[str, Any] | None, read: FieldReader) -> Any:
        """Return the field's value, or None where a struct on the way is null or has no such field. Raises DataError."""
        *outer, last = self.steps
        for name in outer:
            found = field_of(schema, name)
            if struct is None or found is None:
                return None
            struct = require_struct_or_null(found.schema, read.one(schema, struct, name), _PURPOSE)
            schema = found.schema
        return None if struct is None or field_of(schema, last) is None else read.one(schema, struct, last)

    def value_in_map(self, value: Mapping[str, Any] | None) -> Any:
        """Return what the maps of a schemaless record hold, or None. Raises DataError."""
        if value is None:
            return None
        self._check()
        *outer, last = self.steps
        for name in outer:
            if value is None:
                return None
            value = require_map_or_null(value.get(name), _PURPOSE)
        return None if value is None else value.get(last)

    def _check(self) -> None:
        if not self.steps:
            raise DataError("The path to a field is empty")


def _steps(text: str) -> list[str]:
    """Split a path of version V2."""
    steps: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == "`":
            step, at = _quoted(text, at)
        else:
            end = text.find(".", at)
            end = len(text) if end < 0 else end
            step, at = text[at:end], end + 1
        steps.append(step)
    if text.endswith("."):
        steps.append("")
    return steps


def _quoted(text: str, opening: int) -> tuple[str, int]:
    """Return the name in backticks, and the place behind it and its dot.

    The closing backtick is the first that ends the path or is followed by a dot, and has no backslash before it.
    """
    name, begin, at = "", opening + 1, opening + 1
    while True:
        at = text.find("`", at)
        if at < 0:
            raise _unclosed(text, opening)
        escaped = text[at - 1] == "\\"
        if at == len(text) - 1:
            if escaped:
                raise _unclosed(text, opening)
            return name + text[begin:at], at + 1
        if text[at + 1] == ".":
            if not escaped:
                return name + text[begin:at], at + 2
            name += text[begin : at - 1] + "`"
            begin = at + 1
        at += 1


def _unclosed(text: str, opening: int) -> OptionError:
    return OptionError(
        f"Incomplete backtick pair in path: [{text}], consider adding a backslash before backtick at position {opening} to escape it"
    )
