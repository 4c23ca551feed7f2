"""The SQL of chunks as text; what it finds on a real server is in tests/integration/connector/test_incremental_chunks.py."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.incremental.chunk_query import (
    ChunkOrder,
    OrderColumn,
    bound_statement,
    bounded_statement,
    chunk_order,
    chunk_statement,
    condition_statement,
    divided_statement,
    lock_statement,
    maximum_statement,
    next_size,
    tied_statement,
)
from connector.types.codec import Column, TypeInfo
from tests.support.stream_rig import INT4, TEXT, TYPES, catalog_table

TABLE = catalog_table(
    'it"em',
    Column("id", INT4, not_null=True),
    Column("na me", TEXT, not_null=True),
    Column("note", TEXT),
    primary_key=["na me", "id"],
    unique_key=["note"],
)
ALL = ["id", "na me", "note"]
QUOTED = '"public"."it""em"'


def test_the_order_is_that_of_the_names_not_of_the_columns() -> None:
    order = chunk_order(TABLE, ["na me", "id"], TYPES)
    assert order == ChunkOrder((OrderColumn("na me", '"pg_catalog"."text"'), OrderColumn("id", '"pg_catalog"."int4"')), unique=True)


@pytest.mark.parametrize(
    ("names", "unique"),
    [(["na me", "id"], True), (["id", "na me", "note"], False), (["id"], False), (["note"], False)],
    ids=["the primary key", "more, but nullable", "a part of it", "unique, but nullable"],
)
def test_rows_are_unique_only_in_a_whole_key_without_nulls(names: list[str], unique: bool) -> None:
    assert chunk_order(TABLE, names, TYPES).unique is unique


def test_rows_are_not_unique_in_the_key_of_a_partial_index() -> None:
    columns = Column("id", INT4, not_null=True), Column("code", INT4, not_null=True)
    table = catalog_table("t", *columns, primary_key=["id"], unique_key=["code"])
    assert chunk_order(table, ["code"], TYPES).unique
    partial = replace(table, partial_key=True)
    assert (chunk_order(partial, ["code"], TYPES).unique, chunk_order(partial, ["id"], TYPES).unique) == (False, True)


def test_rows_are_not_unique_in_a_key_that_inheriting_tables_may_repeat() -> None:
    assert not chunk_order(replace(TABLE, inherited=True), ["na me", "id"], TYPES).unique


def test_a_column_that_is_not_there_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        chunk_order(TABLE, ["gone"], TYPES)


def test_an_index_can_serve_a_chunk_of_a_key_without_nulls() -> None:
    order = chunk_order(TABLE, ["na me", "id"], TYPES)
    statement = chunk_statement(TABLE, ALL, order, after=("O'Hara", "7"), upto=("z", "9"), condition="(id > 2)", rows=10)
    assert statement == (
        f'SELECT "id", "na me", "note" FROM {QUOTED} WHERE ("na me", "id") > '
        """('O''Hara'::"pg_catalog"."text", '7'::"pg_catalog"."int4") AND ("na me", "id") <= """
        """('z'::"pg_catalog"."text", '9'::"pg_catalog"."int4") AND ((id > 2)\n) ORDER BY "na me", "id" LIMIT 10"""
    )


def test_an_amount_of_an_offset_is_read_without_the_locale() -> None:
    """With de_DE, ``'1234.50'::money`` is 123450."""
    types = {**TYPES, 790: TypeInfo(790, "money", "pg_catalog"), 1: TypeInfo(1, "price", "public", kind="d", base=790)}
    for oid, name in ((790, '"pg_catalog"."money"'), (1, '"public"."price"')):
        table = catalog_table("t", Column("k", oid, not_null=True), primary_key=["k"])
        order = chunk_order(table, ["k"], types)
        statement = chunk_statement(table, ["k"], order, after=("-1234.50",), upto=("1.234,50 €",), condition=None, rows=10)
        assert f"""("k") > ('-1234.50'::numeric::{name})""" in statement
        assert f"""("k") <= ('1.234,50 €'::{name})""" in statement


def test_the_first_chunk_has_no_lower_bound() -> None:
    order = chunk_order(TABLE, ["id"], TYPES)
    statement = chunk_statement(TABLE, ["id"], order, after=None, upto=("9",), condition=None, rows=1)
    assert (
        statement == f"""SELECT "id" FROM {QUOTED} WHERE ("id") <= ('9'::"pg_catalog"."int4") ORDER BY "id" FETCH FIRST 1 ROWS WITH TIES"""
    )
    limited = chunk_statement(TABLE, ["id"], order, after=None, upto=("9",), condition=None, rows=1, most=9)
    assert limited == f"SELECT * FROM ({statement}) AS chunk LIMIT 9"


def test_without_ties_in_the_limit_the_key_of_the_last_row_bounds_the_chunk() -> None:
    order = chunk_order(TABLE, ["note", "id"], TYPES)
    bound = bound_statement(TABLE, order, after=None, upto=(None, None), condition=None, rows=10)
    assert bound == f'SELECT "note", "id" FROM {QUOTED} WHERE NOT (FALSE) ORDER BY "note", "id" OFFSET 9 LIMIT 1'
    # The first comparison is for an index.
    bounded = bounded_statement(TABLE, ["id"], order, after=None, upto=("n", "3"), condition=None, most=None)
    text, number = """'n'::"pg_catalog"."text\"""", """'3'::"pg_catalog"."int4\""""
    assert bounded == (
        f'SELECT "id" FROM {QUOTED} WHERE "note" <= {text} AND NOT ((("note" > {text} OR "note" IS NULL)) OR '
        f'("note" IS NOT DISTINCT FROM {text} AND "id" > {number})) ORDER BY "note", "id"'
    )


