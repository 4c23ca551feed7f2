"""What a configuration selects: the check of a configuration and the running task ask the same object."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connector.catalog.filters import COLUMN_DOTS
from connector.catalog.selection import Selection
from connector.config.connector_config import parse
from connector.errors import CdcError, ErrorKind
from tests.support.stream_rig import catalog_table, configured

SIGNALS = "signal.data.collection"


def selection(**properties: str) -> Selection:
    return Selection.of(parse({**configured().raw, **properties})[0])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("shop.audit.signals", ("audit", "signals")),
        ("audit.signals", ("audit", "signals")),
        ("signals", ("public", "signals")),
        ('"Au.dit"."Sig""nals"', ("Au.dit", 'Sig"nals')),
    ],
)
def test_the_signal_table(written: str, read: tuple[str, str]) -> None:
    assert selection(**{SIGNALS: written}).signal_table == read


def test_the_signal_table_is_captured_despite_filters_and_never_read() -> None:
    chosen = selection(**{SIGNALS: "public.signals", "table.include.list": "public.orders"})
    orders, signals, other = catalog_table("orders"), catalog_table("signals"), catalog_table("other")
    assert chosen.captured([orders, signals, other]) == [orders, signals]
    assert [chosen.snapshots(table) for table in (orders, signals, other)] == [True, False, False]
    assert not chosen.filters.captures("public", "signals")


def test_snapshots_read_tables_in_the_order_of_the_include_list() -> None:
    tables = [catalog_table(name) for name in ("d", "b", "a1", "a0")]
    chosen = selection(**{"table.include.list": r"public.d,public.a\d,public.b"})
    assert [table.table for table in chosen.in_snapshot_order(tables)] == ["d", "a0", "a1", "b"]
    assert [table.table for table in selection().in_snapshot_order(tables)] == ["a0", "a1", "b", "d"]
    assert chosen.filters.in_list_order(["public.signals", "public.b", "public.d"]) == ["public.d", "public.b", "public.signals"]


def test_snapshots_read_both_of_two_tables_with_one_name() -> None:
    tables = [replace(catalog_table("b.c"), schema="a"), replace(catalog_table("c"), schema="a.b")]
    assert selection().in_snapshot_order([*tables, *tables]) == tables
    assert selection(**{"table.include.list": r"a\.b.*"}).in_snapshot_order(tables[::-1]) == tables[::-1]


def test_the_snapshot_may_read_fewer_tables_than_are_captured() -> None:
    chosen = selection(**{"snapshot.include.collection.list": "public.orders"})
    assert chosen.snapshots_some_only
    assert [chosen.snapshots(catalog_table(name)) for name in ("orders", "other")] == [True, False]
    assert not selection().snapshots_some_only
    assert selection().snapshots(catalog_table("other"))


@pytest.mark.parametrize(("version", "reads"), [("2.3.4.Final", False), ("3.6.3.Final", True), ("3.7.0.Final", True)])
def test_the_snapshot_s_tables_may_be_named_in_quotes(version: str, reads: bool) -> None:
    listed = {"connector.plugin.version": version, "snapshot.include.collection.list": r'"public"."orders","public"\."O.*",public.parts'}
    chosen = selection(**listed)
    found = [chosen.snapshots(catalog_table(name)) for name in ("orders", "old", "Other", "parts", "more")]
    assert found == [reads, reads, reads, True, False]


def test_version_2_publishes_skipped_operations_too() -> None:
    for version, skipped in (("2.3.4.Final", None), ("3.6.3.Final", ("c", "t")), ("3.7.0.Final", ("c", "t"))):
        chosen = selection(**{"connector.plugin.version": version, "skipped.operations": "c,t"})
        assert chosen.skipped_operations == skipped
        assert chosen.config.skipped_operations == ("c", "t")
    assert selection().skipped_operations is None


@pytest.mark.parametrize("name", ["public.orders", '"public"."orders"', "shop.public.orders"])
def test_a_select_of_the_user_is_found_by_each_name_of_its_table(name: str) -> None:
    key = "snapshot.select.statement.overrides"
    chosen = selection(**{key: name, f"{key}.{name}": "SELECT 1"})
    assert chosen.override(catalog_table("orders")) == "SELECT 1"
    assert chosen.override(catalog_table("other")) is None


def test_the_dot_before_the_column_of_a_key_rule_matches_any_character() -> None:
    [every, one, long] = selection(**{"message.key.columns": "(.*):id;public.orders:id;shop.public.orders:id"}).key_rules
    assert every.matches("public.orders.customer_id")
    assert one.matches("public.orders.id")
    assert not one.matches("public.orders.customer_id")
    assert long.matches("public.orders.id")


def test_key_rules_are_one_a_column_in_their_order() -> None:
    rules = selection(**{"message.key.columns": "public.orders:b,a;(.*).other:c"}).key_rules
    assert [rule.entry for rule in rules] == ["public.orders:b", "public.orders:a", "(.*).other:c"]
    assert rules[1].matches("public.orders.a")
    assert not rules[1].matches("public.orders.b")


def test_operations_are_skipped_on_purpose_only() -> None:
    assert selection().skipped_operations is None
    assert selection(**{"skipped.operations": "none"}).skipped_operations == ("none",)


def test_a_class_of_the_user_decides_in_place_of_a_mode() -> None:
    assert selection(**{"snapshot.mode": "custom", "snapshot.mode.custom.name": "own:Class"}).mode is None
    named = selection(**{"snapshot.mode": "custom", "snapshot.mode.custom.name": " initial_only "}).mode
    assert named is not None
    assert (named.name, named.stream) == ("initial_only", False)


def test_a_matcher_knows_the_long_form_of_its_names_where_it_is_asked_to() -> None:
    chosen = selection()
    assert chosen.matcher(["shop.public.orders.a"], "x", dots=COLUMN_DOTS)("public.orders.a")
    assert not chosen.matcher(["shop.public.orders.a"], "x")("public.orders.a")


def test_a_pattern_that_cannot_be_used_is_refused_when_the_selection_is_made() -> None:
    with pytest.raises(CdcError) as refused:
        selection().matcher(["a("], "column.exclude.list")
    assert refused.value.kind is ErrorKind.CONFIG_INVALID
