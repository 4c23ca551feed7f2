from __future__ import annotations

import json
from typing import Any

import pytest

from connector.errors import CdcError, ErrorKind
from connector.wire import pgoutput
from connector.wire.lsn import parse_lsn
from connector.wire.pgoutput import Begin, Commit, Keepalive, Message, Origin, Relation, RelationColumn
from tests.support import wal_script
from tests.support.each_case import each_case
from tests.support.project import SUPPORT
from tests.support.wal_script import BINARY, EPOCH_2000_US, UNCHANGED, Cell, WalScript

RECORDED: dict[str, Any] = json.loads((SUPPORT / "pgoutput_recorded.json").read_text(encoding="utf-8"))
WIDEST = 2**63 - 1


def framed(body: bytes, lsn: int = 0x2211_FFD8) -> bytes:
    return wal_script.xlog_data(lsn, body)


ORDERS = Relation(
    50204,
    "Inv",
    "Odd Orders",
    "f",
    tuple(
        RelationColumn(name, oid, modifier, key=True)
        for name, oid, modifier in (
            ("id", 23, -1),
            ("customer", 1043, 44),
            ("total", 1700, 655366),
            ("paid", 16, -1),
            ("placed", 1114, 6),
            ("notes", 25, -1),
            ("facts", 3802, -1),
            ("raw", 17, -1),
            ("day", 1082, -1),
        )
    ),
)
FIRST = ("1", 'Zoë "Z" \\ 漢字 😀', "1234.50", "f", "2024-02-29 23:59:59.123456", "long ", '{"a": 1}', "\\xdeadbeef", "1999-12-31")
SECOND = (FIRST[0], FIRST[1], "-0.05", None, FIRST[4], "tab\tnew\nline", *FIRST[6:])


def recorded(number: int) -> bytes:
    return bytes.fromhex(RECORDED["frames"][number]["data"])


@each_case(
    ("number", "body"),
    [
        (0, wal_script.begin(0x2212_04C0, EPOCH_2000_US + 0x0303C4FED60B3E, 9456)),
        (1, wal_script.relation(ORDERS)),
        (2, wal_script.insert(50204, FIRST)),
        (3, wal_script.update(50204, SECOND, old=FIRST)),
        (4, wal_script.update(50204, ("77", *SECOND[1:]), old=SECOND)),
        (5, wal_script.delete(50204, old=("77", *SECOND[1:]))),
        (6, wal_script.insert(50204, ("2", "nobody", "9.90", "f", "infinity", None, '{"a": 1}', None, None))),
        (7, wal_script.commit(0x2212_04C0, 0x2212_04F0, EPOCH_2000_US + 0x0303C4FED60B3E)),
        (13, wal_script.truncate(50204, cascade=True, restart_identity=True)),
    ],
)
def test_the_script_builds_what_a_server_sent(number: int, body: bytes) -> None:
    assert body == recorded(number)


def test_recorded_relation_is_read() -> None:
    assert pgoutput.parse_relation(framed(recorded(1))) == ORDERS


def test_recorded_transaction_is_read() -> None:
    begin = pgoutput.parse_begin(framed(recorded(0)))
    commit = pgoutput.parse_commit(framed(recorded(7)))
    # The commit time that Debezium's event of this transaction shows.
    assert begin == Begin(parse_lsn("0/221204C0"), 1795254354045758, 9456)
    assert commit == Commit(parse_lsn("0/221204C0"), parse_lsn("0/221204F0"), 1795254354045758)


@each_case("xid", [0, 3, 2**31, 2**32 - 1])
@each_case("lsn", [0, 1, 2**32, WIDEST])
@each_case("us", [EPOCH_2000_US, EPOCH_2000_US - 1, 0, 4_102_444_800_000_001])
def test_begin_and_commit_at_their_edges(xid: int, lsn: int, us: int) -> None:
    assert pgoutput.parse_begin(framed(wal_script.begin(lsn, us, xid))) == Begin(lsn, us, xid)
    assert pgoutput.parse_commit(framed(wal_script.commit(lsn, lsn, us))) == Commit(lsn, lsn, us)


@each_case("identity", list("dnfi"))
@each_case("schema", ["public", "pg_catalog", 'od"d schéma'])
@each_case(
    "columns",
    [
        (),
        (RelationColumn("id", 23, -1, key=True),),
        (RelationColumn('Ünï "q"', 2**32 - 1, 2**31 - 1, key=False), RelationColumn("漢字", 25, -1, key=True)),
        tuple(RelationColumn(f"c{number}", 25, -1, key=number % 2 == 0) for number in range(1600)),
    ],
    ids=["none", "one", "odd names", "1600"],
)
def test_relation_round_trip(identity: str, schema: str, columns: tuple[RelationColumn, ...]) -> None:
    relation = Relation(2**32 - 1, schema, "t a b", identity, columns)
    assert pgoutput.parse_relation(framed(wal_script.relation(relation))) == relation


@each_case("oids", [(1,), (5, 4, 2**32 - 1), tuple(range(1, 300))])
@each_case("cascade", [False, True])
@each_case("restart", [False, True])
def test_truncate(oids: tuple[int, ...], cascade: bool, restart: bool) -> None:
    body = wal_script.truncate(*oids, cascade=cascade, restart_identity=restart)
    assert pgoutput.parse_truncate(framed(body)) == oids


