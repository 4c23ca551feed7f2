"""Properties of the ProtobufConverter: Google's library reads what was written, from the text that is registered."""

from __future__ import annotations

import struct as binary
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from connector.converters.protobuf.kinds import has_default
from connector.converters.protobuf.mapping import protobuf_file
from connector.converters.protobuf.settings import ProtobufSettings
from connector.converters.protobuf.writer import value_writer
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
from tests.support.avro_cases import DATE, ENUM, POINT, TIME, TIMESTAMP, VARIABLE, array, decimal, mapping, struct
from tests.support.protobuf_reader import message_class

Kind = tuple[Schema, st.SearchStrategy[Any]]
INTS: Final = st.integers(-(1 << 31), (1 << 31) - 1)
LONGS: Final = st.integers(-(1 << 63), (1 << 63) - 1)
TEXT: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FLOATS: Final = st.floats(width=32)


def named(schema: Schema, name: str) -> Schema:
    """A semantic type of Debezium: its name does not matter to Protocol Buffers."""
    return replace(schema, name=name, version=1)


SCALARS: Final[list[Kind]] = [
    (BOOLEAN, st.booleans()),
    (INT16, st.integers(-(1 << 15), (1 << 15) - 1)),
    (INT32, INTS),
    (INT64, LONGS),
    (FLOAT32, FLOATS),
    (FLOAT64, st.floats()),
    (STRING, TEXT),
    (BYTES, st.binary(max_size=12)),
    (named(INT32, "io.debezium.time.Date"), INTS),
    (named(INT64, "io.debezium.time.MicroTimestamp"), LONGS),
    (named(STRING, "io.debezium.time.ZonedTimestamp"), TEXT),
    (named(STRING, "io.debezium.data.Uuid"), TEXT),
    (named(STRING, "io.debezium.data.Json"), TEXT),
    (named(BYTES, "io.debezium.data.Bits"), st.binary(max_size=9)),
    (ENUM, TEXT),
]
LOGICALS: Final[list[Kind]] = [
    (decimal(2, 10), st.integers(-(10**10), 10**10).map(lambda number: Decimal(number).scaleb(-2))),
    (decimal(0), st.integers(-(10**30), 10**30).map(Decimal)),
    (DATE, st.dates(date(1583, 1, 1), date(9999, 12, 31)).map(lambda day: (day - date(1970, 1, 1)).days)),
    (TIME, st.integers(0, 86_399_999)),
    (TIMESTAMP, st.integers(-62_135_596_800_000, 253_402_300_799_999)),
]
STRUCTS: Final[list[Kind]] = [
    (VARIABLE, st.fixed_dictionaries({"scale": INTS, "value": st.binary(max_size=5)})),
    (POINT, st.fixed_dictionaries({"x": st.floats(), "y": st.floats(), "wkb": st.none() | st.binary(max_size=5)})),
]


def arrays(kind: Kind) -> Kind:
    return array(kind[0]), st.lists(kind[1], max_size=4)


ALL: Final[list[Kind]] = [
    *SCALARS,
    *LOGICALS,
    *STRUCTS,
    *(arrays(kind) for kind in (*SCALARS, *LOGICALS, *STRUCTS)),
    (mapping(STRING, STRING.as_optional()), st.dictionaries(TEXT, st.none() | TEXT, max_size=3)),
    (mapping(STRING, INT64), st.dictionaries(TEXT, LONGS, max_size=3)),
]


@st.composite
def rows(draw: st.DrawFn) -> tuple[Schema, dict[str, Any]]:
    """A row's schema, and a row."""
    fields: list[Field] = []
    row: dict[str, Any] = {}
    for place, (schema, values) in enumerate(draw(st.lists(st.sampled_from(ALL), max_size=12))):
        field, members = schema, values
        if draw(st.booleans()):
            field, members = field.as_optional(), members | st.none()
        if draw(st.integers(0, 4)) == 0:
            field = field.with_default(draw(values))
        fields.append(Field(f"c{place}", field))
        row[f"c{place}"] = draw(members)
    return Schema("struct", name="p.public.t.Value", fields=tuple(fields)), row


