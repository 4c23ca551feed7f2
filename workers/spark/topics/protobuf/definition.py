"""Definitions of Protocol Buffers: the messages of a file (Protocol Buffers documentation, "Language Guide (proto 3)").

Only what ProtobufConverter writes is read: messages, nested messages, fields with their labels, and the option ``confluent.field_meta``.
The messages of the files that it imports are known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from workers.spark.failure import UNREADABLE, JobError

_TOKEN: Final = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|\s+)|(?P<token>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[\w.]+|.)""", re.DOTALL | re.ASCII
)
SCALARS: Final = frozenset({"int32", "int64", "float", "double", "bool", "string", "bytes"})
"""The scalar types that the converter writes. Others need a parameter of the schema that no event of the connector has."""
_BLOCKS: Final = frozenset({"enum", "service", "extend"})
_SENTENCES: Final = frozenset({"syntax", "edition", "import", "option", "reserved", "extensions"})
WRAPPED: Final = {
    f"google.protobuf.{name}Value": scalar
    for name, scalar in (
        ("Int32", "int32"),
        ("Int64", "int64"),
        ("Float", "float"),
        ("Double", "double"),
        ("Bool", "bool"),
        ("String", "string"),
        ("Bytes", "bytes"),
    )
}
"""The messages that wrap a scalar, and its type."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field. ``message`` is the message of its type, None for a scalar. ``optional`` is the label."""

    name: str
    number: int
    type: str
    repeated: bool = False
    optional: bool = False
    params: Mapping[str, str] = field(default_factory=dict)
    message: Message | None = None

    @property
    def has_presence(self) -> bool:
        """Whether a value that is absent differs from the zero of its type."""
        return not self.repeated and (self.optional or self.message is not None)


@dataclass(frozen=True, slots=True)
class Message:
    """A message, by its full name."""

    name: str
    fields: Sequence[Field]

    @property
    def is_entry(self) -> bool:
        """Whether the message is an entry of a map."""
        return self.name.endswith("Entry") and [each.name for each in self.fields] == ["key", "value"]


def _known(name: str, **fields: str) -> Message:
    return Message(name, [Field(each, number, kind) for number, (each, kind) in enumerate(fields.items(), 1)])


_KNOWN: Final = {
    message.name: message
    for message in (
        _known("confluent.type.Decimal", value="bytes", precision="int32", scale="int32"),
        _known("google.type.Date", year="int32", month="int32", day="int32"),
        _known("google.type.TimeOfDay", hours="int32", minutes="int32", seconds="int32", nanos="int32"),
        _known("google.protobuf.Timestamp", seconds="int64", nanos="int32"),
        *(_known(name, value=scalar) for name, scalar in WRAPPED.items()),
    )
}


@dataclass(slots=True)
class _Draft:
    """A message as it is written: the types of its fields are not looked up yet."""

    name: str
    fields: list[Field] = field(default_factory=list)
    messages: list[_Draft] = field(default_factory=list)


def message_at(text: str, indexes: Sequence[int]) -> Message:
    """The message that the indexes lead to.

    Raises JobError for a definition that no table's column has, ValueError or IndexError for a text that is not a definition.
    """
    reader = _Reader([match["token"] for match in _TOKEN.finditer(text) if match["token"] is not None])
    drafts = reader.file()
    root = drafts[indexes[0]]
    for index in indexes[1:]:
        root = root.messages[index]
    return _resolved(root, {draft.name: draft for draft in _all(drafts)}, ())


def _all(drafts: Sequence[_Draft]) -> list[_Draft]:
    return [found for draft in drafts for found in (draft, *_all(draft.messages))]


class _Reader:
    """Reads the words of a file, one after the other."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._at = 0

    def file(self) -> list[_Draft]:
        """The file's messages."""
        package, messages = "", []
        while self._at < len(self._words):
            match self._next():
                case "package":
                    package = self._next()
                    self._skip()
                case "message":
                    messages.append(self._message(package))
                case ";":
                    pass
                case word if word in _BLOCKS or word in _SENTENCES:
                    self._skip()
                case word:
                    raise ValueError(f"A definition has {word!r} where a message would begin.")
        return messages

    def _next(self) -> str:
        self._at += 1
        return self._words[self._at - 1]

    def _message(self, outer: str) -> _Draft:
        name = self._next()
        draft = _Draft(f"{outer}.{name}" if outer else name)
        self._next()
        while (word := self._next()) != "}":
            if word == "message":
                draft.messages.append(self._message(draft.name))
            elif word == "oneof":
                raise JobError(UNREADABLE, "A definition has a oneof, which no table's column is. Leave its topic out with topics.")
            elif word in _BLOCKS or word in _SENTENCES:
                self._skip()
            elif word != ";":
                draft.fields.append(self._field(word, draft))
        return draft

    def _field(self, word: str, draft: _Draft) -> Field:
        label = word if word in ("optional", "repeated") else ""
        kind = self._next() if label else word
        if kind == "map":
            label, kind = "repeated", self._map(draft)
        name, _, number = self._next(), self._next(), int(self._next())
        return Field(name, number, kind, label == "repeated", label == "optional", self._params())

    def _map(self, draft: _Draft) -> str:
        """The entry's message for ``map<key, value>``."""
        _, key, _, value, _ = (self._next() for _ in range(5))
        name = f"Map{len(draft.messages)}Entry"
        draft.messages.append(_Draft(f"{draft.name}.{name}", [Field("key", 1, key), Field("value", 2, value)]))
        return name

    def _params(self) -> dict[str, str]:
        """What the options of a field say in pairs of ``key`` and ``value``; the words up to the semicolon."""
        found: dict[str, str] = {}
        pair: dict[str, str] = {}
        while (word := self._next()) != ";":
            if word in ("{", "}"):
                if pair.keys() == {"key", "value"}:
                    found[pair["key"]] = pair["value"]
                pair = {}
            elif word in ("key", "value") and self._words[self._at] == ":":
                pair[word] = self._words[self._at + 1][1:-1]
        return found

    def _skip(self) -> None:
        """Pass over the rest of a sentence or a block."""
        depth = 0
        while True:
            word = self._next()
            depth += (word == "{") - (word == "}")
            if depth == 0 and word in (";", "}"):
                return


def _resolved(draft: _Draft, drafts: Mapping[str, _Draft], outer: tuple[str, ...]) -> Message:
    if draft.name in outer:
        raise JobError(UNREADABLE, "A definition has a message within itself, which no table's column is. Leave its topic out with topics.")
    within = (*outer, draft.name)
    return Message(draft.name, [_typed(each, draft.name, drafts, within) for each in draft.fields])


def _typed(each: Field, scope: str, drafts: Mapping[str, _Draft], outer: tuple[str, ...]) -> Field:
    if each.type in SCALARS:
        return each
    message = _KNOWN.get(each.type.removeprefix("."))
    if message is None:
        found = _found(each.type, scope, drafts)
        if found is None:
            raise JobError(UNREADABLE, f"A definition has a field of the type {each.type}, which ProtobufConverter writes for no table.")
        message = _resolved(found, drafts, outer)
    return Field(each.name, each.number, each.type, each.repeated, each.optional, each.params, message)


def _found(name: str, scope: str, drafts: Mapping[str, _Draft]) -> _Draft | None:
    """The message of a name: the innermost scope that has it."""
    if name.startswith("."):
        return drafts.get(name[1:])
    while scope and f"{scope}.{name}" not in drafts:
        scope = scope.rpartition(".")[0]
    return drafts.get(f"{scope}.{name}" if scope else name)
