"""Columns that are read again: which, by what key, and how the stream stops for them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig, parse
from connector.config.keys.post_processors import RESELECT, ReselectRule, reselect_rules
from connector.config.validation import error_lines, validate, warning_lines
from connector.errors import CdcError, ErrorKind
from connector.events.reselect import Reread
from connector.events.stream_settings import StreamSettings
from connector.events.transitions import NeedReread, Used
from connector.types.codec import Column
from tests.support.stream_rig import INT4, TEXT, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import UNCHANGED, WalScript

ID = Column("id", INT4, not_null=True)
NAME = Column("name", TEXT)
BIG = Column("big", TEXT)
BITS = Column("bits", 1562)
DEFAULTED = Column("kind", TEXT, default="'plain'::text")
ORDERS = catalog_table("orders", ID, NAME, BIG, primary_key=["id"])
OTHERS = catalog_table("others", ID, NAME, oid=5001, primary_key=["id"])
PLACEHOLDER = "__debezium_unavailable_value"


def config(**properties: str) -> ConnectorConfig:
    return configured(post_processors="r", r_type=RESELECT, **properties)


def raw(settings: dict[str, str]) -> ConnectorConfig:
    base = {**config().raw, **settings}
    return parse(base)[0]


def started(*tables: CatalogTable, config: ConnectorConfig, settings: StreamSettings | None = None) -> tuple[StreamRig, WalScript]:
    rig, wal = StreamRig(*tables, config=config, settings=settings), WalScript()
    wal.begin(4242, commit_us=1_700_000_000_123_456)
    for table in tables:
        wal.relation(relation_of(table))
    assert rig.feed(wal.take()) == []
    return rig, wal


def after(sent: Any) -> Any:
    return None if sent.value is None else (sent.op, sent.payload["after"])


def asked(reread: Reread) -> tuple[list[str], dict[str, bytes]]:
    return [reread.table.columns[at].name for at in reread.columns], dict(reread.key)


def test_unsent_values_are_read_again_and_encoded_like_others() -> None:
    rig, wal = started(ORDERS, config=config())
    rig.found[(b"1",)] = {"big": b'the "value"'}
    wal.update(relation_of(ORDERS), "1", "x", UNCHANGED)
    [sent] = rig.feed(wal.take())
    assert after(sent) == ("u", {"id": 1, "name": "x", "big": 'the "value"'})
    assert [asked(reread) for reread in rig.reread] == [(["big"], {"id": b"1"})]


def test_a_null_is_read_again_and_may_still_be_one() -> None:
    rig, wal = started(ORDERS, config=config())
    rig.found[(b"1",)] = {"name": None, "big": b"b"}
    wal.insert(relation_of(ORDERS), "1", None, None)
    [sent] = rig.feed(wal.take())
    assert after(sent) == ("c", {"id": 1, "name": None, "big": "b"})


def test_rows_that_miss_nothing_are_not_read_again_and_keep_their_order() -> None:
    rig, wal = started(ORDERS, config=config())
    rig.found[(b"2",)] = {"name": b"two", "big": b"2"}
    for cells in (("1", "a", "a"), ("2", None, None), ("3", "c", "c")):
        wal.insert(relation_of(ORDERS), *cells)
    wal.update(relation_of(ORDERS), "3", "d", "d")
    sent = rig.feed(wal.take())
    assert [after(record) for record in sent] == [
        ("c", {"id": 1, "name": "a", "big": "a"}),
        ("c", {"id": 2, "name": "two", "big": "2"}),
        ("c", {"id": 3, "name": "c", "big": "c"}),
        ("u", {"id": 3, "name": "d", "big": "d"}),
    ]
    assert len(rig.reread) == 1


def test_a_missing_row_does_not_change_the_event() -> None:
    rig, wal = started(ORDERS, config=config())
    wal.update(relation_of(ORDERS), "1", None, UNCHANGED)
    [sent] = rig.feed(wal.take())
    assert after(sent) == ("u", {"id": 1, "name": None, "big": PLACEHOLDER})


def test_a_required_value_without_a_placeholder_is_read_again() -> None:
    table = catalog_table("orders", ID, Column("price", 1700, not_null=True), primary_key=["id"])
    rig, wal = started(table, config=config())
    rig.found[(b"1",)] = {"price": b"7"}
    wal.update(relation_of(table), "1", UNCHANGED)
    [sent] = rig.feed(wal.take())
    assert after(sent) == ("u", {"id": 1, "price": {"scale": 0, "value": "Bw=="}})
    wal.update(relation_of(table), "2", UNCHANGED)
    with pytest.raises(CdcError, match=r"Column price of table public\.orders needs a value"):
        rig.feed(wal.take())


def test_the_position_stays_before_a_row_that_is_awaited() -> None:
    rig, wal = started(ORDERS, config=config())
    wal.insert(relation_of(ORDERS), "1", "a", "a")
    rig.feed(wal.take())
    before = rig.stream.position
    wal.insert(relation_of(ORDERS), "2", "b", "b")
    lsn = wal.insert(relation_of(ORDERS), "3", None, "c")
    wal.insert(relation_of(ORDERS), "4", "d", "d")
    frames = wal.take()
    answer = rig.stream.feed(frames, 1)
    assert isinstance(answer, NeedReread)
    assert answer.used == 2
    assert rig.stream.position == before
    assert rig.stream.complete(None) is None
    assert rig.stream.feed(frames[2:], 1) == Used(1, False)
    position = rig.stream.position
    assert position is not None
    assert position.event > lsn
    assert rig.stream.events == 4


def test_other_tables_never_stop_the_stream() -> None:
    rig, wal = started(ORDERS, OTHERS, config=raw({"r.reselect.columns.include.list": "public.orders:.*"}))
    wal.insert(relation_of(OTHERS), "1", None)
    wal.update(relation_of(OTHERS), "1", UNCHANGED)
    assert len(rig.feed(wal.take())) == 2
    assert rig.reread == []


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, ["name", "big"]),
        ({"r.reselect.unavailable.values": "False"}, ["name"]),
        ({"r.reselect.null.values": "false"}, ["big"]),
        ({"r.reselect.null.values": "maybe"}, ["name", "big"]),
        ({"r.reselect.columns.include.list": "PUBLIC.orders:b.g , public.orders:nam"}, ["big"]),
        ({"r.reselect.columns.exclude.list": ".*:big"}, ["name"]),
        ({"r.reselect.columns.include.list": ".*:big", "r.reselect.columns.exclude.list": ".*:big"}, ["big"]),
    ],
)
def test_which_columns_are_read_again(settings: dict[str, str], wanted: list[str]) -> None:
    rig, wal = started(ORDERS, config=raw(settings))
    wal.update(relation_of(ORDERS), "1", None, UNCHANGED)
    rig.feed(wal.take())
    assert [asked(reread)[0] for reread in rig.reread] == [wanted]


def test_a_null_that_a_default_stands_in_for_is_not_missing() -> None:
    table = catalog_table("orders", ID, DEFAULTED, primary_key=["id"])
    rig, wal = started(table, config=config())
    wal.insert(relation_of(table), "1", None)
    [sent] = rig.feed(wal.take())
    assert (after(sent), rig.reread) == (("c", {"id": 1, "kind": "plain"}), [])


def test_several_rules_are_followed_in_turn() -> None:
    both = raw(
        {
            "post.processors": " r,s, ",
            "s.type": RESELECT,
            "r.reselect.columns.include.list": ".*:name",
            "s.reselect.columns.include.list": ".*:(name|big)",
        }
    )
    rig, wal = started(ORDERS, config=both)
    rig.found[(b"1",)] = {"name": b"n", "big": b"b"}
    wal.insert(relation_of(ORDERS), "1", None, None)
    [sent] = rig.feed(wal.take())
    assert after(sent) == ("c", {"id": 1, "name": "n", "big": "b"})
    assert [asked(reread)[0] for reread in rig.reread] == [["name"], ["big"]]


def test_a_masked_column_is_masked_when_it_was_read_again_and_no_hash_of_a_placeholder_is() -> None:
    hashed = raw({"column.mask.hash.v2.SHA-256.with.salt.s": "public.orders.name,public.orders.big"})
    rig, wal = started(ORDERS, config=hashed)
    rig.found[(b"1",)] = {"name": b"secret", "big": b"secret"}
    wal.insert(relation_of(ORDERS), "1", None, "secret")
    wal.update(relation_of(ORDERS), "1", None, UNCHANGED)
    created, updated = (after(sent)[1] for sent in rig.feed(wal.take()))
    assert created["name"] == created["big"] == updated["name"]
    assert "secret" not in created.values()
    assert [asked(reread)[0] for reread in rig.reread] == [["name"], ["name"]]


def test_asterisks_stand_for_null_so_nothing_is_missing() -> None:
    rig, wal = started(ORDERS, config=raw({"column.mask.with.3.chars": "public.orders.name"}))
    wal.insert(relation_of(ORDERS), "1", None, "b")
    [sent] = rig.feed(wal.take())
    assert (after(sent)[1]["name"], rig.reread) == ("***", [])


def test_the_key_is_the_one_that_was_sent() -> None:
    rig, wal = started(ORDERS, config=raw({"message.key.columns": "public.orders:name"}))
    rig.found[(b"1",)] = {"name": b"late", "big": b"b"}
    wal.insert(relation_of(ORDERS), "1", None, "b")
    [sent] = rig.feed(wal.take())
    assert (sent.key_json, after(sent)) == ({"name": None}, ("c", {"id": 1, "name": "late", "big": "b"}))


@pytest.mark.parametrize(
    ("event_key", "cells", "key"),
    [
        ("false", ("1", "n", None), {"id": b"1"}),
        ("true", ("1", "n", None), {"name": b"n"}),
        ("true", ("1", None, None), {}),
    ],
)
def test_by_what_a_row_is_found(event_key: str, cells: tuple[str | None, ...], key: dict[str, bytes]) -> None:
    rig, wal = started(ORDERS, config=raw({"message.key.columns": "public.orders:name", "r.reselect.use.event.key": event_key}))
    wal.insert(relation_of(ORDERS), *cells)
    rig.feed(wal.take())
    assert [asked(reread)[1] for reread in rig.reread] == [key]


def test_a_table_without_a_key_is_let_be() -> None:
    table = catalog_table("orders", ID, NAME, identity="f")
    rig, wal = started(table, config=config())
    wal.insert(relation_of(table), "1", None)
    assert len(rig.feed(wal.take())) == 1
    assert rig.reread == []


def test_a_new_key_brings_a_delete_and_the_new_row_completed() -> None:
    rig, wal = started(ORDERS, config=config())
    rig.found[(b"2",)] = {"name": b"late", "big": b"b"}
    wal.update(relation_of(ORDERS), "2", None, UNCHANGED, key=("1", None, None))
    sent = rig.feed(wal.take())
    assert [after(record) for record in sent] == [("d", None), None, ("c", {"id": 2, "name": "late", "big": "b"})]
    assert len(rig.reread) == 1


def test_a_missing_row_fails_its_event_if_configured() -> None:
    rig, wal = started(ORDERS, config=raw({"r.reselect.error.handling.mode": "Fail"}))
    wal.insert(relation_of(ORDERS), "1", None, "b")
    with pytest.raises(CdcError, match=r"public\.orders cannot be read again: it is gone") as caught:
        rig.feed(wal.take())
    assert caught.value.kind is ErrorKind.VALUE
    assert "r.reselect.error.handling.mode" in caught.value.remedy
    assert rig.stream.idle_position() is None


def test_such_an_event_may_be_left_out_but_not_the_delete_under_the_old_key() -> None:
    rig, wal = started(ORDERS, config=raw({"r.reselect.error.handling.mode": "fail"}), settings=StreamSettings(processing_failure="warn"))
    wal.insert(relation_of(ORDERS), "1", None, "b")
    wal.update(relation_of(ORDERS), "2", "n", UNCHANGED, key=("1", None, None))
    assert [after(record) for record in rig.feed(wal.take())] == [("d", None), None]
    assert [(table, reason.split(": ")[-1]) for table, _, reason in rig.failures.left_out] == [("public.orders", "it is gone")] * 2


def test_an_update_that_changes_nothing_is_left_out_although_a_value_was_read_again() -> None:
    table = catalog_table("orders", ID, NAME, BIG, primary_key=["id"], identity="f")
    rig, wal = started(table, config=config(), settings=StreamSettings(skip_unchanged=True))
    rig.found[(b"1",)] = {"name": b"late"}
    wal.update(relation_of(table), "1", None, UNCHANGED, old=("1", None, "b"))
    wal.update(relation_of(table), "1", None, "c", old=("1", None, "b"))
    assert [after(record) for record in rig.feed(wal.take())] == [("u", {"id": 1, "name": "late", "big": "c"})]


def test_transactions_count_an_awaited_event_once() -> None:
    rig, wal = StreamRig(ORDERS, config=config(provide_transaction_metadata="true")), WalScript()
    wal.begin(4242)
    wal.relation(relation_of(ORDERS))
    rig.found[(b"1",)] = {"name": b"n"}
    wal.insert(relation_of(ORDERS), "1", None, "b")
    wal.insert(relation_of(ORDERS), "2", "n", "b")
    orders = [sent.payload["transaction"]["total_order"] for sent in rig.feed(wal.take()) if "orders" in sent.topic]
    assert orders == [1, 2]


def test_rules_are_read() -> None:
    assert config().reselect_rules == (ReselectRule("r"),)
    rule = raw(
        {"r.reselect.error.handling.mode": "FAIL", "r.reselect.use.event.key": "TRUE", "r.reselect.columns.exclude.list": "a:b, c:d"}
    )
    assert rule.reselect_rules == (ReselectRule("r", exclude=("a:b", "c:d"), event_key=True, strict=True),)
    assert reselect_rules({"post.processors": "r"}, "2.3.4.Final") == ()


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({"r.type": "com.example.Mine"}, "r.type names com.example.Mine, a class that is not supported; use "),
        ({"r.reselect.columns.include.list": "a:[b"}, "r.reselect.columns.include.list must hold regular expressions"),
    ],
)
def test_unsupported_settings_are_refused(settings: dict[str, str], reported: str) -> None:
    validation = validate({**config().raw, **settings})
    assert error_lines(validation) == []
    [line] = warning_lines(validation)
    with pytest.raises(CdcError, match=re.escape(" ".join(line.split()))):
        raw(settings)
    assert line.startswith(f"The 'post.processors' value is invalid: {reported}")


def test_a_name_without_a_class_keeps_the_task_from_starting() -> None:
    assert error_lines(validate({**config().raw, "r.type": " "})) == []
    with pytest.raises(CdcError, match=r"Post processor 'r' has no r\.type; use io\.debezium") as caught:
        raw({"r.type": " "})
    assert caught.value.kind is ErrorKind.CONFIG_INVALID


def test_notices() -> None:
    odd = {"r.reselect.null.values": "maybe", "r.reselect.cache.enabled": "true", "r.reselect.columns.include.lst": "x", "s.type": RESELECT}
    reported = "\n".join(parse({**config().raw, **odd})[1])
    assert "r.reselect.null.values is malformed; its default counts: true" in reported
    assert "r.reselect.cache.enabled has no effect" in reported
    assert "r.reselect.columns.include.lst is unknown" in reported
    assert "s.type is unknown" in reported
    assert parse(config().raw)[1] == []


def test_version_2_has_no_post_processors() -> None:
    made, notices = parse({**config().raw, "connector.plugin.version": "2.3.4.Final", "r.type": "com.example.Mine"})
    assert made.reselect_rules == ()
    assert notices == ["Property post.processors has no effect: 2.3.4.Final knows no post processors."]
