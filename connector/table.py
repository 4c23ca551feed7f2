"""A captured table: what the catalog and the publication say of it, joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from connector.name_matcher import Matcher
from connector.pgoutput import UNTOLD_MODIFIER, Relation
from connector.types.codec import Column


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table as the catalog describes it at one moment.

    ``primary_key`` and ``unique_key`` (the first unique index over plain columns) are in index order. ``kind`` is relkind.
    """

    oid: int
    schema: str
    table: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique_key: tuple[str, ...] = ()
    kind: str = "r"
    identity: str = "d"
    estimate: int = -1
    """Rows as the planner estimates them (pg_class.reltuples), -1 when never analysed."""
    streamed: bool = False
    """The columns are a RELATION message's: the reference sees some types otherwise then."""

    @property
    def name(self) -> str:
        """``schema.table``, as filters and logs name it."""
        return f"{self.schema}.{self.table}"


def join_relation(relation: Relation, catalog: CatalogTable | None) -> CatalogTable:
    """The table as its changes arrive: the relation's columns and types, with what only the catalog knows.

    The catalog may already be ahead of the stream, or the table gone: a column it does not know is optional and has
    no default, a key column the relation does not have leaves the key (as the reference does).
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
        identity=relation.identity,
        streamed=True,
    )


def same_shape(relation: Relation, table: CatalogTable) -> bool:
    """Whether the relation's columns are those the table already had, in name, type and order."""
    if len(relation.columns) != len(table.columns):
        return False
    return all(
        (told.name, told.type_oid) == (known.name, known.type_oid) and told.modifier in (known.modifier, UNTOLD_MODIFIER)
        for told, known in zip(relation.columns, table.columns, strict=True)
    )


def key_columns(table: CatalogTable, rules: Sequence[Matcher]) -> tuple[str, ...]:
    """The key's columns in order.

    By ``message.key.columns``, else the primary key, else the first unique index, else none. Each rule matches whole names of
    columns (schema.table.column); all rules count in their order, and one that matches nothing counts for nothing.
    """
    chosen = dict.fromkeys(column.name for rule in rules for column in table.columns if rule(f"{table.name}.{column.name}"))
    return tuple(chosen) or table.primary_key or table.unique_key


def former_key(relation: Relation, table: CatalogTable) -> tuple[str, ...]:
    """The primary key that the relation's rows have, in the order of columns, where ``table`` has another one; empty where it has not.

    Replica identity DEFAULT marks the key's columns in the message (PostgreSQL manual, 55.9). Where none is marked nothing is told: such a
    table has no key, or a deferrable one.
    """
    marked = tuple(column.name for column in relation.columns if column.key)
    return marked if relation.identity == "d" and set(marked) != set(table.primary_key) else ()


def quote_identifier(name: str) -> str:
    """``name`` as SQL wants it, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def quote_table(schema: str, table: str) -> str:
    """``"schema"."table"``."""
    return f"{quote_identifier(schema)}.{quote_identifier(table)}"


def quote_literal(text: str) -> str:
    """A string constant for commands that take no parameters (replication commands, ``SET``)."""
    return "'" + text.replace("'", "''") + "'"


def case_duplicates(columns: Sequence[Column]) -> list[str]:
    """Names of columns that differ from another only by case: the reference refuses such tables."""
    seen: dict[str, str] = {}
    found = []
    for column in columns:
        if column.name.lower() in seen:
            found += [seen[column.name.lower()], column.name]
        seen[column.name.lower()] = column.name
    return found
