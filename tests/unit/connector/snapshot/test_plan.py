from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connector.catalog.table import CatalogTable
from connector.snapshot.plan import (
    Extent,
    begin_statements,
    lock_statements,
    marker,
    override_columns_statement,
    page_extents,
    projected,
    select_statement,
    split_copy_line,
)
from connector.types.codec import Column
from tests.support.each_case import each_case

TABLE = CatalogTable(9, 'in"v', "Odd Orders", (Column("id", 23), Column('a "b"', 25), Column("Straße", 25)), ("id",))
PLAIN = CatalogTable(9, "inv", "orders", (Column("id", 23), Column("note", 25)), ("id",))


@pytest.mark.parametrize(
    ("isolation", "statement"),
    [
        ("serializable", "BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE"),
        ("repeatable_read", "BEGIN ISOLATION LEVEL REPEATABLE READ"),
        ("read_committed", "BEGIN ISOLATION LEVEL READ COMMITTED"),
        ("read_uncommitted", "BEGIN ISOLATION LEVEL READ UNCOMMITTED"),
    ],
)
def test_isolation(isolation: str, statement: str) -> None:
    assert begin_statements(isolation, None) == [statement]
    # Only REPEATABLE READ and above may take over a snapshot, and a deferrable one may not.
    assert begin_statements(isolation, "00000003-1'B-1") == [
        "BEGIN ISOLATION LEVEL REPEATABLE READ",
        "SET TRANSACTION SNAPSHOT '00000003-1''B-1'",
    ]


def test_a_read_only_transaction_says_so_after_it_took_its_snapshot() -> None:
    assert begin_statements("repeatable_read", None, read_only=True)[1:] == ["SET TRANSACTION READ ONLY"]
    assert begin_statements("serializable", "00000003-1", read_only=True)[2:] == ["SET TRANSACTION READ ONLY"]


def test_locks_are_taken_only_in_shared_mode() -> None:
    assert lock_statements("none", [PLAIN], 10) == []
    assert lock_statements("shared", [], 10) == []
    assert lock_statements("shared", [PLAIN, TABLE], 1500) == [
        "SET LOCAL lock_timeout = 1500",
        'LOCK TABLE "inv"."orders" IN ACCESS SHARE MODE',
        'LOCK TABLE "in""v"."Odd Orders" IN ACCESS SHARE MODE',
    ]


@pytest.mark.parametrize(
    ("columns", "extent", "expected"),
    [
        (["id", "note"], None, 'SELECT "id", "note" FROM "inv"."orders"'),
        # The table's order counts, not the caller's.
        (["note", "id"], None, 'SELECT "id", "note" FROM "inv"."orders"'),
        (["note", "gone"], None, 'SELECT "note" FROM "inv"."orders"'),
        (["id"], Extent(), 'SELECT "id" FROM "inv"."orders"'),
        (["id"], Extent(0, 10, last=False), """SELECT "id" FROM "inv"."orders" WHERE ctid >= '(0,0)'::tid AND ctid < '(10,0)'::tid"""),
        (["id"], Extent(10, 20, last=True), """SELECT "id" FROM "inv"."orders" WHERE ctid >= '(10,0)'::tid"""),
    ],
)
def test_select_statement(columns: list[str], extent: Extent | None, expected: str) -> None:
    assert select_statement(PLAIN, columns, extent=extent) == expected


def test_odd_names_are_quoted() -> None:
    assert select_statement(TABLE, ['a "b"', "Straße"]) == 'SELECT "a ""b""", "Straße" FROM "in""v"."Odd Orders"'


@pytest.mark.parametrize("override", ["select id from x", "select id from x;", "  select id from x ;;\n", "select id from x;\n\n"])
def test_override_is_projected_to_the_columns_wanted(override: str) -> None:
    statement = select_statement(PLAIN, ["id", "note"], override, {"id": "CAST(id AS int4)"})
    assert statement == 'SELECT CAST(id AS int4) AS "id", NULL AS "note" FROM (select id from x\n) AS overridden'


