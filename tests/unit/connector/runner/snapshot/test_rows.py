"""The query over a part of a table that a bulk snapshot reads."""

from __future__ import annotations

import pytest

from connector.catalog.table import CatalogTable
from connector.snapshot.plan import Extent, extent_source, select_statement
from connector.types.codec import Column

TABLE = CatalogTable(1, "public", "orders", (Column("id", 20, not_null=True), Column("v", 25)))


@pytest.mark.parametrize(
    ("extent", "source"),
    [
        (Extent(), '"public"."orders"'),
        (Extent(64, 128, False), "\"public\".\"orders\" WHERE ctid >= '(64,0)'::tid AND ctid < '(128,0)'::tid"),
        (Extent(128, 192), '"public"."orders" WHERE ctid >= \'(128,0)\'::tid'),
        (Extent(member=("p", 'o"1')), 'ONLY "p"."o""1"'),
        (Extent(only="(0,3)"), '"public"."orders" WHERE ctid = \'(0,3)\'::tid'),
        (
            Extent(0, 64, False, ("p", "o1"), without="(0,3)"),
            "ONLY \"p\".\"o1\" WHERE ctid >= '(0,0)'::tid AND ctid < '(64,0)'::tid AND ctid <> '(0,3)'::tid",
        ),
    ],
)
def test_a_part_is_read_from_where_it_lies(extent: Extent, source: str) -> None:
    assert extent_source(TABLE, extent) == source
    assert select_statement(TABLE, ["v", "id"], extent=extent) == f'SELECT "id", "v" FROM {source}'