@each_case("transactional", [False, True])
@each_case("prefix", ["", "foo", "ümlaut"])
@each_case("content", [b"", b"\0\x01\xff", b"x" * 70_000])
def test_message(transactional: bool, prefix: str, content: bytes) -> None:
    body = wal_script.message(prefix, content, lsn=WIDEST, transactional=transactional)
    # Bytes after the message must not leak into its content.
    assert pgoutput.parse_message(framed(body + b"rest")) == Message(transactional, WIDEST, prefix, content)


@pytest.mark.parametrize("name", ["", "pg_24577", "ä/b"])
def test_origin(name: str) -> None:
    assert pgoutput.parse_origin(framed(wal_script.origin(0x16_B374_D848, name))) == Origin(0x16_B374_D848, name)


@pytest.mark.parametrize("reply", [False, True])
@pytest.mark.parametrize("wal_end", [0, 2**32, WIDEST])
def test_keepalive(wal_end: int, reply: bool) -> None:
    assert pgoutput.parse_keepalive(wal_script.keepalive(wal_end, reply=reply)) == Keepalive(wal_end, reply)


def test_standby_status_bytes() -> None:
    status = pgoutput.standby_status(0x0102, 0x0304, EPOCH_2000_US + 5, reply=True)
    eight = (0x0102, 0x0304, 0x0304, 5)
    assert status == b"r" + b"".join(n.to_bytes(8, "big") for n in eight) + b"\1"
    assert pgoutput.standby_status(1, 1, EPOCH_2000_US)[-1] == 0


CELLS: list[tuple[str, list[Cell], list[bytes | None], int]] = [
    ("no columns", [], [], 0),
    ("text", ["a", "", "ä漢"], [b"a", b"", "ä漢".encode()], 0),
    ("nulls", [None, "x", None], [None, b"x", None], pgoutput.HAS_NULL),
    ("unchanged first", [UNCHANGED, "x"], [pgoutput.UNCHANGED, b"x"], pgoutput.HAS_UNCHANGED),
    ("unchanged last", ["x", None, UNCHANGED], [b"x", None, pgoutput.UNCHANGED], pgoutput.HAS_NULL | pgoutput.HAS_UNCHANGED),
    ("longer than a byte can count", ["x" * 70_000, "y"], [b"x" * 70_000, b"y"], 0),
    ("letters of the format itself", ["n", "u", "t", "b"], [b"n", b"u", b"t", b"b"], 0),
    ("many", ["v"] * 1600, [b"v"] * 1600, 0),
]


@each_case(("cells", "expected", "flags"), [row[1:] for row in CELLS], ids=[row[0] for row in CELLS])
@each_case("before", [b"", b"head"])
def test_split_tuple(cells: list[Cell], expected: list[bytes | None], flags: int, before: bytes) -> None:
    data = wal_script.tuple_data(cells)
    out: list[bytes | None] = []
    end = pgoutput.split_tuple(before + data + b"N", len(before), out)
    assert out == expected
    # The flags are set exactly when the slower paths must look for such values.
    assert (end >> 2, end & 3) == (len(before) + len(data), flags)
    assert [cell is pgoutput.UNCHANGED for cell in out] == [cell is UNCHANGED for cell in cells]


def test_binary_column_is_refused_with_the_remedy() -> None:
    with pytest.raises(CdcError) as reported:
        pgoutput.split_tuple(wal_script.tuple_data(["x", BINARY]), 0, [])
    assert reported.value.kind is ErrorKind.PROTOCOL
    assert "0x62" in reported.value.message
    assert "slot.stream.params" in reported.value.remedy


def test_the_old_and_new_row_of_an_update_lie_one_after_the_other() -> None:
    frame = framed(wal_script.update(7, ["2", UNCHANGED], key=["1", None]))
    old: list[bytes | None] = []
    new: list[bytes | None] = []
    assert frame[pgoutput.BODY] == pgoutput.UPDATE
    assert frame[pgoutput.ROW_KIND] == ord("K")
    at = pgoutput.split_tuple(frame, pgoutput.ROW, old) >> 2
    assert frame[at] == pgoutput.NEW_TUPLE
    assert pgoutput.split_tuple(frame, at + 1, new) == len(frame) << 2 | pgoutput.HAS_UNCHANGED
    assert (old, new) == ([b"1", None], [b"2", pgoutput.UNCHANGED])


def test_the_script_fills_in_the_end_of_a_transaction() -> None:
    wal = WalScript(0x100)
    xid = wal.begin(commit_us=EPOCH_2000_US)
    first = wal.insert(ORDERS, *FIRST)
    end = wal.commit()
    frames = wal.take()
    begin = pgoutput.parse_begin(frames[0])
    commit = pgoutput.parse_commit(frames[-1])
    assert (first, begin.xid) == (0x100, xid)
    assert first < begin.final_lsn == commit.commit_lsn < commit.end_lsn == end == wal.lsn
    assert wal.take() == []
