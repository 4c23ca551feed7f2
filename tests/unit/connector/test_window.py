"""The window of a chunk, and what the stream tells it; and a signal's row, at which the stream stops."""

from __future__ import annotations

import pytest
from support.stream_rig import INT4, NOW_NS, TEXT, RecordingOut, StreamRig, catalog_table, configured, relation_of
from support.wal_script import UNCHANGED, WalScript

from connector.changes import LiveTable, StreamSettings
from connector.incremental import Collection, IncrementalSnapshot, Place
from connector.incremental_chunk import Chunk, Closed, Visibility
from connector.stream import SignalRow
from connector.table import CatalogTable
from connector.types.codec import Column
from connector.window import Key, Window, row_places

ITEM = catalog_table(
    "item",
    Column("id", TEXT, not_null=True),
    Column("part", INT4, not_null=True),
    Column("note", TEXT),
    oid=5001,
    primary_key=["id", "part"],
)
WIDER = catalog_table("item", *ITEM.columns, Column("more", TEXT), oid=5001, primary_key=["id", "part"])
OTHER = catalog_table("other", Column("id", TEXT, not_null=True), Column("note", TEXT), oid=5002, primary_key=["id"])
SIGNALS = catalog_table("sig", Column("id", TEXT, not_null=True), Column("type", TEXT), Column("data", TEXT), oid=5003, primary_key=["id"])
R_ITEM, R_OTHER, R_SIGNALS = relation_of(ITEM), relation_of(OTHER), relation_of(SIGNALS)
EVERYTHING = Visibility.parse("2000:2000:")
KEYS: list[Key] = [(b"a", b"1"), (b"a", b"2"), (b"b", b"1")]
LINES = [b"a\t1\tx", b"a\t2\ty", b"b\t1\tz"]


class Rig(StreamRig):
    """A stream that knows the tables already; one of them has signals."""

    def __init__(self, *, skipped: str = "") -> None:
        super().__init__(ITEM, OTHER, SIGNALS, settings=StreamSettings(skipped=frozenset(skipped)))
        self.wal = WalScript()
        for table in (ITEM, OTHER, SIGNALS):
            self.relation(table)

    def relation(self, table: CatalogTable) -> None:
        self.wal.relation(relation_of(table))
        self.stream.feed(self.wal.take(), NOW_NS)
        assert self.stream.wanted is not None
        encoder = self.capture.encoder(table)
        out = RecordingOut(encoder.topic, self.sent.setdefault(encoder.topic, []))
        self.stream.adopt(self.stream.wanted, LiveTable(encoder, self.capture.source(table), out, signals=table.table == "sig"))

    def open(self) -> Window[bytes]:
        window = Window[bytes]()
        self.stream.open_window("public.item", window)
        window.fill(KEYS, LINES)
        return window


def test_a_row_that_changed_is_left_out_whether_told_before_or_after_the_reading() -> None:
    window = Window[bytes]()
    window.changed(KEYS[0])
    window.fill(KEYS, LINES)
    assert window.rows() == LINES[1:]
    window.changed(KEYS[2])
    window.changed((b"c", b"9"))
    assert window.rows() == [LINES[1]]
    assert not window.spoiled


def test_a_truncation_after_the_reading_empties_it_and_one_before_spoils_it() -> None:
    window = Window[bytes]()
    window.fill(KEYS, LINES)
    window.emptied()
    assert (window.rows(), window.spoiled) == ([], False)
    early = Window[bytes]()
    early.emptied()
    early.fill(KEYS, LINES)
    assert early.spoiled


