"""Java's values, as a script sees them.

Most are plain Python values: None, ``bool``, ``int`` for an Integer, ``float`` for a Double, ``Decimal`` for a BigDecimal, ``str``,
``list`` and ``bytes``. The classes here are for what Python does not tell apart: ``1L`` is not equal to ``1`` inside a list in Java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from connector.java.floats import as_float32
from connector.java.regex.matching import Pattern
from connector.record.schema import Schema
from connector.transforms.scripting.problem import EvaluationError


class Long(int):
    """A 64 bit integer."""

    __slots__ = ()


class Short(int):
    """A 16 bit integer."""

    __slots__ = ()


class Byte(int):
    """An 8 bit integer."""

    __slots__ = ()


class BigInteger(int):
    """An integer of any size."""

    __slots__ = ()


class Float(float):
    """A 32 bit floating-point number, held as the same 64 bit one."""

    __slots__ = ()


class Character(str):
    """A single character, which is not equal to a String in Java's own comparison."""

    __slots__ = ()


class GString(str):
    """The text of a string with expressions in it. It is no String for Java."""

    __slots__ = ()


class JavaMap:
    """A map that keeps its order and tells keys apart as Java does."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Sequence[tuple[Any, Any]] = ()) -> None:
        self._entries = {identity(key): (key, value) for key, value in entries}

    def get(self, key: Any) -> Any:
        """Return the value of a key, or None."""
        found = self._entries.get(identity(key))
        return None if found is None else found[1]

    def __contains__(self, key: object) -> bool:
        return identity(key) in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Yield keys and values, in order."""
        return iter(self._entries.values())

    def keys(self) -> list[Any]:
        """Return the keys, in order."""
        return [key for key, _ in self._entries.values()]

    def values(self) -> list[Any]:
        """Return the values, in order."""
        return [value for _, value in self._entries.values()]


class Range(list[Any]):
    """``1..3`` as the list that it stands for; ``text`` is the range as Java writes it.

    ``by_value``: it is no IntRange, and holds numbers that are equal to a member, of whatever class.
    """

    __slots__ = ("by_value", "text")

    def __init__(self, items: Iterable[Any], text: str, *, by_value: bool = False) -> None:
        super().__init__(items)
        self.text = text
        self.by_value = by_value


class Array(list[Any]):
    """An array of Strings, as ``split`` gives it."""

    __slots__ = ()


class JavaSet(list[Any]):
    """A set, in the order of its first occurrences."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class MapEntry:
    """An entry of a map, as closures see it."""

    key: Any
    value: Any


@dataclass(frozen=True, slots=True)
class StructField:
    """A field of a struct's schema (``org.apache.kafka.connect.data.Field``)."""

    name: str
    index: int
    schema: Schema


@dataclass(frozen=True, slots=True)
class SchemaType:
    """A constant of ``Schema.Type``."""

    name: str


@dataclass(frozen=True, slots=True)
class RecordHeader:
    """A header's value and schema."""

    value: Any
    schema: Schema | None


@dataclass(frozen=True, slots=True)
class Date:
    """``java.util.Date``: milliseconds since 1970."""

    time: int


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A class that a script names, or that ``value.class`` gives."""

    name: str

    @property
    def simple(self) -> str:
        """The name without its package."""
        return self.name.rpartition(".")[2].rpartition("$")[2]


class StructReader:
    """Reads the fields of the structs of one schema. Made once for each schema."""

    __slots__ = ("fields", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.fields: dict[str, tuple[Callable[[Any], Any] | None, Any]] = {}
        for field in schema.fields:
            read = reader(field.schema)
            default = field.schema.default if isinstance(field.schema.default, (str, int, float, Decimal, list, dict)) else None
            self.fields[field.name] = (read, default if default is None or read is None else read(default))


class Struct:
    """A struct (``org.apache.kafka.connect.data.Struct``)."""

    __slots__ = ("reader", "row")

    def __init__(self, reader: StructReader, row: dict[str, Any]) -> None:
        self.reader = reader
        self.row = row

    def get(self, name: str) -> Any:
        """Return a field's value, or its default in place of null. Raises EvaluationError for an unknown field."""
        try:
            read, default = self.reader.fields[name]
        except KeyError:
            raise EvaluationError(f"{name} is not a valid field name") from None
        value = self.row[name]
        if value is None:
            return default
        return value if read is None else read(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct) and self.reader.schema == other.reader.schema and self.row == other.row

    def __hash__(self) -> int:
        return id(self.reader.schema)


