"""Connect schemas and values whose Avro form was recorded from the class that Apicurio's AvroConverter has from Confluent's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

from connector.converters.avro.settings import AvroSettings
from connector.record.schema import (
    BOOLEAN,
    BYTES,
    CONNECT_DATE,
    CONNECT_TIME,
    CONNECT_TIMESTAMP,
    DECIMAL,
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    STRING,
    Field,
    Schema,
)

INT8: Final = Schema("int8")
NS: Final = "io.confluent.connect.avro"
SUM: Final = "org.apache.kafka.connect.data"


@dataclass(frozen=True, slots=True)
class Case:
    """One schema with some values. ``values`` of None are not written: the converter sends null."""

    name: str
    schema: Schema
    values: list[Any] = field(default_factory=list)
    settings: AvroSettings = field(default_factory=AvroSettings)


def struct(name: str | None, /, **fields: Schema) -> Schema:
    return Schema("struct", name=name, fields=tuple(Field(key, schema) for key, schema in fields.items()))


def array(items: Schema) -> Schema:
    return Schema("array", items=items)


def mapping(keys: Schema, values: Schema) -> Schema:
    return Schema("map", keys=keys, values=values)


def decimal(scale: int, precision: int | None = None) -> Schema:
    parameters = (("scale", str(scale)),) + ((("connect.decimal.precision", str(precision)),) if precision is not None else ())
    return Schema("bytes", name=DECIMAL, version=1, parameters=parameters)


DATE: Final = Schema("int32", name=CONNECT_DATE, version=1)
TIME: Final = Schema("int32", name=CONNECT_TIME, version=1)
TIMESTAMP: Final = Schema("int64", name=CONNECT_TIMESTAMP, version=1)
ENUM: Final = Schema("string", name="io.debezium.data.Enum", version=1, parameters=(("allowed", "a,b"),))
VARIABLE: Final = replace(
    struct("io.debezium.data.VariableScaleDecimal", scale=INT32, value=BYTES), version=1, doc="Variable scaled decimal"
)
POINT: Final = replace(struct("io.debezium.data.geometry.Point", x=FLOAT64, y=FLOAT64, wkb=BYTES.as_optional()), version=1, doc='A "point"')
LONGS: Final = [
    0,
    1,
    -1,
    63,
    64,
    -64,
    -65,
    8191,
    8192,
    1 << 20,
    1 << 40,
    1_700_000_000_000,
    1_700_000_000_000_000_000,
    -(1 << 63),
    (1 << 63) - 1,
]


def _plain() -> Iterator[Case]:
    pairs: list[tuple[str, Schema, list[Any]]] = [
        ("int8", INT8, [0, 127, -128]),
        ("int16", INT16, [0, 32767, -32768]),
        ("int32", INT32, [0, 4095, 4096, -1, 2147483647, -2147483648]),
        ("int64", INT64, LONGS),
        ("float", FLOAT32, [0.0, 1.5, 3.4028234663852886e38]),
        ("double", FLOAT64, [0.0, 1.5, -2.25, 1e300, 5e-324]),
        ("boolean", BOOLEAN, [True, False]),
        ("string", STRING, ["", "a", "ä€\U0001f600", "x" * 5000, 'q"\\\n\x01']),
        ("bytes", BYTES, [b"", b"\0\xff", b"y" * 5000]),
        ("decimal", decimal(2), [Decimal("0.00"), Decimal("-1.28"), Decimal("12345678901234567890.12")]),
        ("precise decimal", decimal(2, 10), [Decimal("1.00")]),
        ("wide decimal", decimal(5, 3), [Decimal("1.00000")]),
        ("negative scale", decimal(-2, 5), [Decimal("1E+2")]),
        ("date", DATE, [0, 19000, -1]),
        ("time", TIME, [0, 86399999]),
        ("timestamp", TIMESTAMP, [0, 1_700_000_000_000, -1]),
        ("debezium enum", ENUM, ["a", "b"]),
        ("uuid", Schema("string", name="io.debezium.data.Uuid", version=1), ["1"]),
        ("zoned", Schema("string", name="io.debezium.time.ZonedTimestamp", version=1, doc="döc"), ["2020"]),
        ("bits", Schema("bytes", name="io.debezium.data.Bits", version=1, parameters=(("length", "9"),)), [b"\1\0"]),
    ]
    for name, schema, values in pairs:
        # Py4J would change the type of a number that is not within a struct.
        alone = [] if schema.type in ("int8", "int16", "int64", "float") or name == "negative scale" else values
        yield Case(name, schema, alone)
        yield Case(f"optional {name}", schema.as_optional(), alone[:2])
        fields = struct("p.t.Value", required=schema, optional=schema.as_optional())
        rows = [{"required": value, "optional": other} for value in values for other in (None, value)]
        yield Case(f"{name} in a struct", fields, rows)
        with_default = schema.with_default(values[-1])
        defaults = struct("p.t.Value", required=with_default, optional=with_default.as_optional())
        rows = [{"required": values[0], "optional": values[0]}, {"required": values[0], "optional": None}]
        yield Case(f"{name} with default", defaults, rows)
        yield Case(f"{name} with ignored default", defaults, rows, AvroSettings(ignore_defaults=True))
        yield Case(f"{name} without meta data", defaults, rows[:1], AvroSettings(meta_data=False))
        yield Case(f"{name} with discarded docs", replace(defaults, doc="d"), rows[:1], AvroSettings(discard_docs=True))


def _nested() -> Iterator[Case]:
    row = struct(
        "s.public.t.Value", id=INT32.with_default(0), name=STRING.as_optional(), number=VARIABLE.as_optional(), at=POINT.as_optional()
    )
    source = replace(struct("io.debezium.connector.postgresql.Source", version=STRING, lsn=INT64.as_optional()), version=1)
    block = replace(struct("event.block", id=STRING, total_order=INT64), version=1)
    envelope = replace(
        struct(
            "s.public.t.Envelope",
            before=row.as_optional(),
            after=row.as_optional(),
            source=source,
            transaction=block.as_optional(),
            op=STRING,
            ts_ms=INT64.as_optional(),
        ),
        version=2,
    )
    full = {"id": 7, "name": "n", "number": {"scale": 2, "value": b"\1"}, "at": {"x": 1.0, "y": 2.0, "wkb": b"\2"}}
    event = {
        "before": None,
        "after": full,
        "source": {"version": "3", "lsn": None},
        "transaction": None,
        "op": "c",
        "ts_ms": 1_700_000_000_000,
    }
    changed = {**event, "before": {"id": 7, "name": None, "number": None, "at": None}, "transaction": {"id": "1", "total_order": 2}}
    for label, settings in (("", AvroSettings()), (" without meta data", AvroSettings(meta_data=False))):
        yield Case(f"envelope{label}", envelope, [event, changed], settings)
    yield Case("optional envelope", envelope.as_optional(), [event])
    yield Case("no namespace", struct("Value", a=struct("Inner", b=INT32), c=struct("x.Inner", b=INT32)), [{"a": {"b": 1}, "c": {"b": 2}}])
    yield Case("from one namespace to none", struct("x.Value", a=struct("Inner", b=INT32).as_optional()), [{"a": {"b": 1}}])
    yield Case("no names", struct(None, a=struct(None, b=INT32), c=struct(None, b=INT64)), [{"a": {"b": 1}, "c": {"b": 2}}])
    yield Case("equal without names", struct(None, a=struct(None, b=INT32), c=struct(None, b=INT32)), [{"a": {"b": 1}, "c": {"b": 2}}])
    yield Case(
        "optional without names", struct(None, a=struct(None, b=INT32).as_optional(), c=struct(None, b=INT32)), [{"a": None, "c": {"b": 2}}]
    )
    yield Case(
        "a type's name", struct("x.string", a=struct("x.record", b=INT32), c=struct("x.record", b=INT32)), [{"a": {"b": 1}, "c": {"b": 2}}]
    )
    twice = struct("p.Key", a=row, b=row.as_optional(), c=array(row))
    yield Case("one type many times", twice, [{"a": full, "b": full, "c": [full]}])
    other = struct("s.public.t.Value", id=INT64)
    yield Case("two types of one name", struct("p.Key", a=row.as_optional(), b=other.as_optional()), [])
    yield Case("names of one part", struct("Envelope", a=INT32), [{"a": 1}])
    yield Case("no fields", struct("a.Empty"), [{}])


def _collections() -> Iterator[Case]:
    many = {f"key{number}": str(number) for number in range(40)}
    pairs: list[tuple[str, Schema, list[Any]]] = [
        ("array", array(STRING), [[], ["a"], ["x"] * 100]),
        ("array of optional", array(INT32.as_optional()), [[1, None]]),
        ("array of defaults", array(INT32.with_default(5).as_optional()), [[1, None]]),
        ("array of arrays", array(array(INT64)), [[[1], []]]),
        ("array of structs", array(POINT), [[{"x": 1.0, "y": 2.0, "wkb": None}]]),
        ("array of optional structs", array(POINT.as_optional()), [[None, {"x": 1.0, "y": 2.0, "wkb": b""}]]),
        ("array of decimals", array(decimal(1).as_optional()), [[Decimal("1.5"), None]]),
        ("map", mapping(STRING, STRING), [{}, {"a": "1"}, many]),
        ("map of optional", mapping(STRING, STRING.as_optional()), [{"b": None, "a": "1"}]),
        ("map of optional keys", mapping(STRING.as_optional(), STRING), [{"a": "1"}]),
        ("map of numbers", mapping(INT32, STRING), [{1: "c", 3: "a"}]),
        ("named map of numbers", replace(mapping(INT64, STRING.as_optional()), name="p.q.Entries", version=3), [{3: None}]),
        ("map of maps", mapping(STRING, mapping(STRING, INT32)), [{"a": {"b": 1}}]),
        ("map of structs", mapping(STRING, POINT), [{"a": {"x": 1.0, "y": 2.0, "wkb": None}}]),
    ]
    for name, schema, values in pairs:
        yield Case(name, schema, values)
        yield Case(f"optional {name}", schema.as_optional(), values[:2])
        holder = struct("p.t.Value", required=schema, optional=schema.as_optional())
        yield Case(
            f"{name} in a struct", holder, [{"required": values[0], "optional": None}, {"required": values[-1], "optional": values[-1]}]
        )
        if name in ("array", "map", "map of numbers", "array of optional", "array of arrays"):
            default = schema.with_default(values[-1] if name != "map" else {"a": "1"})
            defaults = struct("p.t.Value", required=default, optional=default.as_optional())
            yield Case(f"{name} with default", defaults, [{"required": values[0], "optional": None}])
        yield Case(
            f"{name} with optional keys allowed", holder, [{"required": values[0], "optional": None}], AvroSettings(optional_map_keys=True)
        )


def _options() -> Iterator[Case]:
    names = struct("p.my_schema.Väl ue", **{"odd-id": INT32, "2nd col": STRING, "fine": INT32, "a*~.b": INT32})
    row = {"odd-id": 1, "2nd col": "b", "fine": 2, "a*~.b": 3}
    yield Case("scrubbed names", names, [row], AvroSettings(scrub=True))
    parameters = ((f"{NS}.Enum", "p.Colour"), (f"{NS}.Enum.RED", "RED"), (f"{NS}.Enum.BLUE", "BLUE"))
    enum = Schema("string", name="p.Colour", parameters=parameters)
    colours = struct("p.V", a=enum, b=enum.as_optional(), c=enum.with_default("BLUE"))
    rows = [{"a": "RED", "b": None, "c": "RED"}, {"a": "BLUE", "b": "RED", "c": "RED"}]
    for label, settings in (("", AvroSettings()), ("enhanced ", AvroSettings(enhanced=True))):
        yield Case(f"{label}enum", colours, rows, settings)
    documented = replace(
        enum,
        parameters=(*parameters, (f"{NS}.enum.doc.Colour", "a doc"), (f"{NS}.enum.default.Colour", "RED"), ("connect.enum.doc", "other")),
    )
    yield Case("documented enum", struct("p.V", a=documented), rows[:0], AvroSettings(enhanced=True))
    yield Case("discarded enum", struct("p.V", a=documented), rows[:0], AvroSettings(enhanced=True, discard_docs=True))
    unnamed = replace(enum, name=None)
    yield Case(
        "enum without a name", struct("p.V", a=unnamed, b=struct(None, x=INT32)), [{"a": "RED", "b": {"x": 1}}], AvroSettings(enhanced=True)
    )
    summed = Schema("string", name="p.C", parameters=((f"{SUM}.Enum", "p.C"), (f"{SUM}.Enum.X", "0"), (f"{SUM}.Enum.Y", "1")))
    yield Case("sum type enum", struct("p.V", a=summed), [{"a": "Y"}], AvroSettings(sum_types=True))
    fixed = Schema("bytes", name="p.Four", parameters=(("connect.fixed.size", "4"),))
    yield Case("fixed", struct("p.V", a=fixed, b=fixed.as_optional()), [{"a": b"1234", "b": None}, {"a": b"1234", "b": b"5678"}])
    documents = ((f"{NS}.record.doc", "about it"), (f"{NS}.field.doc.a", "about a"), ("connect.record.doc", "another"))
    reported = replace(struct("p.V", a=replace(INT32, doc="own")), parameters=documents, doc="type")
    yield Case("documents", reported, [{"a": 1}])
    yield Case("discarded documents", reported, [{"a": 1}], AvroSettings(discard_docs=True))
    flagged = replace(INT32, parameters=((f"{NS}.field.default", "true"),), default=3)
    for label, settings in (("flagged default", AvroSettings()), ("discarded flag", AvroSettings(discard_docs=True))):
        yield Case(label, struct("p.V", a=flagged), [{"a": 1}], settings)
    yield Case("avro's own property", struct("p.V", a=replace(STRING, parameters=(("avro.java.string", "String"),))), [{"a": "x"}])
    union = struct(f"{NS}.Union", int=INT32.as_optional(), string=STRING.as_optional(), Point=POINT.as_optional())
    choices = [{"int": 1, "string": None, "Point": None}, {"int": None, "string": "s", "Point": None}]
    choices.append({"int": None, "string": None, "Point": {"x": 1.0, "y": 2.0, "wkb": None}})
    yield Case("union", struct("p.V", a=union), [{"a": choice} for choice in choices])
    yield Case("optional union", struct("p.V", a=union.as_optional()), [{"a": choice} for choice in [*choices, None]])
    yield Case("parameters", replace(struct("p.V", a=INT32), parameters=(("k", 'v"ä'), ("l", ""))), [{"a": 1}])


def cases() -> list[Case]:
    """Return all cases; their names differ."""
    return [*_plain(), *_nested(), *_collections(), *_options()]
