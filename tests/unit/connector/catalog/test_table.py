from __future__ import annotations

from dataclasses import replace

import pytest

from connector.catalog.identifiers import quote_identifier, quote_literal, quote_table
from connector.catalog.name_matcher import Matcher, matcher
from connector.catalog.table import CatalogTable, case_duplicates, key_columns, looks_computed, surrogate_key
from connector.events.relation import former_key, join_relation, same_shape
from connector.types.codec import Column
from connector.wire.pgoutput import Relation, RelationColumn
from tests.support.each_case import each_case

ID = Column("id", 23, -1, not_null=True, default="nextval('s')", serial=True)
NAME = Column("name", 25, -1, default="'x'::text", comment="who")
CATALOG = CatalogTable(7, "inv", "a", (ID, NAME), ("id",), ("name", "id"), identity="d", estimate=40)


def relation(*columns: RelationColumn, identity: str = "d", oid: int = 7) -> Relation:
    return Relation(oid, "inv", "a", identity, columns)


R_ID, R_NAME = RelationColumn("id", 23, -1, key=True), RelationColumn("name", 25, -1, key=False)


def test_catalog_and_stream_agree() -> None:
    assert join_relation(relation(R_ID, R_NAME), CATALOG) == replace(CATALOG, streamed=True)


def test_catalog_has_a_column_the_stream_does_not_know_yet() -> None:
    table = join_relation(relation(R_NAME), CATALOG)
    assert table.columns == (NAME,)
    # A key column that no row brings cannot be in the key.
    assert (table.primary_key, table.unique_key) == ((), ("name",))


def test_stream_has_a_column_the_catalog_dropped() -> None:
    table = join_relation(relation(R_ID, RelationColumn("old", 1700, 655366, key=False), R_NAME), CATALOG)
    assert table.columns == (ID, Column("old", 1700, 655366), NAME)
    assert not table.columns[1].not_null


def test_type_and_order_are_those_of_the_stream() -> None:
    table = join_relation(relation(RelationColumn("name", 1043, 44, key=False), RelationColumn("id", 20, -1, key=True)), CATALOG)
    assert [(c.name, c.type_oid, c.modifier) for c in table.columns] == [("name", 1043, 44), ("id", 20, -1)]
    # What only the catalog knows stays with its column.
    assert (table.columns[0].comment, table.columns[1].serial, table.columns[1].not_null) == ("who", True, True)


@each_case(
    ("columns", "identity", "catalog", "former"),
    [
        ((R_ID, R_NAME), "d", CATALOG, ()),
        # Another column, a part of the key more, a part less, another name, no key any more, no table any more.
        ((R_ID, R_NAME), "d", replace(CATALOG, primary_key=("name",)), ("id",)),
        ((R_ID, R_NAME), "d", replace(CATALOG, primary_key=("name", "id")), ("id",)),
        ((R_ID, replace(R_NAME, key=True)), "d", CATALOG, ("id", "name")),
        ((replace(R_ID, name="number"), R_NAME), "d", CATALOG, ("number",)),
        ((R_ID, R_NAME), "d", replace(CATALOG, primary_key=()), ("id",)),
        ((R_ID, R_NAME), "d", None, ("id",)),
        # What is not reported: a key that came later, or a deferrable one; FULL and an index mark other columns.
        ((replace(R_ID, key=False), R_NAME), "d", CATALOG, ()),
        ((R_ID, replace(R_NAME, key=True)), "f", CATALOG, ()),
        ((replace(R_ID, key=False), replace(R_NAME, key=True)), "i", CATALOG, ()),
        # A column list may leave a part of the key out.
        ((R_ID,), "d", replace(CATALOG, primary_key=("name", "id")), ()),
    ],
)
def test_a_key_that_was_another_one(
    columns: tuple[RelationColumn, ...], identity: str, catalog: CatalogTable | None, former: tuple[str, ...]
) -> None:
    reported = relation(*columns, identity=identity)
    assert former_key(reported, join_relation(reported, catalog)) == former


def test_table_is_missing_from_the_catalog() -> None:
    table = join_relation(relation(R_ID, R_NAME, oid=9), None)
    assert table == CatalogTable(9, "inv", "a", (Column("id", 23), Column("name", 25)), streamed=True)


