"""The compiled path must give the bytes of the generic one, whatever the table and the row."""

from __future__ import annotations

import json
import string
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.stream_rig import NOW_NS, TYPES, Failures, RecordingOut, Sent, catalog_table, configured, relation_of
from support.wal_script import UNCHANGED, Cell, WalScript

from connector.capture import Capture
from connector.config_families import NamedConverter
from connector.converted_columns import ConvertedColumns
from connector.encoders import EventColumn, TableEncoder
from connector.envelope import TableSource
from connector.json_converter import schema_json, value_json
from connector.pgoutput import UNCHANGED as NOT_SENT
from connector.ports import ConverterSettings
from connector.schema import NO_DEFAULT, Field, Schema
from connector.stream import LiveTable, Stream, StreamSettings
from connector.table import CatalogTable
from connector.types.codec import Codec, Column, TypeInfo, TypeSettings
from connector.types.defaults import default_value
from connector.types.registry import resolve

KINDS = TYPES | {
    info.oid: info
    for info in (
        TypeInfo(26, "oid", "pg_catalog", category="N"),
        TypeInfo(142, "xml", "pg_catalog"),
        TypeInfo(600, "point", "pg_catalog", category="G"),
        TypeInfo(790, "money", "pg_catalog", category="N"),
        TypeInfo(1560, "bit", "pg_catalog", category="V"),
        TypeInfo(1562, "varbit", "pg_catalog", category="V"),
        TypeInfo(1231, "_numeric", "pg_catalog", category="A", element=1700),
        TypeInfo(90_001, "mood", "public", "e", "E", labels=("sad", "ok", 'very "happy"')),
        TypeInfo(90_002, "_mood", "public", category="A", element=90_001),
        TypeInfo(90_003, "price", "public", "d", "N", base=1700, base_modifier=655366),
        TypeInfo(90_004, "year", "public", "d", "N", base=23),
        TypeInfo(90_005, "hstore", "public"),
        TypeInfo(90_006, "citext", "public", category="S"),
    )
}

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
ODD_TEXTS = st.sampled_from(["", "\x01\x1f\x7f", '"\\/', "漢字", "😀", "tab\tnew\nline", "\u2028", "NULL", "long " * 50])
STRINGS = TEXTS | ODD_TEXTS


def integers(bits: int) -> st.SearchStrategy[str]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1).map(str)


def fixed(digits: int, scale: int) -> st.SearchStrategy[str]:
    return st.integers(-(10**digits) + 1, 10**digits - 1).map(lambda n: format(Decimal(n).scaleb(-scale), "f"))


def quoted(element: str) -> str:
    return '"' + element.replace("\\", "\\\\").replace('"', '\\"') + '"'


def listed(elements: st.SearchStrategy[str], *, quote: bool) -> st.SearchStrategy[str]:
    def shown(members: list[str | None]) -> str:
        return "{" + ",".join("NULL" if m is None else quoted(m) if quote else m for m in members) + "}"

    return st.lists(st.none() | elements, max_size=5).map(shown)


def pairs(members: dict[str, str | None]) -> str:
    return ", ".join(f"{quoted(key)}=>{'NULL' if value is None else quoted(value)}" for key, value in members.items())


DATES = st.dates().map(str) | st.sampled_from(["infinity", "-infinity", "0044-03-15 BC", "12345-06-07"])
TIMES = st.sampled_from(["00:00:00", "23:59:59", "24:00:00", "12:34:56.7", "12:34:56.789", "01:02:03.000004"])
MOMENTS = st.tuples(st.dates(), TIMES).map(lambda parts: f"{parts[0]} {parts[1].replace('24:00:00', '00:00:00')}") | st.sampled_from(
    ["infinity", "-infinity", "0044-03-15 12:00:00.123 BC", "12345-06-07 00:00:00.12345", "2024-02-29 23:59:59.123456"]
)


def floating(value: float, *, single: bool) -> str:
    """The shortest exact form, with an exponent where the server uses one (PostgreSQL manual, 8.1.3)."""

    def exact(text: str) -> bool:
        return (struct.pack("f", float(text)) == struct.pack("f", value)) if single else float(text) == value

    shortest = next(text for digits in range(1, 18) if exact(text := f"{value:.{digits - 1}e}"))
    mantissa, _, exponent = shortest.partition("e")
    if -4 <= int(exponent) < (6 if single else 15):
        return format(Decimal(shortest), "f")
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{exponent}"


