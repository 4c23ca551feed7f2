"""Reader and writer of Java's serialized objects (ObjectOutputStream), for classes that are known beforehand.

Source: Java Object Serialization Specification, chapter 6, "Object Serialization Stream Protocol". The reader creates and runs nothing that
a stream names. It fails with the name of a class that is not in the caller's table. The writer produces Java's bytes: a class is described
once and referenced afterwards, and so is a Python object that occurs several times.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_HEADER: Final = b"\xac\xed\x00\x05"
_NULL, _REFERENCE, _CLASS_DESC, _OBJECT, _STRING, _ARRAY = b"\x70", b"\x71", b"\x72", b"\x73", b"\x74", b"\x75"
_BLOCK, _END_BLOCK, _LONG_BLOCK, _LONG_STRING = b"\x77", b"\x78", b"\x7a", b"\x7c"
_FIRST_HANDLE: Final = 0x7E0000
_MOST_SHORT: Final = 0xFFFF
_DEEPEST: Final = 8
"""The maximum nesting of objects. The deepest known nesting, a decimal's magnitude in an array, is four."""
_NUMBERS: Final = {code: struct.Struct(">" + form) for code, form in zip("BCDFIJSZ", "bHdfiqh?", strict=True)}
_ASTRAL: Final = re.compile("[\U00010000-\U0010ffff]")

SERIALIZABLE: Final = 2
WITH_METHOD: Final = 3
"""The flags of a class whose ``writeObject`` may add data after its fields."""


class JavaStreamError(ValueError):
    """The stream is malformed or contains an unknown class. The text contains places and classes, never a value."""


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A class as a stream describes it.

    ``uid`` is its serialVersionUID, unsigned. ``fields`` are names and JVM type signatures in Java's order, primitive types first.
    """

    name: str
    uid: int
    flags: int = SERIALIZABLE
    fields: tuple[tuple[str, str], ...] = ()
    parent: JavaClass | None = None

    def lineage(self) -> list[JavaClass]:
        """Return the class and its superclasses, the topmost first, which is the order of their fields in a stream."""
        return [*(self.parent.lineage() if self.parent else ()), self]


@dataclass(eq=False, slots=True)
class JavaObject:
    """An object: its fields by name, and the data that its ``writeObject`` added. No known class repeats a field name of its superclass.

    Objects are compared by identity, as in a stream.
    """

    java_class: JavaClass
    fields: dict[str, Node] = field(default_factory=dict)
    block: bytes = b""
    more: tuple[Node, ...] = ()


@dataclass(eq=False, slots=True)
class JavaString:
    """A string that a stream may reference several times."""

    text: str


@dataclass(eq=False, slots=True)
class JavaArray:
    """An array: the bytes of a ``byte[]``, or the items of an array of objects."""

    java_class: JavaClass
    items: bytes | tuple[Node, ...]


Node = JavaObject | JavaString | JavaArray | int | float | bool | None
"""A field of a primitive type is a number or bool."""


def read_stream(data: bytes, known: Mapping[str, JavaClass]) -> Node:
    """Return the one object of a stream. ``known`` holds all classes that it may name. Raises JavaStreamError."""
    reader = _Reader(data, known)
    found = reader.stream()
    if reader.at != len(data):
        raise JavaStreamError("Java stream goes on after its object")
    return found


def write_stream(node: Node) -> bytes:
    """Return the stream that Java would write for ``node``."""
    writer = _Writer()
    writer.node(node)
    return bytes(writer.out)


def modified_utf8(text: str) -> bytes:
    """Return Java's modified UTF-8: NUL as two bytes, characters beyond U+FFFF as two surrogates (DataInput, "Modified UTF-8")."""
    split = _ASTRAL.sub(lambda found: _surrogates(found.group()), text)
    return split.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")


def _surrogates(character: str) -> str:
    offset = ord(character) - 0x10000
    return chr(0xD800 + (offset >> 10)) + chr(0xDC00 + (offset & 0x3FF))


def from_modified_utf8(data: bytes) -> str:
    """Return the text of :func:`modified_utf8`. Raises JavaStreamError."""
    try:
        if data and max(data) >= 0xF0:
            raise JavaStreamError("Text in a Java stream is not in modified UTF-8")
        text = data.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
        return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
    except UnicodeDecodeError:
        raise JavaStreamError("Text in a Java stream is not in modified UTF-8") from None


