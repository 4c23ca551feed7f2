from __future__ import annotations

import pytest

from connector.catalog.filters import ColumnFilter, TableFilter
from connector.catalog.name_matcher import matcher
from connector.configdef.patterns import split_regexes
from connector.errors import CdcError, ErrorKind
from tests.support.each_case import each_case


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("", []),
        (" , ,", []),
        ("a.b", ["a.b"]),
        ("a.b, c.d ,e.f", ["a.b", "c.d", "e.f"]),
        ("a\\,b,c", ["a,b", "c"]),
        ("x{1\\,2}", ["x{1,2}"]),
    ],
)
def test_split_regexes(text: str, entries: list[str]) -> None:
    assert split_regexes(text) == entries


@each_case(
    ("pattern", "name", "expected"),
    [
        ("public.orders", "public.orders", True),
        ("public.orders", "PUBLIC.Orders", True),
        ("public.orders", "public.orders2", False),
        ("public.orders", "my.public.orders", False),
        # A dot is any character, as in the reference.
        ("public.orders", "publicXorders", True),
        ("public\\.orders", "publicXorders", False),
        ("public.(a|b)", "public.b", True),
        ("public.*", "public.", True),
        ("a|b", "a", True),
        ("a|ab", "ab", True),
        ("\\Qa.b(c\\E", "a.b(c", True),
        ("\\Qa.b\\E", "aXb", False),
        ("\\Qa.b\\E.*", "a.b.c.d", True),
        ("x\\Q[\\Ey\\Q]\\E", "x[y]", True),
        # Without an end the quote reaches to the end of the pattern.
        ("inv.\\Qa+b", "inv.a+b", True),
        ("inv.\\Qa+b", "inv.aab", False),
        ("inv.Straße", "INV.STRAßE", True),
        # Letter case, \\w and \\d are limited to ASCII, as Debezium 3.6.3 captured a schema with these tables.
        ("inv.ä", "inv.Ä", False),
        ("inv.\\w1", "inv.é1", False),
        ("inv.\\w1", "inv.A1", True),
        ("inv.\\dd", "inv.٣d", False),
    ],
)
def test_patterns_match_whole_names(pattern: str, name: str, expected: bool) -> None:
    matches = matcher([pattern], "table.include.list")
    assert matches(name) is expected
    # The second answer comes from memory.
    assert matches(name) is expected


@pytest.mark.parametrize("pattern", ["a(", "[a", "*a", "a\\"])
def test_bad_pattern_names_the_property_and_the_fault(pattern: str) -> None:
    with pytest.raises(CdcError) as reported:
        matcher([pattern], "table.include.list")
    assert reported.value.kind is ErrorKind.CONFIG_INVALID
    assert "table.include.list" in reported.value.message
    assert repr(pattern) in reported.value.message
    assert reported.value.remedy


LISTS: list[tuple[str, dict[str, list[str]], str, str, bool]] = [
    ("nothing set", {}, "public", "orders", True),
    ("table included", {"table_include": ["public.orders"]}, "public", "orders", True),
    ("table not included", {"table_include": ["public.orders"]}, "public", "lines", False),
    ("table excluded", {"table_exclude": ["public.or.*"]}, "public", "orders", False),
    ("table not excluded", {"table_exclude": ["public.or.*"]}, "public", "lines", True),
    ("schema included", {"schema_include": ["inv"]}, "inv", "orders", True),
    ("schema not included", {"schema_include": ["inv"]}, "inventory", "orders", False),
    ("schema excluded", {"schema_exclude": ["inv.*"]}, "inventory", "orders", False),
    ("schema included, table not", {"schema_include": ["inv"], "table_include": ["inv.a"]}, "inv", "b", False),
    ("table included, schema not", {"schema_include": ["inv"], "table_include": ["oth.a"]}, "oth", "a", False),
    ("schema included, table excluded", {"schema_include": ["inv"], "table_exclude": ["inv.a"]}, "inv", "a", False),
    ("include wins over exclude", {"table_include": ["inv.a"], "table_exclude": ["inv.a"]}, "inv", "a", True),
    ("quoted", {"table_include": ["inv.\\Qa.b\\E"]}, "inv", "a.b", True),
]


@each_case(("lists", "schema", "table", "expected"), [row[1:] for row in LISTS], ids=[row[0] for row in LISTS])
def test_table_filter(lists: dict[str, list[str]], schema: str, table: str, expected: bool) -> None:
    filters = TableFilter(
        schema_include=lists.get("schema_include", ()),
        schema_exclude=lists.get("schema_exclude", ()),
        table_include=lists.get("table_include", ()),
        table_exclude=lists.get("table_exclude", ()),
    )
    assert filters.captures(schema, table) is expected


@pytest.mark.parametrize(
    ("schema", "table"),
    [
        ("pg_catalog", "pg_class"),
        ("information_schema", "tables"),
        ("pg_temp_3", "t"),
        ("pg_toast", "pg_toast_1"),
        ("public", "spatial_ref_sys"),
    ],
)
def test_builtin_tables_are_left_out_unless_asked_for(schema: str, table: str) -> None:
    assert not TableFilter(table_include=[".*"]).captures(schema, table)
    assert TableFilter(ignore_builtin=False).captures(schema, table)


@pytest.mark.parametrize(
    ("include", "exclude", "column", "expected"),
    [
        ([], [], "id", True),
        (["inv.a.id"], [], "id", True),
        (["inv.a.id"], [], "name", False),
        ([], ["inv.a.(name|note)"], "note", False),
        ([], ["inv.a.(name|note)"], "id", True),
        ([".*.ID"], [], "id", True),
    ],
)
def test_column_filter(include: list[str], exclude: list[str], column: str, expected: bool) -> None:
    assert ColumnFilter(include=include, exclude=exclude).includes("inv", "a", column) is expected


@pytest.mark.parametrize("side", ["include", "exclude"])
def test_bad_pattern_of_a_list_names_that_list(side: str) -> None:
    with pytest.raises(CdcError, match=f"column.{side}.list"):
        ColumnFilter(**{side: ["("]})  # type: ignore[arg-type]
    with pytest.raises(CdcError, match=f"schema.{side}.list"):
        TableFilter(**{f"schema_{side}": ["("]})  # type: ignore[arg-type]