def test_nothing_read_is_nothing_to_send() -> None:
    assert Window().rows() == []


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        ("insert", LINES[1:]),
        ("update", LINES[1:]),
        ("delete", LINES[1:]),
        ("move", LINES[2:]),
        ("whole old row", LINES[2:]),
        ("unchanged key", LINES[1:]),
        ("unchanged key with the old row", LINES[1:]),
        ("truncate", []),
        ("another table", LINES),
        ("another key", LINES),
    ],
)
def test_the_stream_tells_the_window_of_every_change_of_its_table(kind: str, left: list[bytes]) -> None:
    rig, wal = Rig(), WalScript(0x2000_0000)
    window = rig.open()
    wal.begin()
    match kind:
        case "insert":
            wal.insert(R_ITEM, "a", "1", "new")
        case "update":
            wal.update(R_ITEM, "a", "1", "new")
        case "delete":
            wal.delete(R_ITEM, key=["a", "1", None])
        case "move":
            wal.update(R_ITEM, "a", "2", "new", key=["a", "1", None])
        case "whole old row":
            wal.update(R_ITEM, "a", "2", "new", old=["a", "1", "x"])
        case "unchanged key":
            wal.update(R_ITEM, UNCHANGED, "1", "new", key=["a", "1", None])
        case "unchanged key with the old row":
            wal.update(R_ITEM, UNCHANGED, "1", "new", old=["a", "1", "x"])
        case "truncate":
            wal.truncate(R_OTHER, R_ITEM)
        case "another table":
            wal.insert(R_OTHER, "a", "1")
        case _:
            wal.insert(R_ITEM, "a", "3", "new")
    wal.commit()
    rig.feed(wal.take())
    assert window.rows() == left
    assert not window.spoiled


def test_a_change_that_is_not_sent_does_not_take_its_row_out() -> None:
    # Left out of the chunk too, the row would never be told of.
    rig, wal = Rig(skipped="cudt"), WalScript(0x2000_0000)
    window = rig.open()
    wal.begin()
    wal.update(R_ITEM, "a", "1", "new")
    wal.insert(R_ITEM, "a", "2", "new")
    wal.delete(R_ITEM, key=["b", "1", None])
    wal.truncate(R_ITEM)
    wal.commit()
    assert rig.feed(wal.take()) == []
    assert window.rows() == LINES


def test_a_window_that_is_closed_hears_nothing_more() -> None:
    rig, wal = Rig(), WalScript(0x2000_0000)
    window = rig.open()
    rig.stream.close_window()
    wal.begin()
    wal.insert(R_ITEM, "a", "1", "new")
    wal.commit()
    assert [sent.op for sent in rig.feed(wal.take())] == ["c"]
    assert window.rows() == LINES


def test_a_second_window_takes_the_place_of_the_first() -> None:
    rig, wal = Rig(), WalScript(0x2000_0000)
    first = rig.open()
    second = Window[bytes]()
    rig.stream.open_window("public.other", second)
    second.fill([(b"a",)], [b"a\tx"])
    wal.begin()
    wal.insert(R_ITEM, "a", "1", "new")
    wal.insert(R_OTHER, "a", "new")
    wal.commit()
    rig.feed(wal.take())
    assert (first.rows(), second.rows()) == (LINES, [])


@pytest.mark.parametrize(
    ("table", "spoiled"), [(ITEM, False), (WIDER, True), (OTHER, False)], ids=["the same shape", "another shape", "another table"]
)
def test_a_table_that_gets_another_shape_spoils_its_window_and_is_still_watched(table: CatalogTable, spoiled: bool) -> None:
    rig = Rig()
    window = rig.open()
    rig.relation(table)
    assert window.spoiled is spoiled
    rig.wal.begin()
    rig.wal.insert(relation_of(table) if table is not OTHER else R_ITEM, "a", "1", "new", *["more"] * (table is WIDER))
    rig.wal.commit()
    rig.feed(rig.wal.take())
    assert window.rows() == LINES[1:]


def test_a_table_seen_for_the_first_time_finds_its_window() -> None:
    rig, wal = StreamRig(ITEM, settings=StreamSettings(skipped=frozenset())), WalScript()
    window = Window[bytes]()
    rig.stream.open_window("public.item", window)
    wal.begin()
    wal.relation(R_ITEM)
    wal.insert(R_ITEM, "a", "1", "new")
    wal.commit()
    rig.feed(wal.take())
    window.fill(KEYS, LINES)
    assert window.rows() == LINES[1:]
    assert not window.spoiled


