"""What is found about publications: of partitions, of filtered ones, of those for all tables."""

from __future__ import annotations

from dataclasses import replace

from connector.start.publication_sql import PublicationState
from tests.support.preflight_facts import GOOD, ITEMS, ORDERS, PUBLICATION, ROLE, SERVER, found, listing


def test_a_partition_is_published_with_its_root_or_its_schema() -> None:
    leaf = replace(ITEMS, oid=9, ancestors=(2,))
    assert found(replace(GOOD, tables=(ORDERS, leaf))) == []
    by_schema = replace(PUBLICATION, tables=frozenset(), state=listing(ORDERS, ITEMS, schemas=("public",)))
    assert found(replace(GOOD, publication=by_schema)) == []
    # A root has no changes, unless its partitions' changes are published under its name.
    root = replace(ITEMS, oid=8, kind="p")
    assert found(replace(GOOD, tables=(ORDERS, root))) == []
    assert found(replace(GOOD, tables=(ORDERS, root)), publish__via__partition__root="true")[0][0] == "publication.name"


def test_a_filtered_publication_that_publishes_the_captured_tables_is_not_changed() -> None:
    by_schema = replace(PUBLICATION, owned=False, tables=frozenset(), state=listing(ORDERS, ITEMS, schemas=("public",)))
    assert found(replace(GOOD, publication=by_schema), publication__autocreate__mode="filtered") == []
    names = [(table.schema, table.table) for table in (ORDERS, ITEMS)]
    by_root = replace(by_schema, state=PublicationState(False, frozenset({("public", "root")}), frozenset(names)))
    leaves = (replace(ORDERS, ancestors=(7,)), replace(ITEMS, ancestors=(7,)))
    assert (
        found(replace(GOOD, publication=replace(by_root, tables=frozenset({7})), tables=leaves), publication__autocreate__mode="filtered")
        == []
    )


def test_a_standby_does_not_change_a_publication() -> None:
    filtered = {"publication__autocreate__mode": "filtered"}
    narrow = replace(PUBLICATION, owned=False, state=listing(ORDERS), tables=frozenset({1}))
    standby = replace(GOOD, server=replace(SERVER, standby=True), publication=narrow)
    [(key, warning, text)] = found(standby, **filtered)
    assert (key, warning) == ("publication.name", True)
    assert 'Run ALTER PUBLICATION "p" ADD TABLE "public"."items"; on the primary' in text
    wide = replace(narrow, state=listing(ORDERS, ITEMS, replace(ITEMS, table="more")), tables=frozenset({1, 2, 3}))
    assert found(replace(standby, publication=wide), **filtered) == []


def test_a_publication_is_not_changed_if_no_table_is_captured() -> None:
    foreign = replace(GOOD, publication=replace(PUBLICATION, owned=False))
    [(key, _, _)] = found(foreign, publication__autocreate__mode="filtered", table__include__list="public.none")
    assert key == "table.include.list"


def test_operations_skipped_on_purpose_need_not_be_published() -> None:
    inserts = replace(PUBLICATION, operations=frozenset({"insert"}))
    assert found(replace(GOOD, publication=inserts), skipped__operations="u,d,t") == []


def test_a_publication_for_all_tables_hits_tables_that_are_not_captured() -> None:
    bare = replace(ITEMS, keyed=False)
    every = replace(GOOD, role=replace(ROLE, superuser=True), publication=None, tables=(ORDERS, bare))
    [(key, _, text)] = found(every, table__include__list="public.orders")
    assert key == "replica.identity.autoset.values"
    assert "the tables that are not captured too" in text
    assert found(every, table__include__list="public.orders", publication__autocreate__mode="filtered") == []
