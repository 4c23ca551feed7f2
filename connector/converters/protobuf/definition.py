"""Definitions of Protocol Buffers, and the text that Confluent's client registers for them.

A registry stores and compares this text, so the order of its parts counts: fields, oneofs, nested messages, enums. Source: Protocol Buffers
documentation, "Language Guide (proto 3)", and the canonical form that Confluent's ``ProtobufSchema`` writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

_ESCAPES: Final = str.maketrans(
    {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", "'": "\\'", '"': '\\"'}
)
_VALUE_FIRST: Final = frozenset({"precision", "scale"})
"""Parameters whose value is written before the key."""


@dataclass(frozen=True, slots=True)
class ProtoField:
    """A field. ``label`` is empty, ``optional`` or ``repeated``; ``params`` are those of the option ``confluent.field_meta``.

    ``json_name`` is never set together with ``params``.
    """

    name: str
    number: int
    type: str
    label: str = ""
    params: tuple[tuple[str, str], ...] = ()
    json_name: str = ""

    def text(self) -> str:
        """Return the line, or the lines."""
        label = f"{self.label} " if self.label else ""
        options = f" [json_name = {quoted(self.json_name)}]" if self.json_name else _meta(self.params)
        return f"{label}{self.type} {self.name} = {self.number}{options};\n"


@dataclass(frozen=True, slots=True)
class ProtoEnum:
    """An enum: its values by their names."""

    name: str
    values: tuple[tuple[str, int], ...]

    def text(self) -> str:
        """Return the definition."""
        lines = [f"  {name} = {number};\n" for name, number in self.values]
        return f"enum {self.name} {{\n{''.join(lines)}}}\n"


@dataclass(slots=True)
class ProtoMessage:
    """A message. It is complete once the mapping has returned it; nothing changes it afterwards."""

    name: str
    fields: list[ProtoField] = field(default_factory=list)
    oneofs: list[tuple[str, list[ProtoField]]] = field(default_factory=list)
    messages: list[ProtoMessage] = field(default_factory=list)
    enums: list[ProtoEnum] = field(default_factory=list)

    def text(self) -> str:
        """Return the definition."""
        sections = (
            [member.text() for member in self.fields],
            [_block("oneof", name, [member.text() for member in members]) for name, members in self.oneofs if members],
            [message.text() for message in self.messages] + [enum.text() for enum in self.enums],
        )
        return _block("message", self.name, *sections)


@dataclass(frozen=True, slots=True)
class ProtoFile:
    """A file of syntax proto3. ``options`` are those of the file, values as they are written."""

    package: str | None
    messages: tuple[ProtoMessage, ...]
    imports: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """Return what is registered."""
        head = 'syntax = "proto3";\n' + (f"package {self.package};\n" if self.package else "")
        sections = (
            [f'import "{name}";\n' for name in self.imports],
            [f"option {name} = {value};\n" for name, value in self.options],
            [message.text() for message in self.messages],
        )
        return head + "".join("\n" + "".join(parts) for parts in sections if parts)


def _block(word: str, name: str, *sections: list[str]) -> str:
    body = "".join("\n" + "".join(map(indented, parts)) for parts in sections if parts)
    return f"{word} {name} {{{body}}}\n"


def indented(text: str) -> str:
    """Return the lines, each moved by two columns; blank ones too."""
    return "".join(f"  {line}\n" for line in text.removesuffix("\n").split("\n"))


def quoted(text: str) -> str:
    """Return a string literal."""
    return f'"{text.translate(_ESCAPES)}"'


def _meta(params: tuple[tuple[str, str], ...]) -> str:
    if not params:
        return ""
    entries = []
    for key, value in params:
        parts = [f"key: {quoted(key)}", f"value: {quoted(value)}"]
        if key in _VALUE_FIRST:
            parts.reverse()
        entries.append("{\n" + indented(parts[0] + ",\n" + parts[1]) + "}")
    inner = indented(",\n".join(entries))
    return " [(confluent.field_meta) = {\n" + indented(f"params: [\n{inner}]") + "}]"