@dataclass(slots=True)
class Matcher:
    """A matcher of a text (``java.util.regex.Matcher``). ``found`` is the last match."""

    pattern: Pattern
    text: str
    engine: Any
    """What finds the pattern in the text."""
    found: Any = None
    at: int = 0


def reader(schema: Schema) -> Callable[[Any], Any] | None:
    """A function that makes the script's value of a value of this schema; None where they are the same."""
    match schema.name:
        case "org.apache.kafka.connect.data.Decimal":
            return None
        case "org.apache.kafka.connect.data.Date":
            return lambda days: Date(days * 86_400_000)
        case "org.apache.kafka.connect.data.Time" | "org.apache.kafka.connect.data.Timestamp":
            return Date
    match schema.type:
        case "struct":
            fields = StructReader(schema)
            return lambda row: Struct(fields, row)
        case "array" if schema.items is not None:
            item = reader(schema.items)
            # A copy, because sort and add change a list.
            return list if item is None else lambda items: [None if each is None else item(each) for each in items]
        case "map" if schema.keys is not None and schema.values is not None:
            return _map_reader(reader(schema.keys), reader(schema.values))
    return _NUMBERS.get(schema.type)


_NUMBERS: Final[dict[str, Callable[[Any], Any]]] = {
    "int8": Byte,
    "int16": Short,
    "int64": Long,
    "float": lambda value: Float(as_float32(value)),
}


def _map_reader(key: Callable[[Any], Any] | None, value: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    def read(of: Callable[[Any], Any] | None, each: Any) -> Any:
        return each if of is None or each is None else of(each)

    return lambda entries: JavaMap([(read(key, each), read(value, held)) for each, held in entries.items()])


def plain(value: Any) -> Any:
    """Make the script's value of a value without a schema: whole numbers are Longs, as JsonConverter reads them."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return Long(value)
    if isinstance(value, dict):
        return JavaMap([(plain(key), plain(each)) for key, each in value.items()])
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value


def identity(value: Any) -> Any:
    """What two values have in common that are equal by Java's ``equals``, and no others. It can be a key of a dict."""
    kind = type(value)
    if kind is str or value is None:
        return value
    if isinstance(value, list):
        return (JavaSet, frozenset(map(identity, value))) if kind is JavaSet else (list, tuple(map(identity, value)))
    if isinstance(value, JavaMap):
        return JavaMap, frozenset((identity(key), identity(each)) for key, each in value.items())
    if isinstance(value, Decimal):
        return Decimal, value.as_tuple()
    if isinstance(value, float):
        return kind, "NaN" if value != value else repr(float(value))  # noqa: PLR0124 - only NaN differs from itself
    if isinstance(value, Struct):
        return Struct, id(value.reader.schema), id(value.row)
    if isinstance(value, (int, str, bytes, Date, StructField, SchemaType, JavaClass, MapEntry)):
        return kind, value
    return kind, id(value)


CLASSES: Final[dict[type, str]] = {
    bool: "java.lang.Boolean",
    int: "java.lang.Integer",
    Long: "java.lang.Long",
    Short: "java.lang.Short",
    Byte: "java.lang.Byte",
    BigInteger: "java.math.BigInteger",
    float: "java.lang.Double",
    Float: "java.lang.Float",
    Decimal: "java.math.BigDecimal",
    str: "java.lang.String",
    Character: "java.lang.Character",
    GString: "org.codehaus.groovy.runtime.GStringImpl",
    list: "java.util.ArrayList",
    Range: "groovy.lang.IntRange",
    Array: "java.lang.String[]",
    JavaSet: "java.util.LinkedHashSet",
    JavaMap: "java.util.LinkedHashMap",
    MapEntry: "java.util.LinkedHashMap$Entry",
    Struct: "org.apache.kafka.connect.data.Struct",
    Schema: "org.apache.kafka.connect.data.ConnectSchema",
    StructField: "org.apache.kafka.connect.data.Field",
    SchemaType: "org.apache.kafka.connect.data.Schema$Type",
    RecordHeader: "io.debezium.transforms.scripting.RecordHeader",
    Date: "java.util.Date",
    JavaClass: "java.lang.Class",
    Pattern: "java.util.regex.Pattern",
    Matcher: "java.util.regex.Matcher",
    bytes: "java.nio.HeapByteBuffer",
}


def class_of(value: Any) -> str:
    """The name of a value's Java class, for error messages too."""
    return "null" if value is None else CLASSES.get(type(value), "groovy.lang.Closure")
