"""The window of a chunk, the stream's changes in it, and a signal's row, at which the stream stops."""

from __future__ import annotations

import pytest

from connector.catalog.table import CatalogTable, row_places
from connector.catalog.visibility import Visibility
from connector.events.live_table import LiveTable
from connector.events.stream_settings import StreamSettings
from connector.events.transitions import NeedRelation, Signal, SignalRow, Used
from connector.incremental.state import Place
from connector.incremental.window import Key, Window
from connector.incremental.windowed_chunk import Verdict, WindowedChunk
from connector.types.codec import Column
from tests.support.each_case import each_case
from tests.support.stream_rig import INT4, NOW_NS, TEXT, RecordingOut, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import UNCHANGED, WalScript

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
        answer = self.stream.feed(self.wal.take(), NOW_NS)
        assert isinstance(answer, NeedRelation)
        encoder = self.capture.encoder(table)
        out = RecordingOut(encoder.topic, self.sent.setdefault(encoder.topic, []))
        self.stream.adopt(answer.relation, LiveTable(encoder, self.capture.source(table), out, signals=table.table == "sig"))

    def open(self) -> Window[bytes]:
        window = Window[bytes]()
        self.stream.open_window("public.item", window)
        window.fill(KEYS, LINES)
        return window


def test_a_changed_row_is_left_out_whether_the_change_comes_before_or_after_the_reading() -> None:
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


@each_case(
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
def test_the_window_gets_every_change_of_its_table(kind: str, left: list[bytes]) -> None:
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
    # If the chunk also left the row out, no event would have it.
    rig, wal = Rig(skipped="cudt"), WalScript(0x2000_0000)
    window = rig.open()
    wal.begin()
    wal.update(R_ITEM, "a", "1", "new")
    wal.insert(R_ITEM, "a", "2", "new")
    wal.delete(R_ITEM, key=["b", "1", None])
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
    answer = rig.stream.feed(frames, NOW_NS)
    assert [sent.payload["after"]["note"] for sent in rig.sent["srv.public.item"]] == ["before"]
    assert len(rig.sent["srv.public.sig"]) == (1 if kind == "insert" else 2)
    cells = (b"s", b"log", None) if kind == "insert" else (b"s", None, None)
    assert answer == Signal(3, False, SignalRow(kind == "delete", cells))
    assert rig.stream.feed(frames[answer.used :], NOW_NS) == Used(2, False)
    assert [sent.payload["after"]["note"] for sent in rig.sent["srv.public.item"]] == ["before", "after"]


def test_an_update_of_the_signal_table_is_no_signal() -> None:
    rig, wal = Rig(), WalScript(0x2000_0000)
    wal.begin()
    wal.update(R_SIGNALS, "s", "log", "{}")
    wal.commit()
    frames = wal.take()
    assert rig.stream.feed(frames, NOW_NS) == Used(len(frames), False)


def test_rows_of_the_signal_table_are_signals_although_their_events_are_skipped() -> None:
    rig, wal = Rig(skipped="cd"), WalScript(0x2000_0000)
    wal.begin()
    wal.insert(R_SIGNALS, "s", "log", None)
    wal.delete(R_SIGNALS, key=["s", None, None])
    wal.commit()
    assert rig.feed(wal.take()) == []
    assert rig.signals == [SignalRow(False, (b"s", b"log", None)), SignalRow(True, (b"s", None, None))]


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


@pytest.mark.parametrize("end", [100, 3_000_000_000, 2**32 - 1, 2**33 + 5])
def test_a_transaction_of_long_ago_is_not_taken_for_a_coming_one(end: int) -> None:
    visible = Visibility.parse(f"{end - 5}:{end}:")
    ages = [1, 10, 2**20, 2**31 - 1, 2**31, 2**31 + 10, 2**32 - 2**24 - 1]
    assert not visible.hides_any([(end - age) % 2**32 for age in ages])
    # A transaction with millions of subtransactions may begin before one that is delivered.
    assert all(visible.hides_any([(end + ahead) % 2**32]) for ahead in (0, 1, 5_000_000))


def listening(rig: Rig) -> WindowedChunk[bytes]:
    """A chunk of item whose window hears the stream."""
    made = WindowedChunk[bytes]("c")
    made.open()
    assert made.aim("public.item")
    made.listening(frozenset(rig.stream.recent))
    rig.stream.open_window("public.item", made.window)
    return made


def test_a_chunk_is_sent_less_the_rows_that_the_stream_brought() -> None:
    rig = Rig()
    made = listening(rig)
    assert made.verdict() is Verdict.EMPTY
    made.fill(KEYS, LINES, EVERYTHING, Place(("b", "1"), "stored"))
    rig.wal.begin()
    rig.wal.insert(R_ITEM, "a", "2", "new")
    rig.wal.commit()
    rig.feed(rig.wal.take())
    assert made.verdict() is Verdict.COMPLETE
    assert (made.window.rows(), made.last) == ([LINES[0], LINES[2]], Place(("b", "1"), "stored"))


def test_a_window_listens_once_its_table_and_its_opening_are_known() -> None:
    made = WindowedChunk[bytes]("c")
    made.open()
    assert not made.listens
    made.aim("public.item")
    assert made.listens
    other = WindowedChunk[bytes]("d")
    other.aim("public.item")
    assert not other.listens


def test_a_chunk_that_missed_what_the_stream_had_brought_is_read_again() -> None:
    rig = Rig()
    rig.wal.begin(1500)
    rig.wal.insert(R_ITEM, "a", "1", "new")
    rig.wal.commit()
    rig.feed(rig.wal.take())
    made = listening(rig)
    made.fill(KEYS, LINES, Visibility.parse("1500:1500:"), Place(("b", "1"), "stored"))
    assert made.verdict() is Verdict.UNSEEN


def test_a_chunk_of_a_table_that_changed_is_read_again() -> None:
    rig = Rig()
    made = listening(rig)
    made.fill(KEYS, LINES, EVERYTHING, Place(("b", "1"), "stored"))
    rig.relation(WIDER)
    assert made.verdict() is Verdict.RESHAPED


def test_each_table_has_its_own_window() -> None:
    made = WindowedChunk[bytes]("c")
    assert made.aim("public.other")
    first = made.window
    first.changed((b"a",))
    first.emptied()
    assert not made.aim("public.other")
    assert made.aim("public.item")
    made.fill([(b"a",)], [b"a"], EVERYTHING, Place(("a",), "stored"))
    assert (made.verdict(), made.window.rows()) == (Verdict.COMPLETE, [b"a"])


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


def test_a_row_is_left_out_by_its_primary_key_for_any_message_key() -> None:
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


@pytest.mark.parametrize("skipped", ["", "t"])
def test_a_truncate_empties_the_open_window_even_if_its_event_is_skipped(skipped: str) -> None:
    rig = Rig(skipped=skipped)
    window = rig.open()
    rig.wal.begin()
    rig.wal.truncate(R_ITEM)
    rig.wal.commit()
    assert [sent.op for sent in rig.feed(rig.wal.take())] == (["t"] if not skipped else [])
    assert window.rows() == []


def test_a_changed_key_takes_its_row_out_of_the_window_although_updates_are_skipped() -> None:
    rig = Rig(skipped="u")
    window = rig.open()
    rig.wal.begin()
    rig.wal.update(R_ITEM, "a", "1", "only updated")
    rig.wal.update(R_ITEM, "c", "2", "moved", key=("a", "2", None))
    rig.wal.commit()
    assert [sent.op for sent in rig.feed(rig.wal.take())] == ["d", None, "c"]
    assert window.rows() == [LINES[0], LINES[2]]