def test_oid_and_identity_are_those_of_the_stream() -> None:
    table = join_relation(relation(R_ID, R_NAME, identity="f", oid=99), CATALOG)
    assert (table.oid, table.identity, table.estimate) == (99, "f", 40)


@pytest.mark.parametrize(
    ("columns", "same"),
    [
        ((R_ID, R_NAME), True),
        ((R_NAME, R_ID), False),
        ((R_ID,), False),
        ((R_ID, RelationColumn("name", 25, 5, key=False)), False),
        ((R_ID, RelationColumn("name", 1043, -1, key=False)), False),
        ((R_ID, RelationColumn("Name", 25, -1, key=False)), False),
        ((R_ID, RelationColumn("name", 25, -1, key=True)), True),
    ],
)
def test_same_shape(columns: tuple[RelationColumn, ...], same: bool) -> None:
    assert same_shape(relation(*columns), CATALOG) is same


def rules(*patterns: str) -> list[Matcher]:
    """Patterns of whole column names, as ``message.key.columns`` comes apart into them."""
    return [matcher([pattern], "message.key.columns") for pattern in patterns]


@each_case(
    ("primary", "unique", "patterns", "expected"),
    [
        (("id",), ("name",), [], ("id",)),
        ((), ("name", "id"), [], ("name", "id")),
        ((), (), [], ()),
        (("id",), (), [r"inv.a\.name"], ("name",)),
        # The order is that of the rules, not the table's.
        (("id",), (), [r"inv.a\.name", r"inv.a\.id"], ("name", "id")),
        (("id",), (), [r"inv.b\.name"], ("id",)),
        # All rules count, each column once.
        ((), (), [r".*\.id", r"inv.a\.name", r"inv.a\.id"], ("id", "name")),
        (("id",), (), [r"INV.A\.NAME"], ("name",)),
        ((), ("id",), [r"inv.a\.(id|name)"], ("id", "name")),
        # A column that the table does not have counts for nothing.
        (("id",), (), [r"inv.a\.nmae"], ("id",)),
        (("id",), (), [r"inv.a\.nmae", r"inv.a\.name"], ("name",)),
    ],
)
def test_key_columns(primary: tuple[str, ...], unique: tuple[str, ...], patterns: list[str], expected: tuple[str, ...]) -> None:
    assert key_columns(CatalogTable(7, "inv", "a", (ID, NAME), primary, unique), rules(*patterns)) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], []),
        (["id", "name"], []),
        (["id", "Id"], ["id", "Id"]),
        (["id", "x", "ID", "iD"], ["id", "ID", "ID", "iD"]),
        (["Ä", "ä"], ["Ä", "ä"]),
    ],
)
def test_case_duplicates(names: list[str], expected: list[str]) -> None:
    assert case_duplicates([Column(name, 25) for name in names]) == expected


@pytest.mark.parametrize(("name", "quoted"), [("a", '"a"'), ('a"b', '"a""b"'), ("A b", '"A b"'), ("", '""'), ('"', '""""')])
def test_identifiers(name: str, quoted: str) -> None:
    assert quote_identifier(name) == quoted
    assert quote_table(name, "t") == f'{quoted}."t"'


def test_literals() -> None:
    assert quote_literal("it's") == "'it''s'"
    assert CATALOG.name == "inv.a"


@each_case(
    ("name", "computed"),
    [
        ("paren(1)", True),
        ("lower()", True),
        ("(a.b(x)", True),
        ("(a + b)", True),
        ("(a=b)", True),
        ("(a-b)", False),
        ("(a)", False),
        ("a(b", False),
        ("a (b)", False),
        ("id", False),
    ],
)
def test_names_that_debezium_takes_for_expressions(name: str, computed: bool) -> None:
    assert looks_computed(name) is computed


@pytest.mark.parametrize(("name", "column"), [("ID", "ID"), ("id", "ID"), ("ä", "Ä"), ("missing", "missing")])
def test_a_surrogate_key_is_named_in_any_case(name: str, column: str) -> None:
    assert surrogate_key(CatalogTable(1, "public", "t", (Column("ID", 23), Column("Ä", 25))), name) == column