class _Reader:
    """Reads a stream once. Every length is compared with the remaining bytes before memory is allocated."""

    def __init__(self, data: bytes, known: Mapping[str, JavaClass]) -> None:
        self.data = data
        self.known = known
        self.at = 0
        self.depth = 0
        self.handles: list[JavaClass | JavaObject | JavaString | JavaArray] = []
        self.open: set[int] = set()

    def stream(self) -> Node:
        if self.take(4) != _HEADER:
            raise JavaStreamError("Text is no Java stream of version 5")
        return self.node()

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self.data) - self.at:
            raise JavaStreamError(f"Java stream ends at byte {len(self.data)} where more is announced")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, code: str) -> int | float | bool:
        form = _NUMBERS[code]
        found: int | float | bool = form.unpack(self.take(form.size))[0]
        return found

    def length(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def utf(self) -> str:
        return from_modified_utf8(self.take(self.length(2)))

    def handle(self, item: JavaClass | JavaObject | JavaString | JavaArray) -> int:
        self.handles.append(item)
        return len(self.handles) - 1

    def reference(self) -> JavaClass | JavaObject | JavaString | JavaArray:
        index = self.length(4) - _FIRST_HANDLE
        if not 0 <= index < len(self.handles) or index in self.open:
            raise JavaStreamError(f"Java stream points to an object it does not have, before byte {self.at}")
        return self.handles[index]

    def node(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise JavaStreamError("Java stream nests deeper than any known class")
        try:
            return self.content(self.take(1))
        finally:
            self.depth -= 1

    def content(self, tag: bytes) -> Node:
        if tag == _NULL:
            return None
        if tag == _REFERENCE:
            found = self.reference()
            if isinstance(found, JavaClass):
                raise JavaStreamError("Java stream holds a class where an object belongs")
            return found
        if tag in (_STRING, _LONG_STRING):
            text = JavaString(from_modified_utf8(self.take(self.length(2 if tag == _STRING else 8))))
            self.handle(text)
            return text
        if tag == _ARRAY:
            return self.array()
        if tag == _OBJECT:
            return self.instance()
        raise JavaStreamError(f"Java stream has content of the kind 0x{tag.hex()} before byte {self.at}, which no key has")

    def array(self) -> JavaArray:
        described = self.class_of(arrays=True)
        array = JavaArray(described, b"")
        index = self.handle(array)
        count = self.length(4)
        if described.name == "[B":
            array.items = self.take(count)
            return array
        if count > len(self.data) - self.at:
            # Every item takes at least one byte.
            raise JavaStreamError("Java stream announces a longer array than it can hold")
        self.open.add(index)
        array.items = tuple([self.node() for _ in range(count)])
        self.open.remove(index)
        return array

    def instance(self) -> JavaObject:
        described = self.class_of(arrays=False)
        made = JavaObject(described)
        index = self.handle(made)
        self.open.add(index)
        for level in described.lineage():
            for name, signature in level.fields:
                made.fields[name] = self.node() if signature[0] in "L[" else self.number(signature)
            if level.flags == WITH_METHOD:
                self.added(made)
        self.open.remove(index)
        return made

    def added(self, made: JavaObject) -> None:
        """Read the data that ``writeObject`` wrote after the fields: raw bytes, then objects."""
        block, more = bytearray(), []
        while (tag := self.take(1)) != _END_BLOCK:
            if tag in (_BLOCK, _LONG_BLOCK):
                block += self.take(self.length(1 if tag == _BLOCK else 4))
            else:
                self.at -= 1
                more.append(self.node())
        made.block, made.more = bytes(block), tuple(more)

    def class_of(self, *, arrays: bool) -> JavaClass:
        described = self.class_desc()
        if described is None or (described.name[0] == "[") != arrays:
            raise JavaStreamError("Java stream has an array of a class or an object of an array's class")
        return described

    def class_desc(self) -> JavaClass | None:
        tag = self.take(1)
        if tag == _NULL:
            return None
        if tag == _REFERENCE:
            found = self.reference()
            if isinstance(found, JavaClass):
                return found
            raise JavaStreamError("Java stream holds an object where a class belongs")
        if tag != _CLASS_DESC:
            raise JavaStreamError(f"Java stream describes a class in the form 0x{tag.hex()}, which no key has")
        name = self.utf()
        known = self.known.get(name)
        if known is None:
            raise JavaStreamError(f"Java class {_printable(name)} is not one that a key can have")
        # Ignore the serialVersionUID: it changes with any method of a driver's class, even if the fields are the same.
        self.take(8)
        # The class takes its handle before the fields, whose signatures are strings and take handles too.
        self.handle(known)
        flags = self.length(1)
        fields = tuple([self.field() for _ in range(self.length(2))])
        if self.take(1) != _END_BLOCK:
            raise JavaStreamError(f"Java class {name} is annotated, which no key's class is")
        if (flags, fields, self.class_desc()) != (known.flags, known.fields, known.parent):
            raise JavaStreamError(f"Java class {name} has other fields than the known one")
        return known

    def field(self) -> tuple[str, str]:
        code = chr(self.length(1))
        name = self.utf()
        if code not in "L[":
            if code not in _NUMBERS:
                raise JavaStreamError(f"Java stream has a field of the unknown type 0x{ord(code):02x}")
            return name, code
        signature = self.node()
        if not isinstance(signature, JavaString) or signature.text[:1] != code:
            raise JavaStreamError("Java stream has a field without a type")
        return name, signature.text


class _Writer:
    """Appends nodes to ``out``. ``handles`` has classes and type signatures by value, and objects by identity."""

    def __init__(self) -> None:
        self.out = bytearray(_HEADER)
        self.next = _FIRST_HANDLE
        self.handles: dict[object, int] = {}

    def known(self, key: object) -> bool:
        """Return whether ``key`` has a handle, and write a reference to it in that case."""
        handle = self.handles.get(key)
        if handle is None:
            return False
        self.out += _REFERENCE + handle.to_bytes(4, "big")
        return True

    def remember(self, key: object) -> None:
        self.handles[key] = self.next
        self.next += 1

    def node(self, node: Node) -> None:
        match node:
            case None:
                self.out += _NULL
            case JavaString():
                self.string(node, node.text)
            case JavaArray():
                self.array(node)
            case JavaObject():
                self.instance(node)
            case _:
                raise TypeError("A number of Java is written as a field, never by itself")

    def string(self, key: object, text: str) -> None:
        if self.known(key):
            return
        self.remember(key)
        data = modified_utf8(text)
        self.out += _STRING + len(data).to_bytes(2, "big") if len(data) <= _MOST_SHORT else _LONG_STRING + len(data).to_bytes(8, "big")
        self.out += data

    def array(self, array: JavaArray) -> None:
        if self.known(array):
            return
        self.out += _ARRAY
        self.class_desc(array.java_class)
        self.remember(array)
        self.out += len(array.items).to_bytes(4, "big")
        if isinstance(array.items, bytes):
            self.out += array.items
            return
        for item in array.items:
            self.node(item)

    def instance(self, made: JavaObject) -> None:
        if self.known(made):
            return
        self.out += _OBJECT
        self.class_desc(made.java_class)
        self.remember(made)
        for level in made.java_class.lineage():
            for name, signature in level.fields:
                value = made.fields[name]
                if signature[0] in "L[":
                    self.node(value)
                else:
                    self.out += _NUMBERS[signature].pack(value)
            if level.flags == WITH_METHOD:
                if made.block:
                    # The blocks of known classes have a few bytes.
                    self.out += _BLOCK + len(made.block).to_bytes(1, "big") + made.block
                for item in made.more:
                    self.node(item)
                self.out += _END_BLOCK

    def class_desc(self, described: JavaClass | None) -> None:
        if described is None:
            self.out += _NULL
            return
        if self.known(described.name):
            return
        self.out += _CLASS_DESC
        self.utf(described.name)
        self.out += described.uid.to_bytes(8, "big")
        self.remember(described.name)
        self.out += described.flags.to_bytes(1, "big") + len(described.fields).to_bytes(2, "big")
        for name, signature in described.fields:
            self.out += signature[:1].encode()
            self.utf(name)
            if signature[0] in "L[":
                self.string(("signature", signature), signature)
        self.out += _END_BLOCK
        self.class_desc(described.parent)

    def utf(self, text: str) -> None:
        data = modified_utf8(text)
        self.out += len(data).to_bytes(2, "big") + data


def _printable(name: str) -> str:
    """Return a class name from a stream with unsafe characters replaced, for a log."""
    return re.sub(r"[^\w.$\[;/]", "?", name, flags=re.ASCII)[:200] or "without a name"
