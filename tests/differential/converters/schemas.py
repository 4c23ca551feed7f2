"""Random schemas of Kafka Connect, of all types, with odd names, and the logical types of Connect and Debezium among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Final

from connector.record.schema import (
    BYTES,
    CONNECT_DATE,
    CONNECT_TIME,
    CONNECT_TIMESTAMP,
    DECIMAL,
    FLOAT64,
    INT32,
    Field,
    Schema,
)
from tests.differential.converters.values import Values

_SCALARS: Final = ("boolean", "int8", "int16", "int32", "int64", "float", "double", "string", "bytes")
_DEBEZIUM: Final = (
    *(("int32", f"io.debezium.time.{name}") for name in ("Date", "Time", "Year")),
    *(("int64", f"io.debezium.time.{name}") for name in ("Timestamp", "MicroTimestamp", "NanoTimestamp", "MicroTime", "MicroDuration")),
    *(("string", f"io.debezium.time.{name}") for name in ("ZonedTimestamp", "ZonedTime", "Interval")),
    *(("string", f"io.debezium.data.{name}") for name in ("Json", "Uuid", "Xml", "Ltree", "Enum", "EnumSet")),
    ("bytes", "io.debezium.data.Bits"),
)
_CONNECT: Final = (("int32", CONNECT_DATE), ("int32", CONNECT_TIME), ("int64", CONNECT_TIMESTAMP))
_VARIABLE: Final = Schema(
    "struct",
    name="io.debezium.data.VariableScaleDecimal",
    version=1,
    doc="Variable scaled decimal",
    fields=(Field("scale", INT32), Field("value", BYTES)),
)
_POINT: Final = Schema(
    "struct",
    name="io.debezium.data.geometry.Point",
    version=1,
    doc="Geometry (POINT)",
    fields=(Field("x", FLOAT64), Field("y", FLOAT64), Field("wkb", BYTES.as_optional()), Field("srid", INT32.as_optional())),
)
_PLAIN_NAMES: Final = ("id", "name", "a", "b", "value", "created_at", "Total", "x1", "key", "data", "before", "after", "_hidden", "__dbz")
_ODD_NAMES: Final = (
    *("é", "größe", "名前", "😀", "with space", "with-dash", "a.b", "a$b", "1st", "2", "select", "message", "package", "optional"),
    *("string", "null", "type", "class", "A_B", "camelCase", 'quo"te', "back\\slash", "tab\t", "nul\0", "\u2028", "%", "a/b", "option"),
    *("oneof", "map", "syntax", "import", "items", "x" * 300, "Ünï", "A", "a_", "a__b", "value_0", "int32", "reserved"),
)
_SCHEMA_NAMES: Final = ("server.public.t.Value", "server.public.t.Key", "Envelope", "inner", "a.b.c", "org.x.Y", "Record1", "p.Inner")
_ODD_SCHEMA_NAMES: Final = (
    *("srv-1.public.t.Value", "server.public.2t.Value", "größe.t", "with space", ".a", "a.", "a..b", "1", "a$b", "p.名前"),
    *("io.debezium.data.Json", "com.x.My-Type", "message", "a.message.b", "x/y", "ConnectDefault", "io.confluent.connect.avro.X"),
)
_DEPTH: Final = 3
_DOCS: Final = ("a document", "", 'with "quotes"', "two\nlines", "ünïcode 😀", "*/ ends a comment", "\\", "tab\there")


@dataclass(frozen=True, slots=True)
class Style:
    """What the schemas may contain. ``odd`` is the share of odd names."""

    odd: float = 0.15
    keys: bool = True
    """Maps may have keys that are not strings."""
    optional_keys: bool = True
    """They may be null."""
    sums: bool = False
    """Some strings and structs are marked as enums and unions."""
    root: str | None = None
    """The type of most schemas; any if None."""


class Schemas:
    """Makes schemas; the same random numbers make the same schemas."""

    def __init__(self, random: Random, values: Values, style: Style) -> None:
        self._random = random
        self._values = values
        self._style = style
        self._named = 0

    def schema(self, depth: int = _DEPTH) -> Schema:
        """Return one schema with at most ``depth`` levels of nesting."""
        random = self._random
        kind = random.random()
        root = self._style.root if depth == _DEPTH and random.random() < 0.9 else None
        if root == "struct":
            made = self.struct(depth)
        elif root is not None:
            made = Schema(root)
        elif kind < 0.45 or depth == 0:
            made = self.scalar()
        elif kind < 0.6:
            made = self._logical()
        elif kind < 0.7:
            made = Schema("array", items=self.schema(depth - 1))
        elif kind < 0.8:
            made = Schema("map", keys=self._map_keys(), values=self.schema(depth - 1))
        else:
            made = self.struct(depth)
        if made.name is None and random.random() < (0.6 if made.type == "struct" else 0.12):
            made = replace(made, name=self._schema_name())
        return self._further(made)

    def scalar(self) -> Schema:
        """Return the schema of a single value."""
        random = self._random
        made = Schema(random.choice(_SCALARS))
        if self._style.sums and made.type == "string" and random.random() < 0.3:
            return self._enum(made)
        return made

    def _enum(self, made: Schema) -> Schema:
        random = self._random
        labels = random.sample(("a", "b", "C", "new_value", "x1", "é", "with space"), random.randint(1, 4))
        marker = random.choice(("org.apache.kafka.connect.data.Enum", "io.confluent.connect.avro.Enum", "io.confluent.connect.json.Enum"))
        inner = [(f"{marker}.{label}", str(place) if marker.startswith("org") else label) for place, label in enumerate(labels)]
        return replace(made, parameters=((marker, self._schema_name()), *inner))

    def _map_keys(self) -> Schema:
        random = self._random
        if not self._style.keys or random.random() < 0.7:
            return Schema("string", optional=self._style.optional_keys and random.random() < 0.15)
        return Schema(
            random.choice(("int32", "int64", "boolean", "int8", "string")), optional=self._style.optional_keys and random.random() < 0.2
        )

    def _logical(self) -> Schema:
        random = self._random
        match random.randrange(5):
            case 0:
                parameters: tuple[tuple[str, str], ...] = (("scale", str(random.choice((0, 1, 2, 2, 5, 10, 38, 40, -1, -5)))),)
                if random.random() < 0.4:
                    parameters = (*parameters, ("connect.decimal.precision", str(random.choice((1, 5, 10, 38, 64, 70)))))
                return Schema("bytes", name=DECIMAL, version=1, parameters=parameters)
            case 1:
                kind, name = random.choice(_CONNECT)
                return Schema(kind, name=name, version=1)
            case 2:
                return _VARIABLE
            case 3 if random.random() < 0.3:
                return _POINT
        kind, name = random.choice(_DEBEZIUM)
        parameters = ()
        if "Enum" in name:
            parameters = (("allowed", random.choice(("a,b", "", "x y,é"))),)
        elif "Bits" in name:
            parameters = (("length", str(random.choice((1, 9, 64, 2147483647)))),)
        return Schema(kind, name=name, version=1, parameters=parameters)

    def struct(self, depth: int) -> Schema:
        """Return the schema of a struct, without a name."""
        random = self._random
        names: dict[str, None] = {}
        for _ in range(random.choice((0, 1, 1, 2, 3, 4, 6))):
            names[self._name()] = None
        return Schema("struct", fields=tuple(Field(name, self.schema(depth - 1)) for name in names))

    def _name(self) -> str:
        return self._random.choice(_ODD_NAMES if self._random.random() < self._style.odd else _PLAIN_NAMES)

    def _schema_name(self) -> str:
        name = self._random.choice(_ODD_SCHEMA_NAMES if self._random.random() < self._style.odd else _SCHEMA_NAMES)
        if self._random.random() < 0.98:
            # Several schemas of one name are a case of their own, which is not to hide the others.
            self._named += 1
            return f"{name}{self._named}"
        return name

    def _further(self, made: Schema) -> Schema:
        random = self._random
        if random.random() < 0.35:
            made = made.as_optional()
        if made.version is None and random.random() < 0.15:
            made = replace(made, version=random.choice((1, 2, 0, -1, 2147483647)))
        if made.doc is None and random.random() < 0.12:
            made = replace(made, doc=random.choice(_DOCS))
        if random.random() < 0.1:
            names = random.sample(("__debezium.source.column.type", "p", "q", "é", "length", "scale2"), random.randint(1, 3))
            made = made.with_parameters({name: random.choice(("1", "VARCHAR", "", "é", 'a"b', "true")) for name in names})
        # A struct has its schema, so it cannot be the default of the same schema.
        if made.type != "struct" and random.random() < 0.15:
            made = made.with_default(self._values.value(made.as_optional(False)))
        return made
