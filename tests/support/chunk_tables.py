"""The tables that tests of incremental snapshots read, and the signal table; as the catalog describes them and as they are looked at."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from connector.emulation import DEFAULT
from connector.events.encoders import TableEncoder
from connector.incremental.chunk_query import chunk_order
from connector.incremental.state import Collection
from connector.incremental.target import Target
from connector.types.codec import Column

from .stream_rig import INT4, TEXT, TYPES, StreamRig, catalog_table

TABLES: Final = {
    name: catalog_table(name, Column("id", INT4, not_null=True), Column("v", TEXT), oid=6000 + number, primary_key=["id"])
    for number, name in enumerate(("a", "b"))
}
SIGNALS: Final = catalog_table(
    "sig", Column("id", TEXT, not_null=True), Column("type", TEXT), Column("data", TEXT), oid=6100, primary_key=["id"]
)


@cache
def compiled(name: str) -> tuple[TableEncoder, Any]:
    """The encoder of a table, and its source blocks."""
    rig = StreamRig(*TABLES.values(), SIGNALS)
    table = TABLES.get(name, SIGNALS)
    return rig.capture.encoder(table), rig.capture.source(table)


def target_of(collection: Collection) -> Target:
    """The table of ``collection`` (public.a, public.b) as a reader of chunks finds it."""
    table = TABLES[collection.name.removeprefix("public.")]
    order = chunk_order(table, ["id"], TYPES)
    return Target(collection, table, "", compiled(table.table)[0], frozenset({"id", "v"}), order, TYPES, DEFAULT, -1)
