"""The compiled path must give the bytes of the generic one, whatever the table and the row."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.config.packed import NamedConverter
from connector.errors import CdcError, ErrorKind
from connector.events.capture import Capture
from connector.events.converted_columns import ConvertedColumns
from connector.events.encoders import EventColumn, TableEncoder
from connector.events.envelope import TableSource
from connector.events.stream import LiveTable, Stream
from connector.events.stream_settings import StreamSettings
from connector.record.json_converter import ConverterSettings, schema_json, value_json
from connector.record.schema import NO_DEFAULT, Field, Schema
from connector.types.codec import Codec, Column, TypeInfo
from connector.types.defaults import default_value
from connector.types.registry import resolve
from connector.wire.pgoutput import UNCHANGED as NOT_SENT
from tests.support.column_kinds import COLUMNS, KINDS, TYPE_SETTINGS
from tests.support.each_case import each_case
from tests.support.printed_text import floating
from tests.support.stream_rig import NOW_NS, PLUGINS, TYPES, Failures, RecordingOut, Sent, catalog_table, configured, relation_of
from tests.support.wal_script import UNCHANGED, Cell, WalScript
from tests.support.warned import Warned

_PROBE = "tests.support.probe_converters:Probe"
CONVERTED = [
    ConvertedColumns([NamedConverter("reported", _PROBE, {"schema.name": "reported"})], PLUGINS),
    ConvertedColumns([NamedConverter("length", _PROBE, {"mode": "length", "schema.type": "int32", "optional": "true"})], PLUGINS),
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
    cells = [
        kind.texts | st.none() | (st.just(UNCHANGED) if sendable(event) else st.nothing()) if draw(st.booleans()) else kind.texts
        for kind, event in zip(chosen, events, strict=True)
    ]
    rows = draw(st.lists(st.tuples(*cells), min_size=1, max_size=4))
    keys = draw(st.lists(st.integers(0, len(chosen) - 1), unique=True, max_size=3))
    converter = ConverterSettings(
        schemas_enable=draw(st.booleans()), decimal_format=types.decimal_format, replace_null_with_default=draw(st.booleans())
    )
    catalog = CatalogTable(7, "public", "t", tuple(described), tuple(names[index] for index in keys))
    return Case(tuple(events), catalog, tuple(keys), tuple(rows), converter)


def sendable(column: EventColumn) -> bool:
    """Whether an event can be made without the value of the column, because the server did not send it."""
    replaced = column.codec.unavailable is not None or column.codec.cell_value is not None
    return replaced or column.schema.optional or column.schema.default is not NO_DEFAULT


def meant(column: EventColumn, cell: Cell) -> object:
    """The Connect value of a cell: by the generic path, and by the rules for NULL in a required column and for what was not sent."""
    codec: Codec = column.codec
    if codec.cell_value is not None:
        return codec.cell_value(cell.encode() if isinstance(cell, str) else NOT_SENT if cell is UNCHANGED else None)
    if isinstance(cell, str):
        return codec.decode(cell.encode())
    if cell is UNCHANGED and codec.unavailable is not None:
        return codec.unavailable
    if not column.not_null or (cell is UNCHANGED and codec.schema.optional):
        return None
    return codec.fallback if column.schema.default is NO_DEFAULT else column.schema.default


def generic(columns: Sequence[EventColumn], row: Sequence[Cell], converter: ConverterSettings) -> bytes:
    schema = Schema("struct", fields=tuple(Field(c.name, c.schema) for c in columns))
    return value_json(schema, {c.name: meant(c, row[c.index]) for c in columns}, converter)


def streamed(case: Case, encoder: TableEncoder, change: Callable[[WalScript, Sequence[Cell]], None]) -> list[Sent]:
    """The records of one burst that holds a change for each row."""
    records: list[Sent] = []
    failures = Failures()
    stream = Stream(StreamSettings(), last_commit=None, resume=None, warn=failures)
    source = TableSource.of(server="s", database="d", schema="public", table="t")
    stream.adopt(relation_of(case.catalog), LiveTable(encoder, source, RecordingOut("s.public.t", records)))
    wal = WalScript()
    wal.begin()
    for row in case.rows:
        change(wal, row)
    stream.feed(wal.take(), NOW_NS)
    assert failures.reported == []
    return records


@settings(deadline=None, max_examples=8 * settings().max_examples // 10)
@given(cases())
def test_fast_and_generic_path_give_the_same_bytes(case: Case) -> None:
    converter = case.converter
    keys = [case.columns[index] for index in case.keys]
    encoder = TableEncoder(case.catalog, "s.public.t", case.columns, keys, converter, converter)
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


def test_a_geometry_that_was_not_sent_is_null_in_a_required_column_too() -> None:
    geometry = TypeInfo(20001, "geometry", "public")
    table = catalog_table("t", Column("g", 20001, not_null=True))
    plain = ConverterSettings(schemas_enable=False)
    encoder = Capture(Selection.of(configured()), {**TYPES, 20001: geometry}, plain, plain, Warned()).encoder(table)
    assert encoder.row_with_unchanged([NOT_SENT]) == b'{"g":null}'
    assert encoder.tolerant([NOT_SENT]) == (b'{"g":null}', [])
    # The image of a deleted row has only its key.
    assert encoder.row([None]) == b'{"g":{"wkb":"AQcAAAAAAAAA","srid":null}}'


NEEDED = [
    Column("v", 1700, not_null=True),
    Column("v", 1700, 655366, not_null=True),
    Column("v", 1562, not_null=True),
    Column("v", 1560, 20000, not_null=True),
    *(Column("v", oid, not_null=True) for oid in (1005, 1022, 1115, 1185, 1231, 1000, 1183)),
]
"""NOT NULL columns of types without a placeholder."""


@each_case("column", NEEDED, ids=lambda column: str(column.type_oid))
def test_no_row_invents_a_value_that_was_not_sent(column: Column) -> None:
    plain = ConverterSettings(schemas_enable=False)
    optional = replace(column, name="o", not_null=False)
    table = catalog_table("t", column, optional, primary_key=["v"])
    encoder = Capture(Selection.of(configured()), KINDS, plain, plain, Warned()).encoder(table)
    cells = [NOT_SENT, NOT_SENT]
    for write in (encoder.row_with_unchanged, encoder.tolerant, encoder.key, encoder.key_text):
        with pytest.raises(CdcError, match=r"Column v of table public\.t needs a value") as raised:
            write(cells)
        assert raised.value.kind is ErrorKind.VALUE
        assert "REPLICA IDENTITY FULL" in raised.value.remedy
    # The image of a deleted row has only its key, so that a true NULL has a fallback.
    assert b'"o":null' in encoder.row([None, None])
    nullable = catalog_table("t", replace(column, not_null=False), optional)
    encoder = Capture(Selection.of(configured()), KINDS, plain, plain, Warned()).encoder(nullable)
    assert encoder.row_with_unchanged(cells) == encoder.tolerant(cells)[0] == b'{"v":null,"o":null}'


def test_the_default_is_sent_for_what_was_not_sent() -> None:
    plain = ConverterSettings(schemas_enable=False)
    table = catalog_table("t", Column("v", 1562, not_null=True, default="'101'::\"bit\""))
    encoder = Capture(Selection.of(configured()), KINDS, plain, plain, Warned()).encoder(table)
    assert encoder.row_with_unchanged([NOT_SENT]) == encoder.tolerant([NOT_SENT])[0] == b'{"v":"BQ=="}'


def test_each_converter_writes_decimals_in_its_own_format() -> None:
    table = catalog_table("t", Column("id", 1700, 655366, not_null=True), primary_key=["id"])
    for key_format, key in (("NUMERIC", b'{"id":1.50}'), ("BASE64", b'{"id":"AJY="}')):
        for value_format, value in (("NUMERIC", b'{"id":1.50}'), ("BASE64", b'{"id":"AJY="}')):
            of_key, of_value = (ConverterSettings(schemas_enable=False, decimal_format=name) for name in (key_format, value_format))
            warnings = Warned()
            encoder = Capture(Selection.of(configured()), TYPES, of_key, of_value, warnings).encoder(table)
            assert (encoder.key([b"1.50"]), encoder.row([b"1.50"])) == (key, value)
            # Headers have a separate converter, which does not use base64.
            assert encoder.key_text([b"1.50"]) == b'{"id":1.50}'


@each_case(
    ("column", "cell", "mode", "text"),
    [
        (Column("k", 25), 'x\ny\U0001f600 "q" \\', "adaptive", '{"k":"x\ny\U0001f600 \\"q\\" \\\\"}'),
        (Column("k", 701), "NaN", "adaptive", '{"k":NaN}'),
        (Column("k", 701), "-Infinity", "adaptive", '{"k":-Infinity}'),
        (Column("k", 701), "1e20", "adaptive", '{"k":1.0E20}'),
        (Column("k", 700), "1.1", "adaptive", '{"k":1.1}'),
        (Column("k", 1082), "2021-02-03", "connect", '{"k":2021-02-03}'),
        (Column("k", 1082), "1970-01-01", "connect", '{"k":00:00:00.000Z}'),
        (Column("k", 1082), "2021-02-03", "adaptive", '{"k":18661}'),
        (Column("k", 1114), "2021-01-01 12:34:56.789", "connect", '{"k":2021-01-01T12:34:56.789Z}'),
        (Column("k", 1114), "2021-01-01 00:00:00", "connect", '{"k":2021-01-01}'),
        (Column("k", 1083), "23:59:59.999", "connect", '{"k":23:59:59.999Z}'),
        (Column("k", 1700, 655366), "1.50", "adaptive", '{"k":1.50}'),
        (Column("k", 1700), "100", "adaptive", '{"k":{"scale":0,"value":"ZA=="}}'),
        (Column("k", 17), "\\xfffefd", "adaptive", '{"k":"//79"}'),
        (Column("k", 16), "t", "adaptive", '{"k":true}'),
    ],
)
def test_text_of_a_key(column: Column, cell: str, mode: str, text: str) -> None:
    """As recorded in the scenarios key-headers and key-headers-more."""
    table = catalog_table("t", replace(column, not_null=True), primary_key=["k"])
    plain = ConverterSettings(schemas_enable=False)
    encoder = Capture(Selection.of(configured(time_precision_mode=mode)), KINDS, plain, plain, Warned()).encoder(table)
    assert encoder.key_text([cell.encode()]).decode() == text


def test_text_of_a_key_without_a_value() -> None:
    table = catalog_table("t", Column("a", 25), Column("b", 23, default="7"), Column("c", 23, not_null=True), primary_key=["a", "b", "c"])
    plain = ConverterSettings(schemas_enable=False)
    encoder = Capture(Selection.of(configured()), KINDS, plain, plain, Warned()).encoder(table)
    assert encoder.key_text([None, None, None]) == b'{"a":null,"b":7,"c":0}'
    assert encoder.key_text([NOT_SENT, b"1", b"2"]) == b'{"a":"__debezium_unavailable_value","b":1,"c":2}'


@each_case(
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