REALS = st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda value: floating(value, single=True))
DOUBLES = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: floating(value, single=False))


def zoned(moment: str) -> str:
    if moment.endswith("y"):
        return moment
    clock, era, _ = moment.partition(" BC")
    return f"{clock}+00{era}"


@dataclass(frozen=True)
class Kind:
    """A column type: oid, modifier, texts as the server prints them, and defaults as pg_get_expr prints them."""

    oid: int
    modifier: int
    texts: st.SearchStrategy[str]
    defaults: tuple[str, ...] = ()


COLUMNS = [
    Kind(16, -1, st.sampled_from(["t", "f"]), ("true", "false")),
    Kind(17, -1, st.binary(max_size=20).map(lambda data: "\\x" + data.hex())),
    Kind(20, -1, integers(64), ("7",)),
    Kind(21, -1, integers(16), ("'-7'::integer",)),
    Kind(23, -1, integers(32), ("0", "nextval('s'::regclass)")),
    Kind(25, -1, STRINGS, ("'it''s'::text", "''::text", "upper('x'::text)")),
    Kind(26, -1, st.integers(0, 2**32 - 1).map(str)),
    Kind(114, -1, STRINGS.map(json.dumps), ("'{}'::json",)),
    Kind(142, -1, st.sampled_from(["<a/>", '<a b="c">ä</a>'])),
    Kind(600, -1, st.tuples(st.integers(-99, 99), st.integers(-99, 99)).map(lambda p: f"({p[0]},{p[1]}.5)")),
    Kind(700, -1, REALS | st.sampled_from(["NaN", "Infinity", "-Infinity", "-0"])),
    Kind(701, -1, DOUBLES | st.sampled_from(["NaN", "Infinity", "-Infinity", "-0"]), ("1.5",)),
    Kind(790, -1, st.sampled_from(["$1,234.50", "-$0.05", "$0.00", "$92,233,720,368,547,758.07"])),
    Kind(869, -1, st.sampled_from(["10.0.0.1", "::1", "192.168.0.0/24"])),
    Kind(1007, -1, listed(integers(32), quote=False)),
    Kind(1009, -1, listed(STRINGS, quote=True)),
    Kind(1231, 655366, listed(fixed(10, 2), quote=False)),
    Kind(1043, 44, STRINGS, ("'nobody'::character varying",)),
    Kind(1082, -1, DATES, ("'2020-02-29'::date", "now()")),
    Kind(1083, 0, TIMES),
    Kind(1083, 6, TIMES, ("'12:34:56'::time without time zone",)),
    Kind(1114, 3, MOMENTS),
    Kind(1114, 6, MOMENTS, ("now()",)),
    Kind(1184, -1, MOMENTS.map(zoned)),
    Kind(1186, -1, st.sampled_from(["1 year 2 mons 3 days 04:05:06.789", "-00:00:00.5", "00:00:00", "-3 days"])),
    Kind(1266, -1, TIMES.map(lambda time: f"{time}+00")),
    Kind(1560, 1, st.sampled_from(["0", "1"])),
    Kind(1560, 12, st.text("01", min_size=12, max_size=12)),
    Kind(1562, -1, st.text("01", max_size=40)),
    Kind(1700, -1, fixed(20, 5) | fixed(30, 0) | st.sampled_from(["0", "0.00", "1" * 60])),
    Kind(1700, 655366, fixed(10, 2), ("9.90", "'-1'::integer")),
    Kind(1700, (12 << 16) + 9 + 4, fixed(12, 9)),
    Kind(1700, (3 << 16) + (-2 & 0x7FF) + 4, st.integers(-999, 999).map(lambda n: str(n * 100))),
    Kind(2950, -1, st.uuids().map(str)),
    Kind(3802, -1, STRINGS.map(json.dumps), ("""'{"a": "\\""}'::jsonb""",)),
    Kind(90_001, -1, st.sampled_from(["sad", "ok", 'very "happy"']), ("'sad'::mood",)),
    Kind(90_002, -1, st.sampled_from(["{}", "{sad,ok}", '{"very \\"happy\\""}'])),
    Kind(90_003, -1, fixed(10, 2)),
    Kind(90_004, -1, integers(32)),
    Kind(90_005, -1, st.dictionaries(STRINGS, st.none() | STRINGS, max_size=4).map(pairs)),
    Kind(90_006, -1, STRINGS),
]

