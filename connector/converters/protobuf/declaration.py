"""What a file of Protocol Buffers declares: messages and their fields. The file may be anyone's, of proto2 or proto3.

Source: Protocol Buffers documentation, "Language Specification". Options, reserved numbers, services and extensions are passed over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from connector.converters.protobuf.indexes import tokens

_LABELS: Final = frozenset({"optional", "required", "repeated"})
_BLOCKS: Final = frozenset({"service", "extend"})
_SENTENCES: Final = frozenset({"syntax", "edition", "import", "option", "reserved", "extensions", ";"})


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """A field. ``label`` is the one that is written, if any. ``key`` is the type of the keys of a map, whose values have ``type``."""

    name: str
    number: int
    type: str
    label: str = ""
    key: str = ""


@dataclass(slots=True)
class DeclaredMessage:
    """A message, by its name within the package. ``oneofs`` have the fields that are not in ``fields``."""

    name: str
    fields: list[DeclaredField] = field(default_factory=list)
    oneofs: dict[str, list[DeclaredField]] = field(default_factory=dict)
    messages: list[DeclaredMessage] = field(default_factory=list)


@dataclass(slots=True)
class DeclaredFile:
    """A file: its own messages, and the names of all messages and enums, within the package."""

    package: str = ""
    messages: list[DeclaredMessage] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    enums: set[str] = field(default_factory=set)

    def resolved(self, name: str, scope: str) -> str:
        """The name within the package of a type that a field of ``scope`` has; the name itself for a type of another file."""
        if name.startswith("."):
            return name[1:].removeprefix(f"{self.package}.") if self.package else name[1:]
        while scope and f"{scope}.{name}" not in self.names:
            scope = scope.rpartition(".")[0]
        found = f"{scope}.{name}" if scope else name
        own = name.removeprefix(f"{self.package}.") if self.package else name
        return found if found in self.names else own if own in self.names else name


def declared(text: str) -> DeclaredFile:
    """Read a file. Raises ValueError for a text that is none, and for groups of proto2."""
    try:
        return _Reader(tokens(text)).file()
    except IndexError:
        raise ValueError("the definition is not complete") from None


class _Reader:
    """Reads the words of a file, one after the other."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._at = 0
        self._file = DeclaredFile()

    def file(self) -> DeclaredFile:
        """The whole file."""
        while self._at < len(self._words):
            match self._next():
                case "package":
                    self._file.package = self._next()
                    self._skip(";")
                case "message":
                    self._file.messages.append(self._message(""))
                case "enum":
                    self._enum("")
                case word if word in _BLOCKS:
                    self._block()
                case word if word in _SENTENCES:
                    self._skip(word)
                case word:
                    raise ValueError(f"the definition has the word {word} where a message or a sentence would begin")
        return self._file

    def _next(self) -> str:
        self._at += 1
        return self._words[self._at - 1]

    def _expect(self, wanted: str) -> None:
        if (found := self._next()) != wanted:
            raise ValueError(f"the definition has {found} in place of {wanted}")

    def _named(self, scope: str) -> str:
        name = self._next()
        full = f"{scope}.{name}" if scope else name
        self._file.names.add(full)
        return full

    def _message(self, scope: str) -> DeclaredMessage:
        message = DeclaredMessage(self._named(scope))
        self._expect("{")
        while (word := self._next()) != "}":
            if word == "message" and self._opens():
                message.messages.append(self._message(message.name))
            elif word == "enum" and self._opens():
                self._enum(message.name)
            elif word == "oneof" and self._opens():
                name = self._next()
                message.oneofs[name] = self._members()
            elif word in _BLOCKS:
                self._block()
            elif word in _SENTENCES:
                self._skip(word)
            else:
                message.fields.append(self._field(word))
        return message

    def _opens(self) -> bool:
        """Whether a name and a brace follow. Fields may have types with these words as names."""
        return self._words[self._at + 1] == "{"

    def _members(self) -> list[DeclaredField]:
        self._expect("{")
        found = []
        while (word := self._next()) != "}":
            if word in _SENTENCES:
                self._skip(word)
            else:
                found.append(self._field(word))
        return found

    def _field(self, word: str) -> DeclaredField:
        label = word if word in _LABELS else ""
        kind, key = self._next() if label else word, ""
        if kind == "group":
            raise ValueError("the definition has a group")
        if kind == "map" and self._words[self._at] == "<":
            self._expect("<")
            key = self._next()
            self._expect(",")
            kind = self._next()
            self._expect(">")
        name = self._next()
        self._expect("=")
        number = int(self._next(), 0)
        self._skip("=")
        return DeclaredField(name, number, kind, label, key)

    def _enum(self, scope: str) -> None:
        self._file.enums.add(self._named(scope))
        self._block()

    def _block(self) -> None:
        """Pass over all up to the end of the next block."""
        while self._next() != "{":
            pass
        depth = 1
        while depth:
            word = self._next()
            depth += (word == "{") - (word == "}")

    def _skip(self, word: str) -> None:
        """Pass over the rest of a sentence, unless ``word`` was its end. Options may have braces."""
        while word != ";":
            word = self._next()