def test_override_ignores_unselected_columns() -> None:
    assert select_statement(PLAIN, ["id"], "select * from x", {"note": '"note"', "id": '"id"'}) == (
        'SELECT "id" AS "id" FROM (select * from x\n) AS overridden'
    )


def test_only_the_closing_semicolons_of_an_override_go() -> None:
    assert override_columns_statement("select ';' from x; ;") == "SELECT * FROM (select ';' from x\n) AS overridden LIMIT 0"


def test_a_comment_at_the_end_of_an_override_hides_nothing() -> None:
    assert override_columns_statement("select 1 -- all") == "SELECT * FROM (select 1 -- all\n) AS overridden LIMIT 0"


def test_projected_keeps_order_and_everything_else() -> None:
    table = projected(TABLE, {"Straße", "id"})
    assert [column.name for column in table.columns] == ["id", "Straße"]
    assert (table.name, table.primary_key) == (TABLE.name, TABLE.primary_key)


@settings(deadline=None)
@given(st.integers(0, 5000), st.integers(-2, 40))
def test_extents_cover_every_page_once(pages: int, parts: int) -> None:
    extents = page_extents(pages, parts)
    assert 1 <= len(extents) <= max(1, parts)
    if len(extents) == 1:
        assert extents == [Extent()]
        return
    covered = [page for extent in extents for page in range(extent.first, extent.end or 0)]
    assert covered == list(range(pages))
    assert [extent.last for extent in extents] == [False] * (len(extents) - 1) + [True]
    sizes = [(extent.end or 0) - extent.first for extent in extents]
    assert max(sizes) - min(sizes) <= 1


MARKERS = {
    # first, last, first_of_table, last_of_table
    (True, False, True, False): "first",
    (True, False, True, True): "first",
    (True, True, True, True): "last",
    (False, True, False, True): "last",
    (False, True, True, True): "last",
    (False, False, False, False): "true",
    (False, False, True, False): "first_in_data_collection",
    (False, False, False, True): "last_in_data_collection",
    (False, False, True, True): "last_in_data_collection",
}


@each_case(("flags", "expected"), MARKERS.items())
def test_markers(flags: tuple[bool, bool, bool, bool], expected: str) -> None:
    first, last, first_of_table, last_of_table = flags
    assert marker(first=first, last=last, first_of_table=first_of_table, last_of_table=last_of_table) == expected


def escape(cell: bytes | None) -> bytes:
    """A cell as COPY TO writes it (PostgreSQL manual, COPY, "Text Format")."""
    if cell is None:
        return b"\\N"
    letters = {ord("\\"): b"\\\\", 8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r"}
    return b"".join(letters.get(byte, bytes([byte])) for byte in cell)


def copy_line(cells: list[bytes | None]) -> bytes:
    return b"\t".join(escape(cell) for cell in cells) + b"\n"


CELL = st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20).map(str.encode)
TRICKY = st.lists(st.sampled_from([b"\\", b"\\\\", b"N", b"\\N", b"n", b"t", b"\t", b"\n", b"\r", b"\b", b"\f", b"\v", b"x"]), max_size=8)


@settings(deadline=None)
@given(st.lists(CELL | TRICKY.map(b"".join), min_size=1, max_size=8))
def test_copy_line_is_unescaped(cells: list[bytes | None]) -> None:
    assert split_copy_line(copy_line(cells)) == cells


@each_case(
    ("line", "cells"),
    [
        (b"\n", [b""]),
        (b"\t\n", [b"", b""]),
        (b"\\N\n", [None]),
        (b"\\\\N\n", [b"\\N"]),
        (b"\\N\tN\t\\\\\n", [None, b"N", b"\\"]),
        (b"a\\tb\\nc\tplain\n", [b"a\tb\nc", b"plain"]),
        (b"\\\\\\\\n\n", [b"\\\\n"]),
        (b"\\\\\\n\n", [b"\\\n"]),
        (b'{"a": "C:\\\\\\\\dir"}\n', [b'{"a": "C:\\\\dir"}']),
        (b"\\x41\n", [b"x41"]),
    ],
)
def test_copy_lines(line: bytes, cells: list[bytes | None]) -> None:
    assert split_copy_line(line) == cells
