from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig
from connector.errors import CdcError, ErrorKind
from connector.events.capture import key_change_headers
from connector.events.stream_settings import StreamSettings
from connector.events.transitions import NeedRelation, Used
from connector.record.batch import NO_HEADERS, encode_headers
from connector.record.json_converter import ConverterSettings
from connector.types.codec import Column
from tests.support.each_case import each_case
from tests.support.stream_rig import INT4, NOW_NS, TEXT, Sent, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import UNCHANGED, WalScript

ID = Column("id", INT4, not_null=True)
NAME = Column("name", TEXT)
BIG = Column("big", TEXT)
ORDERS = catalog_table("orders", ID, NAME, BIG, primary_key=["id"])
R_ORDERS = relation_of(ORDERS)
FULL = catalog_table("orders", ID, NAME, BIG, primary_key=["id"], identity="f")
R_FULL = relation_of(FULL)
KEYLESS = catalog_table("log", NAME, BIG, oid=5001, identity="f")
R_KEYLESS = relation_of(KEYLESS)
NAMED = catalog_table("pages", replace(NAME, not_null=True), BIG, primary_key=["name"])
PAIRED = catalog_table("pages", ID, replace(NAME, not_null=True), BIG, primary_key=["id", "name"])
PLACEHOLDER = "__debezium_unavailable_value"


def started(
    *tables: CatalogTable, settings: StreamSettings | None = None, config: ConnectorConfig | None = None
) -> tuple[StreamRig, WalScript]:
    """A rig that knows ``tables``, inside a transaction."""
    rig, wal = StreamRig(*tables, settings=settings, config=config), WalScript()
    wal.begin(4242, commit_us=1_700_000_000_123_456)
    for table in tables:
        wal.relation(relation_of(table))
    assert rig.feed(wal.take()) == []
    return rig, wal


def rows(sent: Sequence[Sent]) -> list[tuple[object, object, object]]:
    """Op, before and after of each event; None for a tombstone."""
    return [(None, None, None) if s.value is None else (s.op, s.payload["before"], s.payload["after"]) for s in sent]


