"""A filter, mask, key or other rule that matches nothing is named, with its property and its text."""

from __future__ import annotations

from connector.catalog.selection import Selection
from connector.config.connector_config import parse
from connector.preflight.unmatched_rules import idle_rules, needs_columns
from connector.types.codec import Column
from tests.support.each_case import each_case
from tests.support.stream_rig import INT4, TEXT, TYPES, catalog_table, configured

ORDERS = catalog_table("orders", Column("id", INT4), Column("email", TEXT))
TABLES = [("public", "orders"), ("audit", "log")]
SALT = "column.mask.hash.SHA-256.with.salt.s3cret"


def idle(**properties: str) -> list[tuple[str, str]]:
    config, _ = parse({**configured().raw, **properties})
    return [(rule.key, rule.entry) for rule in idle_rules(Selection.of(config), TABLES, [ORDERS], TYPES)]


@each_case(
    ("key", "used", "unused"),
    [
        ("schema.include.list", "public,AUDIT", "sales"),
        ("schema.exclude.list", "audit", "sales"),
        ("table.include.list", r"public\.orders,audit.log", "public.order"),
        ("table.exclude.list", "audit.log", "audit.logs"),
        ("snapshot.include.collection.list", "public.orders", "audit.log"),
        ("snapshot.include.collection.list", '"public"."orders"', '"audit"."log"'),
        ("column.include.list", "public.orders.id,shop.public.orders.email", "public.orders.mail"),
        ("column.exclude.list", ".*email", "email"),
        ("column.mask.with.3.chars", "shop.public.orders.email", "store.public.orders.email"),
        ("column.truncate.to.3.chars", "public.orders.email", "orders.email"),
        ("column.propagate.source.type", ".*id", "id"),
        ("datatype.propagate.source.type", r".+\.text,shop\.public\.orders\.TEXT", r".+\.varchar"),
        ("message.key.columns", "public.orders:email", "public.orders:mail"),
        ("replica.identity.autoset.values", "shop.public.orders:FULL", "public.order:FULL"),
    ],
)
def test_entries_without_a_match(key: str, used: str, unused: str) -> None:
    assert idle(**{key: used}) == []
    shown = unused.removesuffix(":FULL") if key.startswith("replica") else unused
    separator = ";" if key == "message.key.columns" else ","
    assert idle(**{key: f"{used}{separator}{unused}"}) == [(key, shown)]


def test_a_salt_is_not_shown() -> None:
    assert idle(**{SALT: "public.orders.mail"}) == [("column.mask.hash.SHA-256.with.salt.…", "public.orders.mail")]


def test_statements_for_tables_that_are_not_there() -> None:
    key = "snapshot.select.statement.overrides"
    statement = "SELECT * FROM public.orders"
    for name in ("public.orders", "shop.public.orders", '"public"."orders"'):
        assert idle(**{key: name, f"{key}.{name}": statement}) == []
    assert idle(**{key: "public.order", f"{key}.public.order": statement}) == [(key, "public.order")]


def test_columns_to_read_again() -> None:
    reselect = {"post.processors": "r", "r.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor"}
    key = "r.reselect.columns.include.list"
    assert idle(**reselect, **{key: "public.orders:email,shop.public.orders:id,public.orders:mail"}) == [(key, "public.orders:mail")]


def test_of_many_entries_some_are_named_and_the_others_counted() -> None:
    config, _ = parse({**configured().raw, "column.exclude.list": ",".join(f"public.orders.c{number}" for number in range(50))})
    rules = idle_rules(Selection.of(config), TABLES, [ORDERS], TYPES)
    assert [rule.others for rule in rules] == [0] * 19 + [30]
    assert "30 other entries" in rules[-1].text
    assert rules[0].text == (
        "Entry 'public.orders.c0' of column.exclude.list matches no column of a captured table."
        " Entries are matched with whole names: schema.table.column, or database.schema.table.column"
    )


def test_columns_are_read_for_rules_about_columns_only() -> None:
    plain, _ = parse({**configured().raw, "table.include.list": "public.orders"})
    masked, _ = parse({**configured().raw, "column.mask.with.3.chars": "a"})
    assert not needs_columns(plain)
    assert needs_columns(masked)


def test_where_nothing_is_captured_only_the_lists_of_tables_are_judged() -> None:
    config, _ = parse({**configured().raw, "table.include.list": "public.none", "column.mask.with.3.chars": "a"})
    assert [rule.key for rule in idle_rules(Selection.of(config), TABLES, [], TYPES)] == ["table.include.list"]
