"""The query over a part of a table that a bulk snapshot reads."""

from __future__ import annotations

import pytest

from connector.snapshot import Chunk, chunk_source, select_statement
from connector.table import CatalogTable
from connector.types.codec import Column

TABLE = CatalogTable(1, "public", "orders", (Column("id", 20, not_null=True), Column("v", 25)))


@pytest.mark.parametrize(
    ("chunk", "source"),
    [
        (Chunk(), '"public"."orders"'),
        (Chunk(64, 128, False), "\"public\".\"orders\" WHERE ctid >= '(64,0)'::tid AND ctid < '(128,0)'::tid"),
        (Chunk(128, 192), '"public"."orders" WHERE ctid >= \'(128,0)\'::tid'),
        (Chunk(member=("p", 'o"1')), 'ONLY "p"."o""1"'),
        (Chunk(only="(0,3)"), '"public"."orders" WHERE ctid = \'(0,3)\'::tid'),
        (
            Chunk(0, 64, False, ("p", "o1"), without="(0,3)"),
            "ONLY \"p\".\"o1\" WHERE ctid >= '(0,0)'::tid AND ctid < '(64,0)'::tid AND ctid <> '(0,3)'::tid",
        ),
    ],
)
def test_a_part_is_read_from_where_it_lies(chunk: Chunk, source: str) -> None:
    assert chunk_source(TABLE, chunk) == source
    assert select_statement(TABLE, ["v", "id"], chunk=chunk) == f'SELECT "id", "v" FROM {source}'
