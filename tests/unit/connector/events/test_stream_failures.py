"""The effect of changes and values that cannot be converted (``event.processing.failure.handling.mode``, ``event.converting...``)."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from connector.errors import CdcError, ErrorKind
from connector.events.stream_settings import StreamSettings
from connector.types.codec import Column, TypeInfo
from tests.support.each_case import each_case
from tests.support.stream_rig import INT4, TEXT, TYPES, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import UNCHANGED, WalScript

NUMERIC_10_2 = 655366
# A key that cannot hold every value of its column: NaN is no Decimal.
KEYED = catalog_table("keyed", Column("n", 1700, NUMERIC_10_2, not_null=True), Column("v", TEXT), primary_key=["n"])
PLAIN = catalog_table("plain", Column("id", INT4, not_null=True), Column("n", 1700, NUMERIC_10_2), oid=5001, primary_key=["id"])
R_KEYED, R_PLAIN = relation_of(KEYED), relation_of(PLAIN)


def started(processing: str, converting: str = "warn") -> tuple[StreamRig, WalScript]:
    settings = StreamSettings(skipped=frozenset(), conversion_failure=converting, processing_failure=processing)
    rig, wal = StreamRig(KEYED, PLAIN, settings=settings), WalScript()
    wal.begin(42)
    wal.relation(R_KEYED)
    wal.relation(R_PLAIN)
    return rig, wal


@each_case("change", ["insert", "update", "update with the old key", "delete"])
def test_fail_names_table_and_remedy(change: str) -> None:
    rig, wal = started("fail")
    if change == "insert":
        wal.insert(R_KEYED, "NaN", "x")
    elif change == "update":
        wal.update(R_KEYED, "NaN", "x")
    elif change == "update with the old key":
        wal.update(R_KEYED, "NaN", "x", key=("1.00", None))
    else:
        wal.delete(R_KEYED, key=("NaN", None))
    with pytest.raises(CdcError, match=r"olumn n of table public\.keyed") as reported:
        rig.feed(wal.take())
    assert reported.value.kind is ErrorKind.VALUE
    assert "event.processing.failure.handling.mode" in reported.value.remedy
    assert "NaN" not in str(reported.value).replace("NaN/Infinity", "")
    assert rig.sent["srv.public.keyed"] == []


@pytest.mark.parametrize(("mode", "reported"), [("warn", True), ("skip", False), ("ignore", False)])
def test_the_event_is_left_out_and_all_others_are_sent(mode: str, reported: bool) -> None:
    rig, wal = started(mode)
    wal.insert(R_KEYED, "1.00", "a")
    first = wal.insert(R_KEYED, "NaN", "b")
    wal.insert(R_KEYED, "2.00", "c")
    second = wal.update(R_KEYED, "NaN", "x", key=("1.00", None))
    third = wal.delete(R_KEYED, key=("NaN", None))
    wal.delete(R_KEYED, key=("2.00", None))
    end = wal.commit()
    rig.feed(wal.take())
    assert [sent.op for sent in rig.sent["srv.public.keyed"]] == ["c", "c", "d", None]
    assert [sent.payload["after"]["v"] for sent in rig.sent["srv.public.keyed"][:2]] == ["a", "c"]
    assert [(table, lsn) for table, lsn, _ in rig.failures.left_out] == (
        [("public.keyed", lsn) for lsn in (first, second, third)] if reported else []
    )
    assert rig.stream.events == 4
    assert rig.stream.position is not None
    assert rig.stream.position.event == end


@pytest.mark.parametrize("unchanged", [False, True])
def test_a_value_that_must_not_be_null_fails_its_event(unchanged: bool) -> None:
    rig, wal = started("warn", "fail")
    wal.insert(R_PLAIN, "1", "1.00")
    if unchanged:
        wal.update(R_PLAIN, "2", "NaN", key=("1", None))
    else:
        wal.insert(R_PLAIN, "2", "NaN")
    wal.insert(R_PLAIN, "3", None)
    rig.feed(wal.take())
    assert [sent.key_json["id"] for sent in rig.sent["srv.public.plain"]] == [1, 3]
    ((table, _, reason),) = rig.failures.left_out
    assert table == "public.plain"
    assert "column n" in reason.lower()


@pytest.mark.parametrize(("mode", "reported"), [("warn", True), ("skip", False)])
@pytest.mark.parametrize("old_key", [None, ("1", None)])
def test_an_event_without_a_value_that_it_needs_is_left_out(mode: str, reported: bool, old_key: tuple[str, None] | None) -> None:
    table = catalog_table("needed", Column("id", INT4, not_null=True), Column("n", 1700, not_null=True), oid=5002, primary_key=["id"])
    relation = relation_of(table)
    settings = StreamSettings(skipped=frozenset(), processing_failure=mode)
    rig, wal = StreamRig(table, settings=settings), WalScript()
    wal.begin(42)
    wal.relation(relation)
    wal.insert(relation, "1", "7")
    wal.update(relation, "2" if old_key else "1", UNCHANGED, key=old_key)
    wal.insert(relation, "3", "8")
    rig.feed(wal.take())
    assert [(sent.op, sent.key_json["id"]) for sent in rig.sent["srv.public.needed"]] == [("c", 1), ("c", 3)]
    assert [table for table, _, _ in rig.failures.left_out] == ["public.needed"] * reported


@pytest.mark.parametrize("whole", [False, True])
def test_a_time_beyond_nanoseconds_is_null_in_optional_columns_and_in_their_keys(whole: bool) -> None:
    columns = (Column("a", 1114), Column("b", 1114, not_null=True))
    table = replace(catalog_table("times", *columns, oid=5003), identity="f")
    relation = relation_of(table)
    settings = StreamSettings(skipped=frozenset(), conversion_failure="fail", processing_failure="warn")
    config = configured(**{"time.precision.mode": "nanoseconds", "message.key.columns": "public.times:a"})
    rig, wal = StreamRig(table, settings=settings, config=config), WalScript()
    wal.begin(42)
    wal.relation(relation)
    wal.insert(relation, "9999-01-01 00:00:00", "2020-01-01 00:00:00")
    wal.insert(relation, "2020-01-01 00:00:00", "9999-01-01 00:00:00")
    if whole:
        wal.delete(relation, old=("9999-01-01 00:00:00", "2020-01-01 00:00:00"))
    rig.feed(wal.take())
    sent = rig.sent["srv.public.times"]
    assert [(each.op, each.key_json["a"]) for each in sent[:2]] == [("c", None), ("d", None)][: 1 + whole]
    assert sent[0].payload["after"] == {"a": None, "b": 1577836800000000000}
    assert [(table, "Column b" in reason) for table, _, reason in rig.failures.left_out] == [("public.times", False)]


def test_the_task_fails_for_a_value_that_it_needs() -> None:
    table = catalog_table("needed", Column("id", INT4, not_null=True), Column("n", 1700, not_null=True), oid=5002, primary_key=["id"])
    rig, wal = StreamRig(table, settings=StreamSettings()), WalScript()
    wal.begin(42)
    wal.relation(relation_of(table))
    wal.update(relation_of(table), "1", UNCHANGED)
    with pytest.raises(CdcError, match=r"Column n of table public\.needed needs a value") as reported:
        rig.feed(wal.take())
    assert "ReselectColumnsPostProcessor" in reported.value.remedy


def test_converting_comes_first() -> None:
    rig, wal = started("fail", "warn")
    wal.insert(R_PLAIN, "2", "NaN")
    rig.feed(wal.take())
    assert rig.sent["srv.public.plain"][0].payload["after"] == {"id": 2, "n": None}
    assert [failure[:2] for failure in rig.failures.reported] == [("public.plain", "n")]


def test_faults_of_the_protocol_are_never_left_out() -> None:
    rig, wal = started("skip")
    wal.insert(catalog_relation := relation_of(catalog_table("unknown", Column("id", INT4), oid=9999)), "1")
    assert catalog_relation.oid == 9999
    with pytest.raises(CdcError, match="9999") as reported:
        rig.feed(wal.take())
    assert reported.value.kind is ErrorKind.PROTOCOL


@each_case("converting", ["warn", "skip", "fail"])
@each_case("kind", [(1700, NUMERIC_10_2, "NaN", "1.00"), (1562, 1, "", "1")], ids=["numeric", "varbit"])
@each_case("change", ["insert", "update", "delete"])
def test_a_value_that_cannot_be_converted_fails_the_event_that_needs_it(
    kind: tuple[int, int, str, str], change: str, converting: str
) -> None:
    oid, modifier, bad, good = kind
    column = Column("n", oid, modifier, not_null=True)
    table = catalog_table("needed", Column("id", INT4, not_null=True), column, oid=5002, primary_key=["id"])
    relation = relation_of(table)
    types = {**TYPES, 1562: TypeInfo(1562, "varbit", "pg_catalog")}
    for processing in ("fail", "warn"):
        settings = StreamSettings(conversion_failure=converting, processing_failure=processing)
        rig, wal = StreamRig(table, settings=settings, types=types), WalScript()
        wal.begin(42)
        wal.relation(relation)
        if change == "insert":
            wal.insert(relation, "1", bad)
        elif change == "update":
            wal.update(relation, "1", bad)
        else:
            wal.delete(relation, old=("1", bad))
        wal.insert(relation, "2", good)
        if processing == "fail":
            with pytest.raises(CdcError, match=r"olumn n of table public\.needed") as reported:
                rig.feed(wal.take())
            assert reported.value.kind is ErrorKind.VALUE
            continue
        rig.feed(wal.take())
        assert [sent.key_json["id"] for sent in rig.sent["srv.public.needed"]] == [2]
        assert len(rig.failures.left_out) == 1
        assert rig.failures.reported == []


BAD = catalog_table(
    "m",
    Column("id", INT4, not_null=True),
    Column("n", 1700, NUMERIC_10_2),
    Column("r", 1700, NUMERIC_10_2, not_null=True, default="7"),
    primary_key=["id"],
)


@each_case("mode", ["warn", "skip", "fail"])
@each_case("change", ["insert", "update", "delete", "update with old row"])
def test_value_that_cannot_be_converted(mode: str, change: str) -> None:
    rig, wal = StreamRig(BAD, settings=StreamSettings(conversion_failure=mode, tombstones=False)), WalScript()
    relation = relation_of(BAD)
    wal.begin(42)
    wal.relation(relation)
    cells = ("1", "NaN", "Infinity")
    wal.insert(relation, "0", "1.00", "1.00")
    if change == "insert":
        wal.insert(relation, *cells)
    elif change == "update":
        wal.update(relation, *cells)
    elif change == "delete":
        wal.delete(relation, old=cells)
    else:
        wal.update(relation, "1", "1.00", "1.00", old=cells)
    if mode == "fail":
        with pytest.raises(CdcError) as reported:
            rig.feed(wal.take())
        assert reported.value.kind is ErrorKind.VALUE
        assert "public.m" in reported.value.message
        assert "column n" in reported.value.message
        assert "event.converting.failure.handling.mode" in reported.value.remedy
        assert "NaN" not in reported.value.message.replace("NaN/Infinity", "")
        return
    good, bad = rig.feed(wal.take())
    one = base64.b64encode(b"d").decode()
    assert good.payload["after"] == {"id": 0, "n": one, "r": one}
    side = "before" if change in ("delete", "update with old row") else "after"
    # The required column cannot be null: it gets its default.
    assert bad.payload[side] == {"id": 1, "n": None, "r": "Arw="}
    reported_of = [(table, column) for table, column, _ in rig.failures.reported]
    assert reported_of == ([("public.m", "n"), ("public.m", "r")] if mode == "warn" else [])
