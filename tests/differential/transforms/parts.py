"""Random schemas and values, as the JSON that Kafka's JsonConverter reads and writes."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

Json = dict[str, Any]

NAMES: Final = (
    "id",
    "a",
    "b",
    "c",
    "name",
    "payload",
    "ts",
    "amount",
    "type",
    "a.b",
    "x y",
    "ä",
    "before",
    "after",
    "op",
    "__deleted",
    "A",
)
"""Names of fields. Few, so that options meet them."""
_TEXTS: Final = ("", " ", "a", "null", "true", "False", "1", "-7", "3.5", "1e3", "NaN", "ä€𝄞", '{"a":1}', "[1,2]", "2021-01-02", "x" * 40)
_WHOLE: Final = (0, 1, -1, 2, 7, 100, 127, -128, 255)


class Part(NamedTuple):
    """A schema and a value of it; both are JSON."""

    schema: Json | None
    value: Any

    def text(self) -> str | None:
        """Return what JsonConverter reads; None for null without a schema."""
        return None if self.schema is None and self.value is None else json.dumps({"schema": self.schema, "payload": self.value})


Value = Callable[[Random], Any]


class Kind(NamedTuple):
    """A type with what is random about its values."""

    schema: Json
    value: Value


def _int(bits: int) -> Value:
    edges = (*(number for number in _WHOLE if bits > 8 or -128 <= number < 128), 2 ** (bits - 1) - 1, -(2 ** (bits - 1)))

    def value(random: Random) -> int:
        return random.choice(edges) if random.random() < 0.6 else random.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))

    return value


def _float(random: Random) -> float:
    value = random.choice((0.0, 1.0, -1.5, 0.1, 1e10, 1e-7, 123456.789, random.uniform(-1e6, 1e6)))
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _double(random: Random) -> float:
    return random.choice((0.0, 1.0, 0.1, 1e21, 1e-7, 2**63, -1.5, random.uniform(-1e9, 1e9), random.gauss(0, 1)))


def _text(random: Random) -> str:
    return random.choice(_TEXTS)


def _bytes(random: Random) -> str:
    return base64.b64encode(random.randbytes(random.choice((0, 1, 3, 8)))).decode()


def _bits(random: Random) -> str:
    # JsonConverter reads empty ones as the same object, which Debezium's connector does not.
    return base64.b64encode(random.randbytes(random.choice((1, 2)))).decode()


def _decimal(random: Random) -> str:
    number = random.choice((0, 1, -1, 5, 12345, -99999, 10**20, random.randrange(-(10**12), 10**12)))
    return base64.b64encode(number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)).decode()


def _chosen(*values: Any) -> Value:
    return lambda random: random.choice(values)


def _within(low: int, high: int) -> Value:
    return lambda random: random.choice((0, 1, high, random.randrange(low, high + 1)))


def _named(kind: str, name: str | None = None, version: int | None = None, **more: Any) -> Json:
    schema: Json = {"type": kind, "optional": False}
    if name is not None:
        schema["name"] = name
    if version is not None:
        schema["version"] = version
    return schema | more


_TIME: Final = "io.debezium.time"
_CONNECT: Final = "org.apache.kafka.connect.data"
_SECONDS: Final = _within(-2_000_000_000, 4_000_000_000)
_DAY: Final = 86_400
PLAIN: Final = (
    Kind(_named("int8"), _int(8)),
    Kind(_named("int16"), _int(16)),
    Kind(_named("int32"), _int(32)),
    Kind(_named("int64"), _int(64)),
    Kind(_named("float"), _float),
    Kind(_named("double"), _double),
    Kind(_named("boolean"), _chosen(True, False)),
    Kind(_named("string"), _text),
    Kind(_named("bytes"), _bytes),
)
TIMES: Final = (
    Kind(_named("int32", f"{_CONNECT}.Date", 1), _within(-30_000, 60_000)),
    Kind(_named("int32", f"{_CONNECT}.Time", 1), _within(0, _DAY * 1000 - 1)),
    Kind(_named("int64", f"{_CONNECT}.Timestamp", 1), lambda random: _SECONDS(random) * 1000 + random.choice((0, 123))),
    Kind(_named("int32", f"{_TIME}.Date", 1), _within(-30_000, 60_000)),
    Kind(_named("int32", f"{_TIME}.Time", 1), _within(0, _DAY * 1000)),
    Kind(_named("int64", f"{_TIME}.MicroTime", 1), _within(0, _DAY * 1_000_000)),
    Kind(_named("int64", f"{_TIME}.NanoTime", 1), _within(0, _DAY * 1_000_000_000)),
    Kind(_named("int64", f"{_TIME}.Timestamp", 1), lambda random: _SECONDS(random) * 1000 + random.choice((0, 1, 123, -1))),
    Kind(_named("int64", f"{_TIME}.MicroTimestamp", 1), lambda random: _SECONDS(random) * 1_000_000 + random.choice((0, 1, 123456, -1))),
    Kind(_named("int64", f"{_TIME}.NanoTimestamp", 1), lambda random: _SECONDS(random) * 1_000_000_000 + random.choice((0, 1, 123456789))),
    Kind(
        _named("string", f"{_TIME}.ZonedTimestamp", 1),
        _chosen("2021-03-04T05:06:07Z", "2021-07-04T05:06:07.123456Z", "1969-12-31T23:59:59.9+02:00", "2262-04-11T23:47:16.854775807Z"),
    ),
    Kind(_named("string", f"{_TIME}.ZonedTime", 1), _chosen("05:06:07Z", "05:06:07.123456Z", "00:00:00+02:00", "23:59:59.9Z")),
    Kind(_named("int64", f"{_TIME}.MicroDuration", 1), _int(64)),
    Kind(_named("string", f"{_TIME}.Interval", 1), _chosen("P1Y2M3DT4H5M6.78S", "P0Y0M0DT0H0M0S")),
    Kind(_named("int32", f"{_TIME}.Year", 1), _within(1901, 2155)),
)
_POINT: Final = {"x": "double", "y": "double"}


def _wkb(random: Random) -> str:
    point = struct.pack("<BIdd", 1, 1, random.choice((1.0, -2.5)), random.choice((3.0, 0.25)))
    with_srid = struct.pack("<BIIdd", 1, 0x20000001, 4326, 1.5, 2.5)
    big = struct.pack(">BIdd", 0, 1, 7.0, 8.0)
    line = struct.pack("<BII4d", 1, 2, 2, 1.0, 2.0, 3.0, 4.0)
    return base64.b64encode(random.choice((point, with_srid, big, line, b"", point[:9]))).decode()


def field(name: str, schema: Json, **changes: Any) -> Json:
    """Return the schema as one of a field."""
    return schema | changes | {"field": name}


def _geometry(random: Random) -> Any:
    return {"wkb": _wkb(random), "srid": random.choice((None, 4326, 3857, 0))}


def _geometry_point(random: Random) -> Any:
    return {"x": _double(random), "y": _double(random), **_geometry(random)}


_WKB: Final = (field("wkb", _named("bytes")), field("srid", _named("int32"), optional=True))
OTHERS: Final = (
    Kind(_named("bytes", f"{_CONNECT}.Decimal", 1, parameters={"scale": "2"}), _decimal),
    Kind(_named("bytes", f"{_CONNECT}.Decimal", 1, parameters={"scale": "0", "connect.decimal.precision": "10"}), _decimal),
    Kind(_named("string", "io.debezium.data.Uuid", 1), _chosen("6f1c8a2e-0000-4000-8000-000000000001")),
    Kind(_named("string", "io.debezium.data.Json", 1), _chosen("{}", '{"a": [1, null]}', "[]", "1", "null")),
    Kind(_named("string", "io.debezium.data.Enum", 1, parameters={"allowed": "a,b"}), _chosen("a", "b")),
    Kind(_named("bytes", "io.debezium.data.Bits", 1, parameters={"length": "9"}), _bits),
    Kind(
        _named(
            "struct", "io.debezium.data.VariableScaleDecimal", 1, fields=[field("scale", _named("int32")), field("value", _named("bytes"))]
        ),
        lambda random: {"scale": random.choice((0, 3)), "value": _decimal(random)},
    ),
    Kind(_named("struct", "io.debezium.data.geometry.Geometry", 1, fields=list(_WKB)), _geometry),
    Kind(_named("struct", "io.debezium.data.geometry.Geography", 1, fields=list(_WKB)), _geometry),
    Kind(
        _named(
            "struct", "io.debezium.data.geometry.Point", 1, fields=[*(field(each, _named(kind)) for each, kind in _POINT.items()), *_WKB]
        ),
        _geometry_point,
    ),
    Kind(
        _named("array", "io.debezium.data.DoubleVector", 1, items=_named("double")),
        lambda random: [_double(random) for _ in range(random.randrange(3))],
    ),
    Kind(
        _named("array", "io.debezium.data.FloatVector", 1, items=_named("float")),
        lambda random: [_float(random) for _ in range(random.randrange(3))],
    ),
    Kind(
        _named(
            "struct",
            "io.debezium.data.SparseDoubleVector",
            1,
            fields=[
                field("dimensions", _named("int16")),
                field("vector", _named("map", keys=_named("int16"), values=_named("double"))),
            ],
        ),
        lambda random: {"dimensions": 5, "vector": [[at, _double(random)] for at in range(random.randrange(3))]},
    ),
)


def _cannot_have_default(schema: Json) -> bool:
    """Whether JsonConverter cannot read its default, or not in its order: a struct or a map, or an array that holds some."""
    return schema["type"] in ("struct", "map") or ("items" in schema and _cannot_have_default(schema["items"]))


class Maker:
    """Makes parts with one source of randomness."""

    def __init__(self, random: Random) -> None:
        self.random: Final = random

    def kind(self, depth: int = 2) -> Kind:
        """Return a type, with default, documentation and so on."""
        draw = self.random.random()
        if draw < 0.45:
            found = self.random.choice(PLAIN)
        elif draw < 0.65:
            found = self.random.choice(TIMES)
        elif draw < 0.8 or depth <= 0:
            found = self.random.choice(OTHERS)
        elif draw < 0.87:
            item = self.kind(depth - 1)
            found = Kind(_named("array", items=item.schema), lambda random: [self.value(item) for _ in range(random.randrange(3))])
        elif draw < 0.93:
            found = self._map(depth)
        else:
            found = self.struct(depth - 1)
        return self.decorated(found)

    def _map(self, depth: int) -> Kind:
        key, item = self.random.choice((PLAIN[7], PLAIN[7], PLAIN[2])), self.kind(depth - 1)
        texts = key.schema["type"] == "string"

        def value(random: Random) -> Any:
            keys = random.sample(("a", "b", "c.d") if texts else (1, 2, 3), random.randrange(3))
            pairs = [(each, self.value(item)) for each in keys]
            return dict(pairs) if texts else [list(pair) for pair in pairs]

        return Kind(_named("map", keys=key.schema, values=item.schema), value)

    def decorated(self, kind: Kind) -> Kind:
        """Return the type, optional or with more to its schema at times."""
        more: Json = {}
        draw = self.random.random
        if draw() < 0.45:
            more["optional"] = True
        if draw() < 0.06:
            more["doc"] = "What it is"
        if draw() < 0.1:
            more["parameters"] = (kind.schema.get("parameters") or {}) | {
                "__debezium.source.column.name": "c",
                "__debezium.source.column.type": self.random.choice(("INT4", "NUMERIC", "VARCHAR")),
                **({"__debezium.source.column.length": "5"} if draw() < 0.5 else {}),
            }
        if draw() < 0.04 and "name" not in kind.schema:
            more["name"] = "some.Name"
            more["version"] = 3
        if draw() < 0.15 and not _cannot_have_default(kind.schema):
            more["default"] = kind.value(self.random)
        return Kind(kind.schema | more, kind.value)

    def struct(self, depth: int = 2, *, name: str | None = None) -> Kind:
        """Return a struct type with a few fields."""
        names = self.random.sample(NAMES, self.random.choice((0, 1, 2, 3, 3, 4, 5)))
        return self.struct_of([(each, self.kind(depth)) for each in names], name=name)

    def struct_of(self, fields: list[tuple[str, Kind]], *, name: str | None = None, version: int | None = None) -> Kind:
        """Return the struct type with these fields."""
        schema = _named("struct", name, version, fields=[field(each, kind.schema) for each, kind in fields])
        return Kind(schema, lambda _random: {each: self.value(kind) for each, kind in fields})

    def value(self, kind: Kind) -> Any:
        """Return a value, null at times where it may be."""
        if kind.schema["optional"] and self.random.random() < 0.3:
            return None
        return kind.value(self.random)

    def part(self, kind: Kind) -> Part:
        """Return a value with its schema."""
        return Part(kind.schema, self.value(kind))

    def plain(self, depth: int = 2) -> Any:
        """Return a value without a schema."""
        draw = self.random.random()
        if depth > 0 and draw < 0.35:
            return {name: self.plain(depth - 1) for name in self.random.sample(NAMES, self.random.randrange(4))}
        if depth > 0 and draw < 0.45:
            return [self.plain(depth - 1) for _ in range(self.random.randrange(3))]
        return self.random.choice((None, True, 1, -5, 2**40, 0.5, *_TEXTS))