def test_insert() -> None:
    rig, wal = started(ORDERS)
    lsn = wal.insert(R_ORDERS, "1", "Anne", None)
    [sent] = rig.feed(wal.take())
    assert (sent.topic, sent.key_json, sent.timestamp, sent.headers) == ("srv.public.orders", {"id": 1}, NOW_NS // 1_000_000, NO_HEADERS)
    assert sent.payload == {
        "before": None,
        "after": {"id": 1, "name": "Anne", "big": None},
        "source": {
            "version": "3.6.3.Final",
            "connector": "postgresql",
            "name": "srv",
            "ts_ms": 1_700_000_000_123,
            "snapshot": "false",
            "db": "shop",
            "sequence": f'[null,"{lsn}"]',
            "ts_us": 1_700_000_000_123_456,
            "ts_ns": 1_700_000_000_123_456_000,
            "schema": "public",
            "table": "orders",
            "txId": 4242,
            "lsn": lsn,
            "xmin": None,
            "origin": None,
            "origin_lsn": None,
        },
        "transaction": None,
        "op": "c",
        "ts_ms": NOW_NS // 1_000_000,
        "ts_us": NOW_NS // 1000,
        "ts_ns": NOW_NS,
    }
    assert rig.stream.events == 1
    assert rig.stream.source_ms == 1_700_000_000_123


def test_delete_and_its_tombstone() -> None:
    rig, wal = started(ORDERS)
    wal.delete(R_ORDERS, key=["1", None, None])
    delete, tombstone = rig.feed(wal.take())
    # Only the key is known; the rest of the row is null.
    assert rows([delete]) == [("d", {"id": 1, "name": None, "big": None}, None)]
    assert (tombstone.topic, tombstone.key, tombstone.value) == (delete.topic, delete.key, None)
    assert rig.stream.events == 2


def test_delete_without_tombstones() -> None:
    rig, wal = started(ORDERS, settings=StreamSettings(tombstones=False))
    wal.delete(R_ORDERS, key=["1", None, None])
    assert [sent.op for sent in rig.feed(wal.take())] == ["d"]


def test_delete_of_a_row_with_required_columns_fills_in_what_the_key_does_not_hold() -> None:
    table = catalog_table(
        "t", ID, Column("n", INT4, not_null=True), Column("d", TEXT, not_null=True, default="'dflt'::text"), primary_key=["id"]
    )
    rig, wal = started(table)
    wal.delete(relation_of(table), key=["1", None, None])
    assert rows(rig.feed(wal.take())[:1]) == [("d", {"id": 1, "n": 0, "d": "dflt"}, None)]


# Update: (table, cells, key tuple, old tuple) and the resulting events.
UPDATES = {
    "default identity": (ORDERS, ("1", "b", "c"), None, None, [("u", None, {"id": 1, "name": "b", "big": "c"})]),
    "default identity, key sent but equal": (
        ORDERS,
        ("1", "b", "c"),
        ("1", None, None),
        None,
        [("u", {"id": 1, "name": None, "big": None}, {"id": 1, "name": "b", "big": "c"})],
    ),
    "full identity": (
        FULL,
        ("1", "b", "c"),
        None,
        ("1", "a", "c"),
        [("u", {"id": 1, "name": "a", "big": "c"}, {"id": 1, "name": "b", "big": "c"})],
    ),
    "toast unchanged": (ORDERS, ("1", "b", UNCHANGED), None, None, [("u", None, {"id": 1, "name": "b", "big": PLACEHOLDER})]),
    "toast unchanged, full identity": (
        FULL,
        ("1", "b", UNCHANGED),
        None,
        ("1", "a", "long"),
        [("u", {"id": 1, "name": "a", "big": "long"}, {"id": 1, "name": "b", "big": "long"})],
    ),
    # The partitioned table is FULL, its partition is not.
    "toast unchanged with a key change, in a partition": (
        FULL,
        ("2", "b", UNCHANGED),
        None,
        ("1", None, None),
        [
            ("d", {"id": 1, "name": None, "big": None}, None),
            (None, None, None),
            ("c", None, {"id": 2, "name": "b", "big": PLACEHOLDER}),
        ],
    ),
    "toast unchanged with a key change": (
        ORDERS,
        ("2", "b", UNCHANGED),
        ("1", None, None),
        None,
        [
            ("d", {"id": 1, "name": None, "big": None}, None),
            (None, None, None),
            ("c", None, {"id": 2, "name": "b", "big": PLACEHOLDER}),
        ],
    ),
    "key stored out of line": (
        NAMED,
        (UNCHANGED, UNCHANGED),
        ("a", None),
        None,
        [("u", {"name": "a", "big": None}, {"name": "a", "big": PLACEHOLDER})],
    ),
    "key stored out of line, another part changes": (
        PAIRED,
        ("2", UNCHANGED, UNCHANGED),
        ("1", "a", None),
        None,
        [
            ("d", {"id": 1, "name": "a", "big": None}, None),
            (None, None, None),
            ("c", None, {"id": 2, "name": "a", "big": PLACEHOLDER}),
        ],
    ),
    "key change, full identity": (
        FULL,
        ("2", "b", "c"),
        None,
        ("1", "a", "c"),
        [("d", {"id": 1, "name": "a", "big": "c"}, None), (None, None, None), ("c", None, {"id": 2, "name": "b", "big": "c"})],
    ),
    "without a key": (KEYLESS, ("b", "c"), None, ("a", "c"), [("u", {"name": "a", "big": "c"}, {"name": "b", "big": "c"})]),
}


@each_case(("table", "cells", "key", "old", "expected"), UPDATES.values(), ids=list(UPDATES))
def test_update(
    table: CatalogTable,
    cells: tuple[str, ...],
    key: tuple[str | None, ...] | None,
    old: tuple[str | None, ...] | None,
    expected: list[tuple[object, object, object]],
) -> None:
    rig, wal = started(table)
    wal.update(relation_of(table), *cells, key=key, old=old)
    assert rows(rig.feed(wal.take())) == expected


def test_key_change_headers_have_the_other_key() -> None:
    context = [("__debezium.context.taskId", b"0")]
    settings = StreamSettings(headers=encode_headers(context), key_change_headers=key_change_headers(context))
    rig, wal = started(ORDERS, settings=settings)
    wal.update(R_ORDERS, "2", "b", "c", key=("1", None, None))
    delete, tombstone, create = rig.feed(wal.take())
    assert [sent.key_json for sent in (delete, tombstone, create)] == [{"id": 1}, {"id": 1}, {"id": 2}]
    assert delete.headers == tombstone.headers == encode_headers([("__debezium.newkey", b'{"id":2}'), *context])
    assert create.headers == encode_headers([("__debezium.oldkey", b'{"id":1}'), *context])
    wal.insert(R_ORDERS, "3", None, None)
    assert rig.feed(wal.take())[0].headers == encode_headers(context)


def test_key_change_without_tombstones() -> None:
    rig, wal = started(ORDERS, settings=StreamSettings(tombstones=False))
    wal.update(R_ORDERS, "2", "b", "c", key=("1", None, None))
    assert [sent.op for sent in rig.feed(wal.take())] == ["d", "c"]


def test_table_without_a_key() -> None:
    rig, wal = started(KEYLESS)
    wal.insert(R_KEYLESS, "a", "b")
    wal.delete(R_KEYLESS, old=("a", "b"))
    sent = rig.feed(wal.take())
    assert [record.key for record in sent] == [None, None, None]
    assert rows(sent) == [("c", None, {"name": "a", "big": "b"}), ("d", {"name": "a", "big": "b"}, None), (None, None, None)]


def test_table_with_replica_identity_nothing_has_no_old_rows() -> None:
    table = catalog_table("orders", ID, NAME, BIG, primary_key=["id"], identity="n")
    rig, wal = started(table)
    wal.insert(relation_of(table), "1", "a", "b")
    wal.update(relation_of(table), "1", "b", UNCHANGED)
    assert rows(rig.feed(wal.take())) == [
        ("c", None, {"id": 1, "name": "a", "big": "b"}),
        ("u", None, {"id": 1, "name": "b", "big": PLACEHOLDER}),
    ]


def test_placeholder_is_the_configured_one() -> None:
    rig, wal = started(ORDERS, config=configured(unavailable_value_placeholder="gone"))
    wal.update(R_ORDERS, "1", "b", UNCHANGED)
    assert rig.feed(wal.take())[0].payload["after"]["big"] == "gone"


def test_truncate_of_several_tables() -> None:
    rig, wal = started(ORDERS, KEYLESS, settings=StreamSettings(skipped=frozenset()))
    lsn = wal.truncate(R_KEYLESS, R_ORDERS, cascade=True)
    sent = rig.feed(wal.take())
    assert sorted((s.topic, s.key, s.op, s.payload["before"], s.payload["after"], s.payload["source"]["lsn"]) for s in sent) == [
        ("srv.public.log", None, "t", None, None, lsn),
        ("srv.public.orders", None, "t", None, None, lsn),
    ]


def test_truncate_of_an_undescribed_table_is_ignored() -> None:
    rig, wal = started(ORDERS, settings=StreamSettings(skipped=frozenset()))
    wal.truncate(R_KEYLESS, R_ORDERS)
    assert [sent.topic for sent in rig.feed(wal.take())] == ["srv.public.orders"]


@pytest.mark.parametrize("skipped", ["", "c", "u", "d", "t", "cud", "cudt"])
def test_skipped_operations(skipped: str) -> None:
    rig, wal = started(ORDERS, settings=StreamSettings(skipped=frozenset(skipped), tombstones=False))
    wal.insert(R_ORDERS, "1", "a", "b")
    wal.update(R_ORDERS, "1", "b", "b")
    wal.update(R_ORDERS, "2", "b", "b", key=("1", None, None))
    wal.delete(R_ORDERS, key=("2", None, None))
    last = wal.truncate(R_ORDERS)
    ops = [sent.op for sent in rig.feed(wal.take())]
    # A key change is a delete and a create, even if other updates are skipped.
    assert ops == [op for op in "cudcdt" if op not in skipped]
    # What is skipped counts as done.
    assert rig.stream.position is not None
    assert rig.stream.position.event == last


def test_skipped_updates_that_keep_the_key_make_nothing() -> None:
    rig, wal = started(FULL, KEYLESS, settings=StreamSettings(skipped=frozenset("u")))
    wal.update(R_FULL, "1", UNCHANGED, "b", old=("1", "a", "a"))
    wal.update(R_FULL, UNCHANGED, "c", "b", old=("1", "a", "a"))
    wal.update(R_KEYLESS, "b", "b", old=("a", "b"))
    assert rig.feed(wal.take()) == []
    wal.update(R_FULL, "2", UNCHANGED, "b", old=("1", "a", "a"))
    assert [(sent.key_json, sent.op) for sent in rig.feed(wal.take())] == [({"id": 1}, "d"), ({"id": 1}, None), ({"id": 2}, "c")]


def test_skipped_delete_has_no_tombstone_either() -> None:
    rig, wal = started(ORDERS, settings=StreamSettings(skipped=frozenset("d")))
    wal.delete(R_ORDERS, key=("1", None, None))
    assert rig.feed(wal.take()) == []


def test_changes_of_filtered_tables_make_nothing_but_positions() -> None:
    rig, wal = started(ORDERS, KEYLESS, config=configured(table_include_list="public.orders"))
    wal.insert(R_KEYLESS, "a", "b")
    wal.update(R_KEYLESS, "b", "b", old=("a", "b"))
    wal.delete(R_KEYLESS, old=("b", "b"))
    last = wal.truncate(R_KEYLESS)
    assert rig.feed(wal.take()) == []
    assert rig.stream.position is not None
    assert rig.stream.position.event == last
    end = wal.commit()
    wal.begin()
    wal.insert(R_ORDERS, "1", "a", "b")
    # The end of a transaction that sent nothing counts all the same.
    assert rig.feed(wal.take())[0].payload["source"]["sequence"].startswith(f'["{end}"')


def test_sequence_over_two_transactions() -> None:
    rig, wal = started(ORDERS)
    first = [wal.insert(R_ORDERS, str(n), None, None) for n in range(2)]
    end = wal.commit()
    wal.begin(4243, commit_us=1_700_000_001_000_000)
    second = [wal.insert(R_ORDERS, str(n), None, None) for n in range(2, 4)]
    wal.commit()
    sources = [sent.payload["source"] for sent in rig.feed(wal.take())]
    assert [s["sequence"] for s in sources] == [f'[null,"{lsn}"]' for lsn in first] + [f'["{end}","{lsn}"]' for lsn in second]
    assert [s["txId"] for s in sources] == [4242, 4242, 4243, 4243]
    assert [s["ts_us"] for s in sources] == [1_700_000_000_123_456] * 2 + [1_700_000_001_000_000] * 2


def test_sequence_begins_with_the_commit_of_the_stored_offset() -> None:
    rig, wal = StreamRig(ORDERS, last_commit=777), WalScript()
    wal.begin()
    wal.relation(R_ORDERS)
    lsn = wal.insert(R_ORDERS, "1", None, None)
    assert rig.feed(wal.take())[0].payload["source"]["sequence"] == f'["777","{lsn}"]'


def test_origin_is_only_in_the_source_of_its_transaction() -> None:
    rig, wal = started(ORDERS)
    wal.insert(R_ORDERS, "0", None, None)
    wal.commit()
    wal.begin()
    wal.origin(0xABCDEF, 'node "a"')
    wal.insert(R_ORDERS, "1", None, None)
    wal.commit()
    wal.begin()
    wal.insert(R_ORDERS, "2", None, None)
    sources = [sent.payload["source"] for sent in rig.feed(wal.take())]
    assert [(s["origin"], s["origin_lsn"]) for s in sources] == [(None, None), ('node "a"', 0xABCDEF), (None, None)]
    assert sources[1]["sequence"] != sources[0]["sequence"]


def test_relation_changes_in_the_middle_of_a_burst() -> None:
    rig, wal = started(ORDERS)
    wal.insert(R_ORDERS, "1", "a", "b")
    rig.catalog["public", "orders"] = catalog_table("orders", ID, NAME, BIG, Column("more", INT4), primary_key=["id"])
    changed = relation_of(rig.catalog["public", "orders"])
    wal.relation(changed)
    wal.insert(changed, "2", "a", "b", "7")
    wal.update(changed, "2", "a", "b", "8")
    sent = rig.feed(wal.take())
    assert [s.payload["after"] for s in sent] == [
        {"id": 1, "name": "a", "big": "b"},
        {"id": 2, "name": "a", "big": "b", "more": 7},
        {"id": 2, "name": "a", "big": "b", "more": 8},
    ]
    assert [relation.columns for relation in rig.asked] == [R_ORDERS.columns, changed.columns]


def test_the_stream_stops_at_a_relation_until_it_is_adopted() -> None:
    rig, wal = StreamRig(ORDERS), WalScript()
    wal.begin()
    wal.relation(R_ORDERS)
    wal.insert(R_ORDERS, "1", "a", "b")
    frames = wal.take()
    assert rig.stream.feed(frames, NOW_NS) == NeedRelation(2, False, R_ORDERS)
    rig.stream.adopt(R_ORDERS, None)
    assert rig.stream.feed(frames[2:], NOW_NS) == Used(1, False)
    assert rig.stream.events == 0


def test_names_in_the_source_are_written_as_jackson_writes_them() -> None:
    emoji, escaped = "a\x1f\U0001f600", rb"a\u001F\uD83D\uDE00"
    table = replace(catalog_table(emoji, ID, primary_key=["id"]), schema=emoji)
    rig, wal = StreamRig(table, config=configured(database_dbname=emoji)), WalScript()
    wal.begin(1)
    wal.origin(5, emoji)
    wal.relation(relation_of(table))
    wal.insert(relation_of(table), "1")
    [sent] = rig.feed(wal.take())
    assert sent.value is not None
    for name in (b"db", b"schema", b"table", b"origin"):
        assert b'"%b":"%b"' % (name, escaped) in sent.value


def test_table_renamed_between_two_changes_goes_to_another_topic() -> None:
    rig, wal = started(ORDERS)
    wal.insert(R_ORDERS, "1", None, None)
    renamed = catalog_table("bills", ID, NAME, BIG, primary_key=["id"])
    rig.catalog["public", "bills"] = renamed
    wal.relation(relation_of(renamed))
    wal.insert(relation_of(renamed), "2", None, None)
    assert [(s.topic, s.payload["source"]["table"]) for s in rig.feed(wal.take())] == [
        ("srv.public.orders", "orders"),
        ("srv.public.bills", "bills"),
    ]


def test_excluded_columns_stay_in_the_key() -> None:
    rig, wal = started(ORDERS, config=configured(column_exclude_list="public.orders.(id|big)"))
    wal.insert(R_ORDERS, "1", "a", "b")
    [sent] = rig.feed(wal.take())
    assert (sent.key_json, sent.payload["after"]) == ({"id": 1}, {"name": "a"})


def test_key_of_message_key_columns() -> None:
    rig, wal = started(ORDERS, config=configured(message_key_columns="public.orders:name,id"))
    wal.insert(R_ORDERS, "1", "a", "b")
    wal.update(R_ORDERS, "1", "z", "b", key=("1", None, None))
    keys = [sent.key_json for sent in rig.feed(wal.take())]
    assert list(keys[0].items()) == [("name", "a"), ("id", 1)]


def test_columns_that_differ_by_case_alone_are_refused() -> None:
    table = catalog_table("t", ID, Column("ID", INT4))
    with pytest.raises(CdcError, match=r"'public\.t'.*id, ID") as reported:
        started(table)
    assert reported.value.kind is ErrorKind.SCHEMA


def test_one_reading_of_the_clock_serves_a_burst() -> None:
    rig, wal = started(ORDERS)
    wal.insert(R_ORDERS, "1", None, None)
    wal.delete(R_ORDERS, key=("1", None, None))
    sent = rig.feed(wal.take(), now_ns=5_000_001_999)
    times = [(s.payload["ts_ms"], s.payload["ts_us"], s.payload["ts_ns"], s.timestamp) for s in sent[:2]]
    assert times == [(5000, 5000001, 5_000_001_999, 5000)] * 2
    assert sent[2].timestamp == 5000


@pytest.mark.parametrize("schemas", [False, True])
def test_schemas_wrap_key_and_value(schemas: bool) -> None:
    rig, wal = StreamRig(ORDERS, converter=ConverterSettings(schemas_enable=schemas)), WalScript()
    wal.begin()
    wal.relation(R_ORDERS)
    wal.insert(R_ORDERS, "1", "a", None)
    wal.delete(R_ORDERS, key=("1", None, None))
    sent = rig.feed(wal.take())
    assert [b'"schema":' in (s.value or b"")[:10] for s in sent] == [schemas, schemas, False]
    assert {b'{"schema":{' in (s.key or b"") for s in sent} == {schemas}
    assert [s.key_json for s in sent] == [{"id": 1}] * 3
    assert rows(sent)[0] == ("c", None, {"id": 1, "name": "a", "big": None})