TYPE_SETTINGS = st.builds(
    TypeSettings,
    decimal_handling_mode=st.sampled_from(["precise", "double", "string"]),
    time_precision_mode=st.sampled_from(["adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds"]),
    interval_handling_mode=st.sampled_from(["numeric", "string"]),
    binary_handling_mode=st.sampled_from(["bytes", "base64", "base64-url-safe", "hex"]),
    hstore_handling_mode=st.sampled_from(["json", "map"]),
    decimal_format=st.sampled_from(["BASE64", "NUMERIC"]),
)
_PROBE = "support.probe_converters:Probe"
CONVERTED = [
    ConvertedColumns([NamedConverter("told", _PROBE, {"schema.name": "told"})]),
    ConvertedColumns([NamedConverter("length", _PROBE, {"mode": "length", "schema.type": "int32", "optional": "true"})]),
]
"""Converters that a column may have; they give a value for every text, and the second one null for NULL."""
NAMES = st.text(string.ascii_letters + ' "\\é漢', min_size=1, max_size=8)


@dataclass(frozen=True)
class Case:
    """A table, its codecs, and rows with the Connect value that each cell stands for."""

    columns: tuple[EventColumn, ...]
    catalog: CatalogTable
    keys: tuple[int, ...]
    rows: tuple[tuple[Cell, ...], ...]
    converter: ConverterSettings


@st.composite
def cases(draw: st.DrawFn) -> Case:
    chosen = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=7))
    names = draw(st.lists(NAMES, min_size=len(chosen), max_size=len(chosen), unique_by=str.lower))
    types = draw(TYPE_SETTINGS)
    described, events = [], []
    for index, (kind, name) in enumerate(zip(chosen, names, strict=True)):
        column = Column(
            name, kind.oid, kind.modifier, not_null=draw(st.booleans()), default=draw(st.none() | st.sampled_from(kind.defaults or (None,)))
        )
        codec = resolve(column, KINDS, types)
        assert codec is not None
        described.append(column)
        taken = draw(st.sampled_from((None, None, *CONVERTED)))
        converted = taken and taken.codec(catalog_table("t"), column, KINDS, types, codec)
        if converted:
            events.append(EventColumn(name, index, converted, converted.schema, column.not_null))
            continue
        schema = codec.schema.as_optional(codec.schema.optional or not column.not_null)
        default = default_value(column, codec, KINDS, types)
        schema = schema if default is NO_DEFAULT else schema.with_default(default)
        events.append(EventColumn(name, index, codec, schema, column.not_null))
    cells = [kind.texts | st.none() | st.just(UNCHANGED) if draw(st.booleans()) else kind.texts for kind in chosen]
    rows = draw(st.lists(st.tuples(*cells), min_size=1, max_size=4))
    keys = draw(st.lists(st.integers(0, len(chosen) - 1), unique=True, max_size=3))
    converter = ConverterSettings(
        schemas_enable=draw(st.booleans()), decimal_format=types.decimal_format, replace_null_with_default=draw(st.booleans())
    )
    catalog = CatalogTable(7, "public", "t", tuple(described), tuple(names[index] for index in keys))
    return Case(tuple(events), catalog, tuple(keys), tuple(rows), converter)


def meant(column: EventColumn, cell: Cell) -> object:
    """The Connect value of a cell: by the generic path, and by the rules for NULL in a required column and for what was not sent."""
    codec: Codec = column.codec
    if codec.cell_value is not None:
        return codec.cell_value(cell.encode() if isinstance(cell, str) else NOT_SENT if cell is UNCHANGED else None)
    if isinstance(cell, str):
        return codec.decode(cell.encode())
    if cell is UNCHANGED and codec.unavailable is not None:
        return codec.unavailable
    if not column.not_null:
        return None
    return codec.fallback if column.schema.default is NO_DEFAULT else column.schema.default


def generic(columns: Sequence[EventColumn], row: Sequence[Cell], converter: ConverterSettings) -> bytes:
    schema = Schema("struct", fields=tuple(Field(c.name, c.schema) for c in columns))
    return value_json(schema, {c.name: meant(c, row[c.index]) for c in columns}, converter)


