"""wal2json's messages of both formats, written here: values, what rows lack, what the catalog is asked, what is no such message."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.catalog.table import CatalogTable
from connector.errors import CdcError, ErrorKind
from connector.types.codec import Column
from connector.wire.pgoutput import (
    BODY,
    UNCHANGED,
    UNTOLD_MODIFIER,
    Begin,
    Commit,
    Message,
    RelationColumn,
    parse_begin,
    parse_commit,
    parse_message,
    parse_relation,
    parse_truncate,
    split_tuple,
)
from connector.wire.wal2json import Wal2Json
from tests.support.each_case import each_case
from tests.support.stream_rig import catalog_table
from tests.support.wal_script import xlog_data

LSN = 0x1_2345_6789
STAMP = "2026-11-21 10:23:46.6087+00"
COMMIT_US = 1_795_256_626_608_700
FLOAT8, NUMERIC, TEXT, BYTEA, INT = 701, 1700, 25, 17, 23
TYPES = {FLOAT8: "double precision", NUMERIC: "numeric(5,2)", TEXT: "text", BYTEA: "bytea", INT: "integer"}
Values = dict[str, tuple[int, Any]]
"""By the column's name: type's oid and the value."""


def framed(text: str) -> bytes:
    return xlog_data(LSN, text.encode())


def columns(values: Values, **more: object) -> list[dict[str, object]]:
    return [{"name": name, "type": TYPES.get(oid, "x"), "typeoid": oid, "value": value, **more} for name, (oid, value) in values.items()]


def change(action: str, table: str = "t", *, new: Values | None = None, old: Values | None = None) -> bytes:
    """A change of format 2."""
    said: dict[str, object] = {"action": action, "xid": 700, "timestamp": STAMP, "schema": "public", "table": table}
    if new is not None:
        said["columns"] = columns(new, optional=True)
    if old is not None:
        said["identity"] = columns(old)
    return framed(json.dumps(said))


BEGUN = framed(json.dumps({"action": "B", "xid": 700, "timestamp": STAMP}))
ENDED = framed(json.dumps({"action": "C", "xid": 700, "timestamp": STAMP}))
ROW: Values = {"id": (INT, 1), "v": (TEXT, "x")}
KEY: Values = {"id": (INT, 1)}
TABLE = catalog_table("t", Column("id", INT), Column("v", TEXT), Column("n", INT), primary_key=["id"])


def translate(reader: Wal2Json, *taken: bytes, catalog: CatalogTable | None = None) -> list[bytes]:
    """Frames of one burst; the catalog has one table."""
    out: list[bytes] = []
    rest: Sequence[bytes] = taken
    used = reader.translate(rest, out)
    while reader.wanted is not None:
        reader.learn(catalog if catalog is not None and reader.wanted == (catalog.schema, catalog.table) else None)
        rest = rest[used:]
        used = reader.translate(rest, out)
    assert used == len(rest)
    return out


def kinds(frames: Sequence[bytes]) -> str:
    return "".join(chr(frame[BODY]) for frame in frames)


def cells(frame: bytes, at: int = 31) -> list[bytes | None]:
    found: list[bytes | None] = []
    split_tuple(frame, at, found)
    return found


def update_cells(frame: bytes) -> tuple[list[bytes | None] | None, list[bytes | None]]:
    """Old and new row of an update."""
    if frame[30] == ord("N"):
        return None, cells(frame)
    old: list[bytes | None] = []
    at = split_tuple(frame, 31, old) >> 2
    return old, cells(frame, at + 1)


def test_a_transaction_of_the_second_format() -> None:
    begun, described, inserted, ended = translate(Wal2Json(), BEGUN, change("I", new={**ROW, "p": (NUMERIC, 1.5)}), ENDED)
    assert parse_begin(begun) == Begin(0, COMMIT_US, 700)
    assert parse_commit(ended) == Commit(0, LSN, COMMIT_US)
    relation = parse_relation(described)
    assert (relation.schema, relation.table) == ("public", "t")
    assert relation.columns == (
        RelationColumn("id", INT, -1, key=False, not_null=False),
        RelationColumn("v", TEXT, -1, key=False, not_null=False),
        RelationColumn("p", NUMERIC, (5 << 16 | 2) + 4, key=False, not_null=False),
    )
    assert cells(inserted) == [b"1", b"x", b"1.5"]


def test_a_transaction_of_the_first_format() -> None:
    head = f'{{"xid":700,"timestamp":"{STAMP}","change":['
    first = {
        "kind": "insert",
        "schema": "public",
        "table": "t",
        "columnnames": ["id", "v"],
        "columntypes": ["integer", "text"],
        "columntypeoids": [23, 25],
        "columnoptionals": [False, True],
        "columnvalues": [1, None],
    }
    keys = {"keynames": ["id"], "keytypes": ["integer"], "keytypeoids": [23], "keyvalues": [1]}
    second = {"kind": "delete", "schema": "public", "table": "t", "oldkeys": keys}
    made = translate(Wal2Json(), framed(head), framed(json.dumps(first)), framed("," + json.dumps(second)), framed("]}"))
    assert kinds(made) == "BRIDC"
    assert parse_begin(made[0]) == Begin(0, COMMIT_US, 700)
    assert [column.not_null for column in parse_relation(made[1]).columns] == [True, False]
    assert cells(made[2]) == [b"1", None]
    assert cells(made[3]) == [b"1", None]
    assert parse_commit(made[4]) == Commit(0, LSN, COMMIT_US)


@each_case(
    ("oid", "shown", "text"),
    [
        (INT, "-7", b"-7"),
        (NUMERIC, "12345678901234567890.1230", b"12345678901234567890.1230"),
        (FLOAT8, "1e+300", b"1e+300"),
        (FLOAT8, '"NaN"', b"NaN"),
        (16, "true", b"t"),
        (16, "false", b"f"),
        (TEXT, r'"a \"b\"\n\\ \u0001 漢"', 'a "b"\n\\ \x01 漢'.encode()),
        (BYTEA, '"00ff"', b"\\x00ff"),
        (BYTEA, '""', b"\\x"),
        (TEXT, "null", None),
    ],
)
def test_values_are_the_text_that_postgresql_prints(oid: int, shown: str, text: bytes | None) -> None:
    column = f'{{"name":"v","type":"x","typeoid":{oid},"value":{shown},"optional":true}}'
    said = f'{{"action":"I","schema":"s","table":"t","columns":[{column}]}}'
    assert cells(translate(Wal2Json(), framed(said))[-1]) == [text]


def test_a_key_that_did_not_change_is_no_old_row() -> None:
    reader = Wal2Json()
    new: Values = {"id": (INT, 2), "v": (TEXT, "x")}
    made = translate(reader, change("I", new=ROW), change("U", new=ROW, old=KEY), change("U", new=new, old=KEY), catalog=TABLE)
    assert kinds(made) == "RIUU"
    assert [update_cells(frame)[0] for frame in made[2:]] == [None, [b"1", None]]


def test_under_replica_identity_full_the_old_row_comes_always() -> None:
    whole = catalog_table("t", *TABLE.columns[:2], identity="f")
    new: Values = {"id": (INT, 1)}
    made = translate(Wal2Json(), change("I", new=ROW), change("U", new=ROW, old=ROW), change("U", new=new, old=ROW), catalog=whole)
    assert [update_cells(frame) for frame in made[2:]] == [([b"1", b"x"], [b"1", b"x"])] * 2


def test_a_column_that_an_update_lacks_did_not_change() -> None:
    made = translate(Wal2Json(), change("I", new=ROW), change("U", new=KEY, old=KEY), catalog=TABLE)
    assert kinds(made) == "RIU"
    _, new = update_cells(made[2])
    assert new[1] is UNCHANGED


def test_a_column_missing_from_the_catalog_too_was_dropped() -> None:
    reader = Wal2Json()
    translate(reader, change("I", new=ROW))
    narrow = catalog_table("t", Column("id", INT))
    made = translate(reader, change("U", new=KEY, old=KEY), change("U", new=KEY, old=KEY), catalog=narrow)
    assert kinds(made) == "RUU"
    assert update_cells(made[1])[1] == [b"1"]


def test_a_column_of_fixed_size_is_never_toasted() -> None:
    reader = Wal2Json()
    translate(reader, change("I", new={"id": (INT, 1), "n": (INT, 2)}))
    made = translate(reader, change("U", new=KEY, old=KEY), catalog=TABLE)
    assert [column.name for column in parse_relation(made[0]).columns] == ["id"]


def test_the_catalog_is_asked_for_what_an_update_lacks_once_a_burst() -> None:
    reader = Wal2Json()
    translate(reader, change("I", new=ROW))
    lacking = change("U", new=KEY, old=KEY)
    for _ in range(2):
        out: list[bytes] = []
        assert reader.translate([lacking, lacking], out) == 0
        assert reader.wanted == ("public", "t")
        reader.learn(TABLE)
        assert reader.translate([lacking, lacking], out) == 2
        assert kinds(out) == "UU"


def test_an_update_first_takes_what_it_lacks_from_the_catalog() -> None:
    made = translate(Wal2Json(), change("U", new=KEY, old=KEY), change("U", new=ROW, old=KEY), change("I", new=ROW), catalog=TABLE)
    assert [column.name for column in parse_relation(made[0]).columns] == ["id", "v"]
    assert update_cells(made[1])[1][1] is UNCHANGED
    # The text's attributes came from the catalog, now the message has them.
    assert kinds(made) == "RURUI"


def test_an_update_shows_a_new_column() -> None:
    wider: Values = {**ROW, "n": (INT, 5)}
    made = translate(Wal2Json(), change("I", new=ROW), change("U", new=wider, old=KEY), change("I", new=wider), catalog=TABLE)
    assert kinds(made) == "RIRUI"
    assert update_cells(made[3])[1] == [b"1", b"x", b"5"]


def test_a_delete_first_takes_the_columns_from_the_catalog() -> None:
    made = translate(Wal2Json(), change("D", old=KEY), catalog=TABLE)
    assert [(column.name, column.modifier, column.not_null) for column in parse_relation(made[0]).columns] == [
        ("id", -1, None),
        ("v", -1, None),
        ("n", -1, None),
    ]
    assert cells(made[1]) == [b"1", None, None]


def test_a_delete_in_a_dropped_table_shows_its_key() -> None:
    made = translate(Wal2Json(), change("D", old=KEY))
    assert [column.name for column in parse_relation(made[0]).columns] == ["id"]
    assert cells(made[1]) == [b"1"]


def test_an_extensions_type_keeps_the_catalogs_modifier() -> None:
    said = {"action": "I", "schema": "public", "table": "g"}
    column = {"name": "at", "type": "geometry(Point,4326)", "typeoid": 99_999, "value": "00"}
    made = translate(Wal2Json(), framed(json.dumps({**said, "columns": [column]})))
    assert parse_relation(made[0]).columns == (RelationColumn("at", 99_999, UNTOLD_MODIFIER, key=False, not_null=None),)


def test_truncates_come_table_by_table() -> None:
    made = translate(Wal2Json(), change("I", new=ROW), change("T"))
    assert parse_truncate(made[2]) == (parse_relation(made[0]).oid,)


def test_messages_inside_and_outside_of_transactions() -> None:
    said = {"action": "M", "transactional": True, "prefix": "p", "content": "text"}
    alone = {"change": [{"kind": "message", "transactional": False, "prefix": "q", "content": ""}]}
    inside, outside = translate(Wal2Json(), framed(json.dumps(said)), framed(json.dumps(alone)))
    assert parse_message(inside) == Message(transactional=True, lsn=LSN, prefix="p", content=b"text")
    assert parse_message(outside) == Message(transactional=False, lsn=LSN, prefix="q", content=b"")


def test_a_messages_bytes_need_be_no_text() -> None:
    frame = xlog_data(LSN, b'{"action":"M","transactional":true,"prefix":"p","content":"\xff\xfe\xc3"}')
    assert parse_message(translate(Wal2Json(), frame)[0]).content == b"\xff\xfe\xc3"


def test_texts_are_brought_to_utf8() -> None:
    said = '{"action":"I","schema":"s","table":"é","columns":[{"name":"ü","type":"text","typeoid":25,"value":"ß"}]}'
    described, inserted = translate(Wal2Json("iso8859-1"), xlog_data(LSN, said.encode("latin-1")))
    assert (parse_relation(described).table, parse_relation(described).columns[0].name) == ("é", "ü")
    assert cells(inserted) == ["ß".encode()]


def test_bytes_that_are_no_text_are_replaced() -> None:
    """A database in SQL_ASCII does not check its texts."""
    said = b'{"action":"I","schema":"s","table":"t","columns":[{"name":"v","type":"text","typeoid":25,"value":"\xe9 \xe2\x82 \xc3\xa9"}]}'
    assert cells(translate(Wal2Json(), xlog_data(LSN, said))[-1]) == ["\ufffd \ufffd é".encode()]


@each_case(
    "text",
    [
        "",
        "not json",
        '{"action":"X","schema":"s","table":"t"}',
        '{"action":"I","schema":"s","table":"t","columns":[{"name":"v","value":"secret"}]}',
        '{"action":"I","schema":"s","table":"t","columns":[{"name":"v","type":"x","typeoid":1,"value":["secret"]}]}',
        f'{{"xid":700,"timestamp":"{STAMP}","change":[{{"kind":"insert","schema":"s","table":"t"}}]}}',
        f'{{"xid":700,"timestamp":"{STAMP}","change":[]}}',
        '{"action":"B","xid":700,"timestamp":"yesterday"}',
    ],
)
def test_other_messages_are_refused_without_showing_them(text: str) -> None:
    with pytest.raises(CdcError) as caught:
        translate(Wal2Json(), framed(text))
    assert caught.value.kind is ErrorKind.PROTOCOL
    assert "secret" not in str(caught.value)


def test_nothing_is_learned_unasked() -> None:
    with pytest.raises(RuntimeError):
        Wal2Json().learn(TABLE)


letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


@given(st.dictionaries(st.text(letters, min_size=1, max_size=12), st.one_of(st.none(), st.text(letters)), max_size=8))
def test_any_row_of_texts_arrives(row: dict[str, str | None]) -> None:
    described, inserted = translate(Wal2Json(), change("I", new={name: (TEXT, value) for name, value in row.items()}))
    assert [column.name for column in parse_relation(described).columns] == list(row)
    assert cells(inserted) == [None if value is None else value.encode() for value in row.values()]
