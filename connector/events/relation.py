"""A RELATION message joined with the catalog's description of its table (PostgreSQL manual, 55.9)."""

from __future__ import annotations

from dataclasses import replace

from connector.catalog.table import CatalogTable
from connector.types.codec import Column
from connector.wire.pgoutput import UNTOLD_IDENTITY, UNTOLD_MODIFIER, Relation


def join_relation(relation: Relation, catalog: CatalogTable | None) -> CatalogTable:
    """Return the relation's table: its columns and types, with the facts that only the catalog has.

    The catalog may be ahead of the stream, and the table may have been dropped. As in Debezium, a column that the catalog does not have is
    optional and has no default, and a key column that the relation does not have is removed from the key.
    """
    known = {column.name: column for column in catalog.columns} if catalog else {}
    columns = []
    for published in relation.columns:
        facts = known.get(published.name) or Column(published.name, published.type_oid)
        modifier = facts.modifier if published.modifier == UNTOLD_MODIFIER else published.modifier
        not_null = facts.not_null if published.not_null is None else published.not_null
        columns.append(replace(facts, type_oid=published.type_oid, modifier=modifier, not_null=not_null))
    names = {column.name for column in columns}
    base = catalog or CatalogTable(relation.oid, relation.schema, relation.table, ())
    return replace(
        base,
        oid=relation.oid,
        schema=relation.schema,
        table=relation.table,
        columns=tuple(columns),
        primary_key=tuple(name for name in base.primary_key if name in names),
        unique_key=tuple(name for name in base.unique_key if name in names),
        identity=base.identity if relation.identity == UNTOLD_IDENTITY else relation.identity,
        streamed=True,
    )


def same_shape(relation: Relation, table: CatalogTable) -> bool:
    """Return whether the relation and ``table`` have the same columns: names, types and order."""
    if len(relation.columns) != len(table.columns):
        return False
    return all(
        (sent.name, sent.type_oid) == (known.name, known.type_oid) and sent.modifier in (known.modifier, UNTOLD_MODIFIER)
        for sent, known in zip(relation.columns, table.columns, strict=True)
    )


def former_key(relation: Relation, table: CatalogTable) -> tuple[str, ...]:
    """Return the primary key of the relation's rows, in column order, if it differs from the key of ``table``; else an empty tuple.

    Under replica identity DEFAULT the message marks the key's columns (PostgreSQL manual, 55.9). If it marks no column, the table may have
    no key or a deferrable one, and the result is empty.
    """
    marked = tuple(column.name for column in relation.columns if column.key)
    return marked if relation.identity == "d" and set(marked) != set(table.primary_key) else ()