def test_a_window_changes_nothing_of_the_events() -> None:
    wal = WalScript(0x2000_0000)
    wal.begin()
    for note in "xyz":
        wal.insert(R_ITEM, "a", "1", note)
        wal.insert(R_OTHER, "a", note)
        wal.update(R_ITEM, "b", "1", note)
    wal.delete(R_ITEM, key=["a", "1", None])
    wal.commit()
    frames = wal.take()
    plain, watched = Rig(), Rig()
    watched.open()
    assert watched.feed(frames) == plain.feed(frames)
    assert watched.stream.position == plain.stream.position


@pytest.mark.parametrize("kind", ["insert", "delete"])
def test_a_signal_stops_the_stream_at_its_place(kind: str) -> None:
    rig, wal = Rig(), WalScript(0x2000_0000)
    wal.begin()
    wal.insert(R_ITEM, "a", "1", "before")
    if kind == "insert":
        wal.insert(R_SIGNALS, "s", "log", None)
    else:
        wal.delete(R_SIGNALS, key=["s", None, None])
    wal.insert(R_ITEM, "a", "2", "after")
    wal.commit()
    frames = wal.take()
    used = rig.stream.feed(frames, NOW_NS)
    assert used == 3
    assert [sent.payload["after"]["note"] for sent in rig.sent["srv.public.item"]] == ["before"]
    assert len(rig.sent["srv.public.sig"]) == (1 if kind == "insert" else 2)
    cells = (b"s", b"log", None) if kind == "insert" else (b"s", None, None)
    assert rig.stream.take_signal() == SignalRow(kind == "delete", cells)
    assert rig.stream.take_signal() is None
    assert rig.stream.feed(frames[used:], NOW_NS) == 2
    assert [sent.payload["after"]["note"] for sent in rig.sent["srv.public.item"]] == ["before", "after"]


def test_an_update_of_the_signal_table_is_no_signal() -> None:
    rig, wal = Rig(), WalScript(0x2000_0000)
    wal.begin()
    wal.update(R_SIGNALS, "s", "log", "{}")
    wal.commit()
    frames = wal.take()
    assert rig.stream.feed(frames, NOW_NS) == len(frames)
    assert rig.stream.take_signal() is None


def test_creates_that_are_skipped_are_no_signals() -> None:
    rig, wal = Rig(skipped="c"), WalScript(0x2000_0000)
    wal.begin()
    wal.insert(R_SIGNALS, "s", "log", None)
    wal.commit()
    frames = wal.take()
    assert rig.stream.feed(frames, NOW_NS) == len(frames)
    assert rig.stream.take_signal() is None


@pytest.mark.parametrize(
    ("snapshot", "hidden"),
    [
        ("100:100:", {100, 101, 5000}),
        ("90:100:90,95", {90, 95, 100}),
        # Behind the turn of the 32 bits, and just before it.
        ("4294967290:4294967300:4294967291", {4294967291, 4, 5}),
        ("8589934590:8589934590:", {4294967294, 4294967295, 0, 7}),
    ],
)
def test_a_read_misses_the_open_transactions_and_those_from_its_end_on(snapshot: str, hidden: set[int]) -> None:
    visible = Visibility.parse(snapshot)
    for xid in hidden:
        assert visible.hides_any([3_000_000_000 if snapshot[0] != "4" else 4294967289, xid]) is True, xid
    end = int(snapshot.split(":")[1])
    shown = [xid % 2**32 for xid in range(end - 20, end) if xid % 2**32 not in hidden]
    assert visible.hides_any(shown) is False


def chunk(rig: Rig) -> tuple[Chunk[bytes], IncrementalSnapshot]:
    state = IncrementalSnapshot()
    state.add([Collection("public.item")], "s")
    return Chunk[bytes]("c", rig.stream), state


def test_a_chunk_is_sent_at_its_close_and_moves_the_position_then() -> None:
    rig = Rig()
    made, state = chunk(rig)
    made.open()
    made.aim("public.item")
    made.fill(KEYS, LINES, EVERYTHING, Place(("b", "1"), "stored"))
    rig.wal.begin()
    rig.wal.insert(R_ITEM, "a", "2", "new")
    rig.wal.commit()
    rig.feed(rig.wal.take())
    sent: list[bytes] = []
    assert state.to_offset("null")["incremental_snapshot_primary_key"] == "null"
    assert made.close(state, sent.extend) is Closed.SENT
    assert (sent, state.position) == ([LINES[0], LINES[2]], Place(("b", "1"), "stored"))