def streamed(case: Case, encoder: TableEncoder, change: Callable[[WalScript, Sequence[Cell]], None]) -> list[Sent]:
    """The records of one burst that holds a change for each row."""
    records: list[Sent] = []
    failures = Failures()
    stream = Stream(StreamSettings(), last_commit=None, resume=None, on_conversion_failure=failures)
    source = TableSource.of(server="s", database="d", schema="public", table="t")
    stream.adopt(relation_of(case.catalog), LiveTable(encoder, source, RecordingOut("s.public.t", records)))
    wal = WalScript()
    wal.begin()
    for row in case.rows:
        change(wal, row)
    stream.feed(wal.take(), NOW_NS)
    assert failures.told == []
    return records


@settings(deadline=None, max_examples=80)
@given(cases())
def test_fast_and_generic_path_give_the_same_bytes(case: Case) -> None:
    converter = case.converter
    keys = [case.columns[index] for index in case.keys]
    encoder = TableEncoder(case.catalog, "s.public.t", case.columns, keys, keys, converter, converter)
    relation = relation_of(case.catalog)
    head, tail = b'{"before":null,"after":', b',"source":{'
    key_schema = Schema("struct", name="s.public.t.Key", fields=tuple(Field(c.name, c.schema) for c in keys))
    opening = b'{"schema":' + schema_json(key_schema, None, converter) + b',"payload":' if converter.schemas_enable else b""

    # Whole rows in one burst, as inserts; a server never leaves a value of an insert unsent.
    whole = replace(case, rows=tuple(tuple(None if cell is UNCHANGED else cell for cell in row) for row in case.rows))
    rows_and_changes: list[tuple[Case, Callable[[WalScript, Sequence[Cell]], None]]] = [
        (whole, lambda wal, row: void(wal.insert(relation, *row))),
        (case, lambda wal, row: void(wal.update(relation, *row))),
    ]
    for played, change in rows_and_changes:
        records = streamed(played, encoder, change)
        assert len(records) == len(played.rows)
        for sent, row in zip(records, played.rows, strict=True):
            assert sent.value is not None
            expected = encoder.prefix + head + generic(case.columns, row, converter) + tail
            assert sent.value[: len(expected)] == expected
            if keys:
                closing = b"}" if converter.schemas_enable else b""
                assert sent.key == opening + generic(keys, row, converter) + closing
            else:
                assert sent.key is None
    for row in whole.rows:
        cells = [cell.encode() if isinstance(cell, str) else None for cell in row]
        expected = generic(case.columns, row, converter)
        assert encoder.row(cells) == encoder.row_with_unchanged(cells) == expected
        assert encoder.tolerant(cells) == (expected, [])


def void(_lsn: int) -> None:
    """Drops the LSN that a change answers."""


def test_each_converter_writes_decimals_in_its_own_format() -> None:
    table = catalog_table("t", Column("id", 1700, 655366, not_null=True), primary_key=["id"])
    for key_format, key in (("NUMERIC", b'{"id":1.50}'), ("BASE64", b'{"id":"AJY="}')):
        for value_format, value in (("NUMERIC", b'{"id":1.50}'), ("BASE64", b'{"id":"AJY="}')):
            of_key, of_value = (ConverterSettings(schemas_enable=False, decimal_format=name) for name in (key_format, value_format))
            warnings: list[str] = []
            encoder = Capture(configured(), TYPES, of_key, of_value, warnings.append).encoder(table)
            assert (encoder.key([b"1.50"]), encoder.row([b"1.50"])) == (key, value)
            # Headers are written by a converter of their own, which has no base64.
            assert encoder.key_header([b"1.50"]) == b'{"id":1.50}'


@pytest.mark.parametrize(
    ("value", "single", "text"),
    [
        (100000.0, True, "100000"),
        (1e6, True, "1e+06"),
        (1234567.0, True, "1.234567e+06"),
        (0.0001, True, "0.0001"),
        (0.00001, True, "1e-05"),
        (123456.7, True, "123456.7"),
        (1e14, False, "100000000000000"),
        (1e15, False, "1e+15"),
        (123456789012345678.0, False, "1.2345678901234568e+17"),
        (1.5e300, False, "1.5e+300"),
        (-0.0, False, "-0"),
    ],
)
def test_floats_look_as_a_server_printed_them(value: float, single: bool, text: str) -> None:
    assert floating(value, single=single) == text
