"""The findings for a database's facts: each rule separately, with its property and severity."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.config.connector_config import parse
from connector.preflight.facts import Facts, Refusal, SignalTable
from connector.preflight.finding import LEAD, counted
from connector.preflight.requirements import Wish
from connector.preflight.rules import RULES, judge
from connector.types.codec import Column
from tests.support.each_case import each_case
from tests.support.preflight_facts import CONFIG, GOOD, ITEMS, ORDERS, PUBLICATION, ROLE, SERVER, SLOT, found, listing
from tests.support.project import DOCS

PAGE = DOCS / "preflight.md"
DENIED = Refusal("permission denied to start WAL sender")


def test_nothing_is_found_where_all_is_well() -> None:
    assert found(GOOD) == []
    assert found(replace(GOOD, slot=SLOT), table__include__list="public.orders,public.items") == []


def server(**changes: Any) -> dict[str, Any]:
    return {"server": replace(SERVER, **changes)}


def slot(**changes: Any) -> dict[str, Any]:
    return {"slot": replace(SLOT, **changes)}


def publication(**changes: Any) -> dict[str, Any]:
    return {"publication": replace(PUBLICATION, **changes)}


def tables(**changes: Any) -> dict[str, Any]:
    return {"tables": (ORDERS, replace(ITEMS, **changes))}


def without_rights(**changes: Any) -> dict[str, Any]:
    return {"publication": None, "role": replace(ROLE, **changes)}


ERROR, WARNING = False, True

CASES = [
    (server(version=110022), {}, "database.hostname", ERROR, "PostgreSQL 11.22, and the oldest that can be read is 12"),
    (server(version=90624), {}, "database.hostname", ERROR, "PostgreSQL 9.6, and"),
    (
        server(wal_level="replica"),
        {},
        "database.hostname",
        ERROR,
        "Postgres server wal_level property must be 'logical' but is: 'replica'. Run ALTER SYSTEM SET wal_level = 'logical';",
    ),
    (server(standby=True, version=150004), {}, "database.hostname", ERROR, "standby of PostgreSQL 15"),
    ({"walsender": False}, {}, "database.hostname", ERROR, "There is no replication protocol at db:5432"),
    (
        {"replication": Refusal("unsupported startup parameter: replication")},
        {},
        "database.hostname",
        ERROR,
        "There is no replication protocol at db:5432",
    ),
    (server(pooled=True), {}, "database.hostname", WARNING, "A connection pooler answers at db:5432"),
    (
        {"replication": Refusal("number of requested standby connections exceeds max_wal_senders (currently 2)")},
        {},
        "database.hostname",
        WARNING,
        "no free WAL sender",
    ),
    ({"replication": Refusal("too many connections")}, {}, "database.hostname", WARNING, "replication connection: too many connections"),
    (
        {"replication": DENIED},
        {},
        "database.user",
        ERROR,
        'LOGIN and REPLICATION are not assigned to user: shop. Run ALTER ROLE "shop" REPLICATION;',
    ),
    (
        {"replication": Refusal("keine Berechtigung"), "role": replace(ROLE, replication=False), **server(english=False)},
        {},
        "database.user",
        ERROR,
        "are not assigned to user: shop",
    ),
    (
        {"replication": DENIED, **server(clouds=frozenset({"rds_replication"}))},
        {},
        "database.user",
        ERROR,
        'Run GRANT rds_replication TO "shop";',
    ),
    (
        {"plugin": "The server has no output plugin wal2json"},
        {"plugin__name": "wal2json"},
        "plugin.name",
        ERROR,
        "The server has no output plugin wal2json",
    ),
    (slot(logical=False), {}, "slot.name", ERROR, "slot s is a physical slot"),
    (slot(same_database=False, database="other"), {}, "slot.name", ERROR, "slot s belongs to database other. Set slot.name"),
    (slot(plugin="wal2json"), {}, "slot.name", ERROR, "slot s was made for plugin wal2json, not pgoutput"),
    (slot(wal_status="lost"), {}, "slot.name", ERROR, "SELECT pg_drop_replication_slot('s');"),
    (slot(wal_status="unreserved"), {}, "slot.name", WARNING, "about to lose its WAL"),
    (slot(active=True, holder="pid 7 (PostgreSQL JDBC Driver, 10.0.0.1)"), {}, "slot.name", WARNING, "in use by pid 7 (PostgreSQL JDBC"),
    (server(slots=10), {}, "slot.name", WARNING, "All 10 replication slots of the server are taken"),
    (
        {"publication": None},
        {"publication__autocreate__mode": "disabled"},
        "publication.name",
        ERROR,
        (
            "Publication autocreation is disabled, please create one and restart the connector."
            ' Run CREATE PUBLICATION "p" FOR TABLE "public"."orders", "public"."items";'
        ),
    ),
    (
        publication(state=listing(all_tables=True), tables=frozenset()),
        {"publication__autocreate__mode": "filtered"},
        "publication.autocreate.mode",
        ERROR,
        'DROP PUBLICATION "p";',
    ),
    (
        {**server(standby=True), "publication": None},
        {"publication__autocreate__mode": "no_tables"},
        "publication.name",
        ERROR,
        'Run CREATE PUBLICATION "p"; on the primary',
    ),
    (
        without_rights(creates=False),
        {"publication__autocreate__mode": "filtered"},
        "publication.autocreate.mode",
        WARNING,
        "it lacks CREATE on database shop. ",
    ),
    (without_rights(), {}, "publication.autocreate.mode", WARNING, "it lacks superuser, for all tables. Let a privileged role run CREATE"),
    (
        {**tables(owned=False), "publication": None},
        {"publication__autocreate__mode": "filtered"},
        "publication.autocreate.mode",
        WARNING,
        "it lacks the ownership of 1 table (public.items)",
    ),
    (
        publication(owned=False, state=listing(ORDERS), tables=frozenset({1})),
        {"publication__autocreate__mode": "filtered"},
        "publication.autocreate.mode",
        WARNING,
        'publication\'s ownership. Let a privileged role run ALTER PUBLICATION "p" SET TABLE "public"."orders", "public"."items";',
    ),
    (
        publication(state=listing(ORDERS, ITEMS, schemas=("public",)), tables=frozenset()),
        {"publication__autocreate__mode": "filtered", "table__include__list": "public.orders"},
        "publication.autocreate.mode",
        WARNING,
        "Publication p is for whole schemas (public), whose tables are not exactly the captured ones.",
    ),
    (
        publication(operations=frozenset({"insert"})),
        {},
        "publication.name",
        WARNING,
        "does not publish update, delete: such changes never arrive. Run ALTER PUBLICATION \"p\" SET (publish = 'insert, update, delete');",
    ),
    (
        publication(state=listing(ORDERS), tables=frozenset({1})),
        {},
        "publication.name",
        WARNING,
        'lacks 1 captured table (public.items): their changes never arrive. Run ALTER PUBLICATION "p" ADD TABLE "public"."items";',
    ),
    ({}, {"table__include__list": "public.none"}, "table.include.list", WARNING, "No table of database shop matches table.include.list"),
    (
        {},
        {"table__include__list": "public.orders,public.none,public\\.nil"},
        "table.include.list",
        WARNING,
        "has the name of 2 entries (public.none, public\\.nil)",
    ),
    (
        tables(reachable=False),
        {},
        "database.user",
        WARNING,
        'may not use 1 schema (public) of captured tables: the snapshot would fail. Run GRANT USAGE ON SCHEMA "public" TO "shop";',
    ),
    (
        tables(readable=False),
        {},
        "database.user",
        WARNING,
        'may not read 1 captured table (public.items): the snapshot would fail. Run GRANT SELECT ON "public"."items" TO "shop";',
    ),
    (tables(policed=True), {}, "database.user", WARNING, "Row security hides rows of 1 captured table (public.items)"),
    (tables(keyed=False), {}, "replica.identity.autoset.values", WARNING, "1 table (public.items); once published, PostgreSQL refuses"),
    (tables(identity="n"), {}, "replica.identity.autoset.values", WARNING, 'ALTER TABLE "public"."items" REPLICA IDENTITY FULL;'),
    (
        tables(keyed=False),
        {"plugin__name": "wal2json"},
        "replica.identity.autoset.values",
        WARNING,
        "deletes there arrive without their row",
    ),
    (tables(logged=False), {}, "table.include.list", WARNING, "Unlogged, so that their changes cannot be read: 1 table (public.items)"),
    (
        {},
        {"signal__data__collection": "public.signals"},
        "signal.data.collection",
        WARNING,
        'Run CREATE TABLE "public"."signals" (id varchar(42) PRIMARY KEY',
    ),
    (
        {"signals": SignalTable(True, True, ("id", "type"))},
        {"signal__data__collection": "public.signals"},
        "signal.data.collection",
        WARNING,
        "has the columns id, type. Make it one of three columns",
    ),
    (
        {"signals": SignalTable(False, True, ("id", "type", "data"))},
        {"signal__data__collection": "public.signals"},
        "signal.data.collection",
        WARNING,
        'GRANT INSERT ON "public"."signals" TO "shop";',
    ),
    (
        {"heartbeat": Refusal('relation "hb" does not exist', "42P01")},
        {"heartbeat__action__query": "INSERT INTO hb VALUES (1)", "heartbeat__interval__ms": "1000"},
        "heartbeat.action.query",
        WARNING,
        'cannot be run: relation "hb" does not exist',
    ),
    (
        {},
        {"heartbeat__action__query": "INSERT INTO hb VALUES (1)"},
        "heartbeat.action.query",
        WARNING,
        "never run, because heartbeat.interval.ms is 0",
    ),
    (
        server(standby=True),
        {"heartbeat__action__query": "INSERT INTO hb VALUES (1)", "heartbeat__interval__ms": "1000"},
        "heartbeat.action.query",
        WARNING,
        "The server is a standby",
    ),
    (
        {**server(standby=True), "signals": SignalTable(True, True, ("id", "type", "data"))},
        {"signal__data__collection": "public.signals"},
        "signal.data.collection",
        WARNING,
        "Set read.only to true",
    ),
]


@each_case(("facts", "config", "key", "warning", "text"), CASES)
def test_one_thing_wrong_is_one_finding(facts: dict[str, Any], config: dict[str, str], key: str, warning: bool, text: str) -> None:
    [(reported_key, reported_weight, reported)] = found(replace(GOOD, **facts), **config)
    assert (reported_key, reported_weight) == (key, warning)
    assert text in reported
    assert reported.startswith(LEAD) is not warning


def test_every_rule_has_its_case() -> None:
    used = set()
    for facts, config, *_ in CASES:
        settings = {**CONFIG, **{name.replace("__", "."): value for name, value in config.items()}}
        wish = Wish(Selection.of(parse(settings)[0]))
        used |= {rule.check for rule in RULES if [*rule.check(wish, replace(GOOD, **facts))]}
    assert used == {rule.check for rule in RULES}


def test_the_page_has_every_rule_in_its_order() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| (failure|warning) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(rule.key, "warning" if rule.warning else "failure") for rule in RULES]


def test_all_findings_are_reported_at_once() -> None:
    facts = replace(
        GOOD,
        server=replace(SERVER, wal_level="replica"),
        replication=DENIED,
        slot=replace(SLOT, plugin="wal2json"),
        publication=None,
        tables=(replace(ORDERS, readable=False),),
    )
    reported = found(facts, publication__autocreate__mode="disabled")
    assert [(key, warning) for key, warning, _ in reported] == [
        ("database.hostname", ERROR),
        ("database.user", ERROR),
        ("slot.name", ERROR),
        ("publication.name", ERROR),
        ("database.user", WARNING),
    ]


@pytest.mark.parametrize(("version", "refuses"), [("2.3.4.Final", True), ("3.6.3.Final", False)])
def test_the_reference_refuses_wal_level_in_one_version_and_nothing_else(version: str, refuses: bool) -> None:
    facts = replace(GOOD, server=replace(SERVER, wal_level="replica"), replication=DENIED, slot=replace(SLOT, plugin="wal2json"))
    settings = {**CONFIG, "connector.plugin.version": version, "snapshot.mode": "initial"}
    findings = judge(Wish(Selection.of(parse(settings)[0])), facts)
    assert [(finding.key, finding.reference) for finding in findings] == [
        ("database.hostname", refuses),
        ("database.user", False),
        ("slot.name", False),
    ]


def test_a_snapshot_alone_needs_nothing_for_streaming() -> None:
    facts = Facts(
        replace(SERVER, wal_level="minimal", slots=10), ROLE, slot=replace(SLOT, logical=False), replication=DENIED, tables=(ORDERS,)
    )
    assert found(facts, snapshot__mode="initial_only", publication__autocreate__mode="disabled") == []
    assert found(replace(facts, tables=(replace(ORDERS, readable=False),)), snapshot__mode="initial_only")


def test_a_mode_without_snapshot_reads_no_table() -> None:
    assert found(replace(GOOD, tables=(replace(ORDERS, readable=False, reachable=False), ITEMS)), snapshot__mode="no_data") == []


def test_where_a_snapshotter_decides_nothing_is_certain() -> None:
    facts = replace(GOOD, server=replace(SERVER, wal_level="replica"), replication=DENIED, slot=replace(SLOT, logical=False))
    reported = found(facts, snapshot__mode="custom", snapshot__mode__custom__name="mine")
    assert [(key, warning) for key, warning, _ in reported] == [
        ("database.hostname", WARNING),
        ("database.user", WARNING),
        ("slot.name", WARNING),
    ]
    # As recorded, custom with the name of a mode is that mode.
    assert not found(facts, snapshot__mode="custom", snapshot__mode__custom__name="initial")[0][1]


def test_a_lost_slot_is_created_again_when_needed() -> None:
    assert found(replace(GOOD, slot=replace(SLOT, wal_status="lost")), snapshot__mode="when_needed") == []


def test_without_a_named_plugin_the_slots_counts() -> None:
    config = {name: value for name, value in CONFIG.items() if name != "plugin.name"}
    wish = Wish(Selection.of(parse(config)[0]))
    assert judge(wish, replace(GOOD, slot=replace(SLOT, plugin="wal2json"), publication=None)) == []
    [finding] = judge(wish, replace(GOOD, slot=replace(SLOT, plugin="test_decoding")))
    assert (finding.key, finding.warning) == ("slot.name", ERROR)


def test_where_the_server_chooses_the_plugin_the_publication_is_not_certain() -> None:
    config = {name: value for name, value in CONFIG.items() if name != "plugin.name"} | {"publication.autocreate.mode": "disabled"}
    [finding] = judge(Wish(Selection.of(parse(config)[0])), replace(GOOD, publication=None))
    assert (finding.key, finding.warning) == ("publication.name", WARNING)


@pytest.mark.parametrize("plugin", ["wal2json", "decoderbufs"])
def test_other_plugins_need_no_publication(plugin: str) -> None:
    assert found(replace(GOOD, publication=None), plugin__name=plugin, publication__autocreate__mode="disabled") == []


@pytest.mark.parametrize("role", ["rds_replication", "rds_superuser", "cloudsqlsuperuser", "azure_pg_admin"])
def test_a_managed_server_s_role_overrides_an_unknown_message(role: str) -> None:
    holder = replace(ROLE, replication=False, memberships=frozenset({role}))
    french = replace(SERVER, english=False)
    [(key, warning, _)] = found(replace(GOOD, server=french, role=holder, replication=Refusal("accès refusé")))
    assert (key, warning) == ("database.hostname", WARNING)


def test_a_refusal_for_another_reason_says_nothing_about_the_role() -> None:
    holder = replace(ROLE, replication=False)
    [(key, warning, _)] = found(replace(GOOD, role=holder, replication=Refusal('too many connections for role "shop"')))
    assert (key, warning) == ("database.hostname", WARNING)


def test_the_reader_of_an_active_slot_may_be_the_connector_itself() -> None:
    own = replace(SLOT, active=True, holder="pid 7 (Understudy Streaming, local, since 2026-01-01)")
    assert found(replace(GOOD, slot=own)) == []


def test_tables_whose_identity_will_be_set_are_not_reported() -> None:
    facts = replace(GOOD, tables=(ORDERS, replace(ITEMS, keyed=False)))
    assert found(facts, replica__identity__autoset__values="public.items:FULL") == []


def test_names_of_tables_are_compared_as_the_lists_mean_them() -> None:
    odd = replace(ITEMS, schema="my.schema", table="it_ems")
    assert found(replace(GOOD, tables=(ORDERS, odd)), table__include__list="PUBLIC.ORDERS,my.schema.it.ems") == []


def test_signals_by_other_channels_need_no_table() -> None:
    assert found(GOOD, signal__data__collection="public.signals", signal__enabled__channels="file") == []
    reads = SignalTable(inserts=False, deletes=False, columns=("id", "type", "data"))
    assert found(replace(GOOD, signals=reads), signal__data__collection="public.signals", read__only="true") == []


def test_many_names_are_counted_and_the_first_named() -> None:
    assert counted(["a"], "table", "tables") == "1 table (a)"
    assert counted(["a", "b", "c", "d"], "table", "tables") == "4 tables (a, b, c, …)"


def test_entries_that_match_nothing() -> None:
    described = [CatalogTable(1, "public", "orders", (Column("id", 23), Column("email", 25)))]
    facts = replace(GOOD, described=described)
    mask = "column.mask.with.3.chars"
    rules = {mask: "shop.public.orders.email,orders.email", "table.include.list": r"shop.public.orders,public.items,public\.x.*"}
    findings = judge(Wish(Selection.of(parse({**CONFIG, **rules})[0])), facts)
    assert [(finding.key, finding.warning) for finding in findings] == [("table.include.list", WARNING), (mask, WARNING)]
    assert findings[0].text.startswith(r"Entry 'public\\.x.*' of table.include.list matches no table.")
    assert findings[1].text.startswith(f"Entry 'orders.email' of {mask} matches no column of a captured table.")
    # Columns that could not be read are no reason to say that nothing matches them.
    assert judge(Wish(Selection.of(parse({**CONFIG, mask: "orders.email"})[0])), GOOD) == []
