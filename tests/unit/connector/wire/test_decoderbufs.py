"""decoderbufs' messages, built here field by field: values, shapes of tables, and what is no such message."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.errors import CdcError, ErrorKind
from connector.wire.decoderbufs import Decoderbufs
from connector.wire.pgoutput import (
    BODY,
    DELETE,
    INSERT,
    RELATION,
    UNCHANGED,
    UNTOLD_MODIFIER,
    UPDATE,
    Begin,
    Commit,
    RelationColumn,
    parse_begin,
    parse_commit,
    parse_relation,
    split_tuple,
)
from tests.support.each_case import each_case
from tests.support.wal_script import EPOCH_2000_US, xlog_data

LSN = 0x1_2345_6789
COMMIT_US = EPOCH_2000_US + 800_000_000_123_456


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = b""
    while value > 0x7F:
        out += bytes((value & 0x7F | 0x80,))
        value >>= 7
    return out + bytes((value,))


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def data(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


def datum(name: str, oid: int, value: bytes = b"") -> bytes:
    return data(1, name.encode()) + number(2, oid) + value


def declared(text: str, *, optional: bool) -> bytes:
    return data(1, text.encode()) + number(2, optional)


def message(
    operation: int, table: str = "public.t", *, new: Sequence[bytes] = (), old: Sequence[bytes] = (), types: Sequence[bytes] = ()
) -> bytes:
    parts = [number(1, 700), number(2, COMMIT_US)]
    if operation < 3:
        parts.append(data(3, table.encode()))
    parts.append(number(4, operation))
    parts += [data(5, part) for part in new] + [data(6, part) for part in old] + [data(7, part) for part in types]
    return xlog_data(LSN, b"".join(parts))


BEGUN = message(3)
ENDED = message(4)
ID = datum("id", 23, number(3, 1))
INT = declared("integer", optional=False)


def translate(reader: Decoderbufs, *taken: bytes) -> list[bytes]:
    out: list[bytes] = []
    assert reader.translate(taken, out) == len(taken)
    assert reader.wanted is None
    return out


def cells(frame: bytes, at: int = 31) -> list[bytes | None]:
    found: list[bytes | None] = []
    split_tuple(frame, at, found)
    return found


def text_of(oid: int, value: bytes, *, encoding: str = "utf-8", unchecked: bool = False) -> bytes | None:
    reader = Decoderbufs(encoding, unchecked=unchecked)
    row = message(0, new=[datum("v", oid, value)], types=[declared("whatever", optional=True)])
    return cells(translate(reader, BEGUN, row)[-1])[0]


def test_a_transaction_in_pgoutputs_form() -> None:
    row = message(0, new=[ID, datum('"Col ""x"', 1043, data(8, b"text"))], types=[INT, declared("character varying(9)", optional=True)])
    begun, described, inserted, ended = translate(Decoderbufs(), BEGUN, row, ENDED)
    assert parse_begin(begun) == Begin(0, COMMIT_US, 700)
    assert parse_commit(ended) == Commit(0, LSN, COMMIT_US)
    relation = parse_relation(described)
    assert (relation.schema, relation.table) == ("public", "t")
    assert relation.columns == (
        RelationColumn("id", 23, -1, key=False, not_null=True),
        RelationColumn('Col "x', 1043, 13, key=False, not_null=False),
    )
    assert inserted[BODY] == INSERT
    assert inserted[26:30] == described[26:30]
    assert cells(inserted) == [b"1", b"text"]
    assert {frame[:BODY] for frame in (begun, described, inserted, ended)} == {BEGUN[:BODY]}


@each_case(
    ("oid", "value", "text"),
    [
        (16, number(7, 1), b"t"),
        (16, number(7, 0), b"f"),
        (21, number(3, -32_768), b"-32768"),
        (20, number(4, -(2**63)), b"-9223372036854775808"),
        (26, number(4, 2**32 - 1), b"4294967295"),
        (26, number(4, -1), b"4294967295"),
        (700, varint(5 << 3 | 5) + struct.pack("<f", 1e-10), b"1e-10"),
        (701, double(6, 1e300), b"1e+300"),
        (701, double(6, float("nan")), b"NaN"),
        (790, number(4, -123_456), b"-1234.56"),
        (1082, number(3, 17_109), b"2016-11-04"),
        (1083, number(4, 49_862_123_000), b"13:51:02.123"),
        (1114, number(4, 1_478_267_490_123_456), b"2016-11-04 13:51:30.123456"),
        (1184, number(4, 2**63 - 1), b"infinity"),
        (1266, double(6, 129_600_000_000.0), b"12:00:00+00"),
        (1266, double(6, -57_540_000_000.0), b"08:01:00+00"),
        (1186, data(8, b"1 year 2 mons"), b"1 year 2 mons"),
        (1186, double(6, 3_600_000_001.0), b"01:00:00.000001"),
        (17, data(9, b"\x00\xff"), b"\\x00ff"),
        (17, data(9, b""), b"\\x"),
        (600, data(10, double(1, 1.5) + double(2, -2.0)), b"(1.5,-2)"),
        (1700, data(8, b"NaN"), b"NaN"),
        (99_999, data(9, "{é}".encode()), "{é}".encode()),
        (25, data(8, b""), b""),
        (25, b"", None),
        (25, number(11, 1), UNCHANGED),
    ],
)
def test_values_are_printed_as_postgresql_prints_them(oid: int, value: bytes, text: bytes | None) -> None:
    assert text_of(oid, value) == text


def test_an_unchanged_value_is_the_one_the_stream_knows() -> None:
    reader = Decoderbufs()
    row = message(1, new=[ID, datum("v", 25, number(11, 1))], types=[INT, declared("text", optional=True)])
    assert cells(translate(reader, BEGUN, row)[-1])[1] is UNCHANGED


def test_an_unchanged_value_is_taken_from_a_whole_old_row() -> None:
    row = message(
        1,
        new=[ID, datum("v", 25, number(11, 1)), datum("w", 25, number(11, 1))],
        old=[ID, datum("v", 25, data(8, b"old")), datum("w", 25)],
        types=[INT, declared("text", optional=True), declared("text", optional=True)],
    )
    updated = translate(Decoderbufs(), BEGUN, row)[-1]
    assert updated[BODY] == UPDATE
    before: list[bytes | None] = []
    at = split_tuple(updated, 31, before) >> 2
    assert before == [b"1", b"old", None]
    assert cells(updated, at + 1) == [b"1", b"old", UNCHANGED]


@pytest.mark.parametrize(("encoding", "text"), [("iso8859-1", "é"), ("cp1251", "Ж"), ("euc_jp", "漢")])
def test_texts_are_brought_to_utf8(encoding: str, text: str) -> None:
    assert text_of(25, data(8, text.encode(encoding)), encoding=encoding) == text.encode()
    assert text_of(99_999, data(9, text.encode(encoding)), encoding=encoding) == text.encode()


@pytest.mark.parametrize(("oid", "field"), [(25, 8), (99_999, 9)])
def test_bytes_that_are_no_text_are_replaced_where_the_server_does_not_check_texts(oid: int, field: int) -> None:
    for value, text in ((b"caf\xe9", "caf\ufffd"), (b"\xe2\x82x\xff", "\ufffdx\ufffd"), ("é€😀".encode(), "é€😀")):
        assert text_of(oid, data(field, value), unchecked=True) == text.encode()
    assert text_of(17, data(9, b"\xff"), unchecked=True) == b"\\xff"


def test_a_table_is_described_again_when_its_shape_changes_and_only_then() -> None:
    reader = Decoderbufs()
    one = message(0, new=[ID], types=[INT])
    wider = message(0, new=[ID, datum("v", 25)], types=[INT, declared("text", optional=True)])
    required = message(0, new=[ID, datum("v", 25)], types=[INT, declared("text", optional=False)])
    gone = message(2, old=[ID, datum("v", 25)])
    made = translate(reader, BEGUN, one, one, wider, wider, gone, required, one)
    kinds = "".join(chr(frame[BODY]) for frame in made)
    assert kinds == "BRIIRIIDRIRI"
    described = [frame for frame in made if frame[BODY] == RELATION]
    assert len({frame[26:30] for frame in described}) == 1
    reported = [[column.not_null for column in parse_relation(frame).columns] for frame in described]
    assert reported == [[True], [True, False], [True, True], [True]]


def test_tables_have_numbers_of_their_own() -> None:
    rows = [message(0, table, new=[ID], types=[INT]) for table in ("public.t", "other.t", '"public"."T"')]
    relations = [parse_relation(frame) for frame in translate(Decoderbufs(), BEGUN, *rows) if frame[BODY] == RELATION]
    assert [(relation.oid, relation.schema, relation.table) for relation in relations] == [
        (1, "public", "t"),
        (2, "other", "t"),
        (3, "public", "T"),
    ]


def test_a_delete_has_neither_declared_types_nor_nulls() -> None:
    reader = Decoderbufs()
    _, described, gone = translate(reader, BEGUN, message(2, old=[ID, datum("v", 1043)]))
    assert parse_relation(described).columns == (
        RelationColumn("id", 23, UNTOLD_MODIFIER, key=False),
        RelationColumn("v", 1043, UNTOLD_MODIFIER, key=False),
    )
    assert gone[BODY] == DELETE
    assert cells(gone) == [b"1", None]


def test_rows_that_are_not_sent_are_reported_once_a_table() -> None:
    reader = Decoderbufs()
    made = translate(reader, BEGUN, message(1), message(2), message(1, "public.u"), ENDED)
    assert [chr(frame[BODY]) for frame in made] == ["B", "C"]
    assert [notice.fields for notice in reader.notices] == [{"table": "public.t"}, {"table": "public.u"}]


def test_names_longer_than_a_byte_counts() -> None:
    name = '"' + '""' * 63 + '"'
    _, described, _ = translate(Decoderbufs(), BEGUN, message(0, new=[datum(name, 25)], types=[declared("text", optional=True)]))
    assert parse_relation(described).columns[0].name == '"' * 63


def test_fields_of_later_versions_are_ignored() -> None:
    later = number(20, 5) + data(21, b"later") + double(22, 1.0) + varint(23 << 3 | 5) + b"\0\0\0\0"
    row = xlog_data(LSN, later + message(0, new=[ID], types=[INT + later])[BODY:] + later)
    assert cells(translate(Decoderbufs(), BEGUN, row)[-1]) == [b"1"]


def test_an_old_version_is_reported() -> None:
    with pytest.raises(CdcError, match="does not mark where transactions begin") as caught:
        translate(Decoderbufs(), message(0, new=[ID], types=[INT]))
    assert caught.value.kind is ErrorKind.PROTOCOL


@pytest.mark.parametrize(
    "body",
    [
        b"txid[31159], commit_time[1795256626608797], op[3]",
        BEGUN[BODY:-1],
        message(0, new=[ID], types=[INT])[BODY:-1],
        b"\xff" * 12,
        b"",
    ],
)
def test_other_messages_are_refused(body: bytes) -> None:
    reader = Decoderbufs()
    translate(reader, BEGUN)
    with pytest.raises(CdcError) as caught:
        translate(reader, xlog_data(LSN, body))
    assert caught.value.kind is ErrorKind.PROTOCOL


def test_an_unknown_form_of_a_value_is_refused_without_showing_it() -> None:
    with pytest.raises(CdcError) as caught:
        text_of(25, data(12, b"secret"))
    assert "secret" not in str(caught.value)


names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@given(st.dictionaries(names, st.one_of(st.none(), st.text()), min_size=1, max_size=8), st.booleans())
def test_any_row_of_texts_arrives(row: dict[str, str | None], whole: bool) -> None:
    quoted = ['"' + name.replace('"', '""') + '"' for name in row]
    parts = [datum(name, 25, b"" if value is None else data(8, value.encode())) for name, value in zip(quoted, row.values(), strict=True)]
    old = parts if whole else []
    change = message(1, new=parts, old=old, types=[declared("text", optional=True)] * len(parts))
    _, described, updated = translate(Decoderbufs(), BEGUN, change)
    assert [column.name for column in parse_relation(described).columns] == list(row)
    expected = [None if value is None else value.encode() for value in row.values()]
    at = 30
    if whole:
        before: list[bytes | None] = []
        at = split_tuple(updated, 31, before) >> 2
        assert before == expected
    assert cells(updated, at + 1) == expected