@st.composite
def events(draw: st.DrawFn) -> tuple[Schema, dict[str, Any]]:
    """An envelope of Debezium, and a change."""
    row, after = draw(rows())
    source = replace(struct("io.debezium.connector.postgresql.Source", version=STRING, lsn=INT64.as_optional()), version=1)
    block = struct("event.block", id=STRING, total_order=INT64)
    envelope = struct(
        "p.public.t.Envelope",
        before=row.as_optional(),
        after=row.as_optional(),
        source=source,
        op=STRING,
        ts_ms=INT64.as_optional(),
        transaction=block.as_optional(),
    )
    value = {
        "before": draw(st.sampled_from([None, after])),
        "after": draw(st.sampled_from([None, after])),
        "source": {"version": "3", "lsn": draw(st.none() | LONGS)},
        "op": draw(st.sampled_from("crud")),
        "ts_ms": draw(st.none() | LONGS),
        "transaction": draw(st.none() | st.fixed_dictionaries({"id": TEXT, "total_order": LONGS})),
    }
    return replace(envelope, version=2), value


SETTINGS: Final = st.builds(ProtobufSettings, optionals=st.booleans(), wrappers=st.booleans(), ignore_defaults=st.booleans())


def scalar_seen(schema: Schema, value: Any) -> Any:
    """A scalar in a form in which NaN equals itself, and minus zero does not equal zero."""
    if schema.type == "float":
        return binary.pack("<f", value)
    return binary.pack("<d", value) if schema.type == "double" else value


def logical_seen(schema: Schema, message: Any) -> Any:
    match schema.name:
        case "org.apache.kafka.connect.data.Decimal":
            number = int.from_bytes(message.value, "big", signed=True)
            assert message.precision == len(str(abs(number)))
            # Unlike scaleb this rounds nothing.
            return Decimal(f"{number}E-{message.scale}")
        case "org.apache.kafka.connect.data.Date":
            return (date(message.year, message.month, message.day) - date(1970, 1, 1)).days
        case "org.apache.kafka.connect.data.Time":
            span = timedelta(hours=message.hours, minutes=message.minutes, seconds=message.seconds)
            return span // timedelta(milliseconds=1) + message.nanos // 1_000_000
        case _:
            return message.seconds * 1000 + message.nanos // 1_000_000


def check_single(schema: Schema, found: Any, value: Any, settings: ProtobufSettings) -> None:
    """``found`` is an item or a field that is set."""
    if schema.name in (DECIMAL, CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP):
        assert logical_seen(schema, found) == value
    elif schema.type == "struct":
        check_message(schema, found, value, settings)
    else:
        plain = found.value if settings.wrappers and schema.optional else found
        assert scalar_seen(schema, plain) == scalar_seen(schema, value)


def check_message(schema: Schema, message: Any, value: dict[str, Any], settings: ProtobufSettings) -> None:
    for field in schema.fields:
        member, part = value[field.name], field.schema
        if member is None and has_default(part) and not settings.ignore_defaults:
            member = part.default
        found = getattr(message, field.name)
        if part.type == "array" and part.items is not None:
            assert len(found) == len(member or ())
            for each, expected in zip(found, member or (), strict=True):
                check_single(part.items, each, expected, settings)
        elif part.type == "map":
            assert part.values is not None
            assert [each.key for each in found] == list(member or {})
            for each, expected in zip(found, (member or {}).values(), strict=True):
                if expected is None:
                    assert not (each.HasField("value") if settings.wrappers else each.value)
                else:
                    check_single(part.values, each.value, expected, settings)
        elif message.DESCRIPTOR.fields_by_name[field.name].has_presence:
            assert message.HasField(field.name) == (member is not None)
            if member is not None:
                check_single(part, found, member, settings)
        elif member is None:
            assert not found
        else:
            check_single(part, found, member, settings)


@given(events(), SETTINGS)
def test_googles_library_reads_and_writes_the_same(event: tuple[Schema, dict[str, Any]], settings: ProtobufSettings) -> None:
    schema, value = event
    mapped = protobuf_file(schema, settings)
    payload = value_writer(schema, settings)(value)
    message = message_class(mapped.file.text(), mapped.full_name).FromString(payload)
    check_message(schema, message, value, settings)
    assert message.SerializeToString() == payload


@given(st.sampled_from(SCALARS), st.data(), SETTINGS)
def test_googles_library_reads_scalar_values(kind: Kind, data: st.DataObject, settings: ProtobufSettings) -> None:
    schema, value = kind[0], data.draw(kind[1])
    mapped = protobuf_file(schema, settings)
    payload = value_writer(schema, settings)(value)
    message = message_class(mapped.file.text(), mapped.full_name).FromString(payload)
    assert scalar_seen(schema, message.value) == scalar_seen(schema, value)
    assert message.SerializeToString() == payload