def test_the_primary_key_divides_ties() -> None:
    order = chunk_order(TABLE, ["note"], TYPES)
    assert [column.name for column in order.tiebreak] == ["na me", "id"]
    assert not chunk_order(TABLE, ["na me", "id"], TYPES).tiebreak
    assert not chunk_order(replace(TABLE, inherited=True), ["note"], TYPES).tiebreak
    divided = divided_statement(TABLE, ["id"], order, after=None, upto=(None,), condition=None, rows=10)
    assert divided == f'SELECT "id" FROM {QUOTED} WHERE NOT (FALSE) ORDER BY "note", "na me", "id" LIMIT 10'
    tied = tied_statement(TABLE, ["id"], order, after=(None, "x", "7"), condition="(id > 2)", rows=10)
    assert tied == (
        f'SELECT "id" FROM {QUOTED} WHERE "note" IS NULL AND ("na me", "id") > '
        """('x'::"pg_catalog"."text", '7'::"pg_catalog"."int4") AND ((id > 2)\n) ORDER BY "na me", "id" LIMIT 10"""
    )


def test_the_end_the_condition_and_the_lock_of_a_table() -> None:
    order = chunk_order(TABLE, ["na me", "id"], TYPES)
    assert maximum_statement(TABLE, order, "(id > 2)") == (
        f'SELECT "na me", "id" FROM {QUOTED} WHERE ((id > 2)\n) ORDER BY "na me" DESC, "id" DESC LIMIT 1'
    )
    assert maximum_statement(TABLE, order, None).count("WHERE") == 0
    assert condition_statement(TABLE, "id > 2 -- few") == f"SELECT FROM {QUOTED} WHERE id > 2 -- few\nLIMIT 0"
    assert lock_statement(TABLE, ["note", "id"]) == f'SELECT "id", "note" FROM {QUOTED} LIMIT 0'


@given(
    rows=st.integers(1, 100_000),
    seconds=st.floats(0, 100),
    target=st.floats(0.001, 10),
    bounds=st.tuples(st.integers(1, 5000), st.integers(1, 64)),
)
def test_a_chunk_at_most_doubles_or_halves_and_keeps_its_bounds(rows: int, seconds: float, target: float, bounds: tuple[int, int]) -> None:
    least, factor = bounds
    size = next_size(rows, seconds, target=target, least=least, most=least * factor)
    assert least <= size <= least * factor
    if least <= rows <= least * factor:
        assert rows // 2 <= size <= rows * 2


def test_a_chunk_grows_towards_its_time() -> None:
    assert next_size(1000, 0.1, target=0.15, least=10, most=10_000) == 1500
    assert next_size(1000, 0.3, target=0.15, least=10, most=10_000) == 500
    assert next_size(1000, 0.0, target=0.15, least=10, most=10_000) == 2000