def test_a_chunk_that_cannot_be_sent_leaves_the_position() -> None:
    made, state = chunk(Rig())
    made.aim("public.item")
    made.fill(KEYS, LINES, EVERYTHING, Place(("b", "1"), "stored"))

    def fail(_lines: list[bytes]) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        made.close(state, fail)
    assert state.position is None


@pytest.mark.parametrize("order", ["open, aim", "aim, open"])
def test_a_chunk_that_missed_what_the_stream_had_brought_is_read_again(order: str) -> None:
    rig = Rig()
    rig.wal.begin(1500)
    rig.wal.insert(R_ITEM, "a", "1", "new")
    rig.wal.commit()
    rig.feed(rig.wal.take())
    made, state = chunk(rig)
    for step in order.split(", "):
        if step == "open":
            made.open()
        else:
            made.aim("public.item")
    made.fill(KEYS, LINES, Visibility.parse("1500:1500:"), Place(("b", "1"), "stored"))
    sent: list[bytes] = []
    assert made.close(state, sent.extend) is Closed.UNSEEN
    assert (sent, state.position) == ([], None)


def test_a_chunk_of_a_table_that_changed_is_read_again() -> None:
    rig = Rig()
    made, state = chunk(rig)
    made.open()
    made.aim("public.item")
    made.fill(KEYS, LINES, EVERYTHING, Place(("b", "1"), "stored"))
    rig.relation(WIDER)
    sent: list[bytes] = []
    assert made.close(state, sent.extend) is Closed.RESHAPED
    assert (sent, state.position) == ([], None)


def test_a_chunk_without_rows_is_empty() -> None:
    made, state = chunk(Rig())
    made.open()
    assert made.close(state, lambda _lines: None) is Closed.EMPTY


def test_each_read_begins_with_a_fresh_window() -> None:
    rig = Rig()
    made, state = chunk(rig)
    made.open()
    made.aim("public.other")
    rig.wal.begin()
    rig.wal.insert(R_OTHER, "a", "new")
    rig.wal.truncate(R_OTHER)
    rig.wal.commit()
    rig.feed(rig.wal.take())
    made.aim("public.item")
    made.fill([(b"a",)], [b"a"], EVERYTHING, Place(("a",), "stored"))
    sent: list[bytes] = []
    assert made.close(state, sent.extend) is Closed.SENT
    assert sent == [b"a"]


def test_rows_that_share_a_key_are_all_kept() -> None:
    window = Window[bytes]()
    window.fill([KEYS[0], KEYS[0], KEYS[1]], LINES)
    assert window.rows() == LINES
    window.changed(KEYS[0])
    assert window.rows() == LINES[2:]


@pytest.mark.parametrize(
    ("primary_key", "identity", "key_at", "expected"),
    [
        (["id", "part"], "d", (2,), (0, 1)),
        (["part", "id"], "f", (2,), (1, 0)),
        ([], "f", (2,), (2,)),
        (["id"], "i", (2,), (2,)),
        (["gone"], "d", (2,), (2,)),
        ([], "d", (), ()),
    ],
)
def test_a_row_is_known_by_its_primary_key_where_old_rows_hold_it(
    primary_key: list[str], identity: str, key_at: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    table = catalog_table("item", *ITEM.columns, primary_key=primary_key, identity=identity)
    assert row_places(table, key_at) == expected


def test_a_row_is_left_out_by_its_primary_key_whatever_the_message_key_is() -> None:
    rig, wal = StreamRig(ITEM, config=configured(message_key_columns="public.item:note")), WalScript()
    wal.begin()
    wal.relation(R_ITEM)
    wal.commit()
    rig.feed(wal.take())
    window = Window[bytes]()
    rig.stream.open_window("public.item", window)
    window.fill(KEYS, LINES)
    wal.begin()
    wal.delete(R_ITEM, key=["a", "1", None])
    wal.commit()
    rig.feed(wal.take())
    assert window.rows() == LINES[1:]
