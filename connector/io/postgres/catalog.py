"""Reads types, tables and keys from the catalog (PostgreSQL manual, part VII chapter 53). All names are passed as parameters."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

import psycopg

from connector.catalog.table import CatalogTable, looks_computed
from connector.io.postgres.char_type import letter
from connector.io.postgres.connection import Connection, source_error
from connector.types.codec import Column, TypeInfo

_TYPES: Final = """
select t.oid, t.typname, n.nspname, t.typtype, t.typcategory,
       case when t.typcategory = 'A' then t.typelem else 0 end, t.typbasetype, t.typtypmod,
       (select array_agg(e.enumlabel order by e.enumsortorder) from pg_catalog.pg_enum e where e.enumtypid = t.oid),
       n.nspname = any(current_schemas(true)),
       case when t.oid = 'pg_catalog.money'::regtype
            then length(regexp_replace(1::pg_catalog.money::text, '[^0-9]', '', 'g')) - 1 else 2 end
from pg_catalog.pg_type t join pg_catalog.pg_namespace n on n.oid = t.typnamespace
where (t.typrelid = 0 or (select c.relkind from pg_catalog.pg_class c where c.oid = t.typrelid) = 'c')
  and (n.nspname <> 'information_schema')
"""

_TABLES: Final = """
select c.oid, n.nspname, c.relname, c.relkind, c.relreplident, c.reltuples::float8,
       c.relkind = 'r' and c.relhassubclass
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and n.nspname !~ '^pg_(toast|temp)'
order by n.nspname collate "C", c.relname collate "C"
"""

_TABLE: Final = """
select c.oid, n.nspname, c.relname, c.relkind, c.relreplident, c.reltuples::float8,
       c.relkind = 'r' and c.relhassubclass
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = %s and c.relname = %s and c.relkind in ('r', 'p')
"""

# Given a table, pg_get_expr reads all its columns for each default, which takes 4 s for 11 tables of 1,600 columns. A default refers to no
# column, so no table is passed (0.4 s), but for generated columns, whose expression JDBC shows as the default.
_COLUMNS: Final = """
select a.attrelid, a.attname, a.atttypid, a.atttypmod,
       a.attnotnull or (t.typtype = 'd' and t.typnotnull),
       pg_catalog.pg_get_expr(d.adbin, case when a.attgenerated = '' then 0 else d.adrelid end), a.attgenerated,
       pg_catalog.col_description(a.attrelid, a.attnum)
from pg_catalog.pg_attribute a
join pg_catalog.pg_type t on t.oid = a.atttypid
left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = any(%s) and a.attnum > 0 and not a.attisdropped
order by a.attrelid, a.attnum
"""

# Unique indexes are in JDBC's order, which is by name; indexes on expressions cannot be keys. Key columns are in the order of the index,
# not of the table. JDBC includes the INCLUDE columns of a unique index, but not those of a primary key.
_KEYS: Final = """
select i.indrelid, i.indisprimary, ic.relname, a.attname, i.indpred is not null
from pg_catalog.pg_index i
join pg_catalog.pg_class ic on ic.oid = i.indexrelid
cross join lateral
    unnest(i.indkey[0:case when i.indisprimary then i.indnkeyatts else i.indnatts end - 1]) with ordinality as k(attnum, place)
join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
where i.indrelid = any(%s) and i.indisunique and i.indisvalid and not (0 = any(i.indkey::int2[]))
order by i.indrelid, not i.indisprimary, ic.relname collate "C", k.place
"""


async def read_types(connection: Connection) -> dict[int, TypeInfo]:
    """Return all types of the database by oid, without the row types of tables."""
    try:
        cursor = await connection.execute(_TYPES)
        rows = await cursor.fetchall()
    except psycopg.Error as error:
        raise source_error(error, "reading the types") from error
    return {
        oid: TypeInfo(oid, name, schema, letter(kind), letter(category), element, base, modifier, tuple(labels or ()), visible, digits)
        for oid, name, schema, kind, category, element, base, modifier, labels, visible, digits in rows
    }


async def list_tables(connection: Connection) -> list[CatalogTable]:
    """Return all tables, including partitioned ones, without columns and keys, sorted by schema and name."""
    try:
        cursor = await connection.execute(_TABLES)
        return [_table(row) for row in await cursor.fetchall()]
    except psycopg.Error as error:
        raise source_error(error, "listing the tables") from error


def _table(row: tuple[object, ...]) -> CatalogTable:
    oid, schema, table, kind, identity, estimate, inherited = row
    return CatalogTable(
        int(str(oid)),
        str(schema),
        str(table),
        (),
        kind=letter(kind),
        identity=letter(identity),
        estimate=int(float(str(estimate))),
        inherited=bool(inherited),
    )


async def read_table(connection: Connection, schema: str, table: str) -> CatalogTable | None:
    """Return one table by name, with its columns and keys; None if it does not exist."""
    try:
        cursor = await connection.execute(_TABLE, (schema, table))
        row = await cursor.fetchone()
    except psycopg.Error as error:
        raise source_error(error, f"reading table {schema}.{table}") from error
    return None if row is None else (await describe_tables(connection, [_table(row)]))[0]


async def describe_tables(connection: Connection, tables: Collection[CatalogTable]) -> list[CatalogTable]:
    """Return the same tables with their columns and keys. The number of queries does not depend on the number of tables."""
    oids = [table.oid for table in tables]
    columns: dict[int, list[Column]] = {oid: [] for oid in oids}
    primary: dict[int, list[str]] = {}
    unique: dict[int, list[str]] = {}
    first_index: dict[int, str] = {}
    partial: set[int] = set()
    try:
        cursor = await connection.execute(_COLUMNS, (oids,))
        for oid, name, type_oid, modifier, not_null, default, generated, comment in await cursor.fetchall():
            serial = default is not None and default.startswith("nextval(")
            columns[oid].append(Column(name, type_oid, modifier, not_null, default, serial, letter(generated), comment))
        cursor = await connection.execute(_KEYS, (oids,))
        keys = await cursor.fetchall()
        refused = {(oid, index) for oid, is_primary, index, name, _ in keys if not is_primary and looks_computed(name)}
        for oid, is_primary, index, name, has_condition in keys:
            if (oid, index) in refused:
                continue
            if is_primary:
                primary.setdefault(oid, []).append(name)
            elif first_index.setdefault(oid, index) == index:
                unique.setdefault(oid, []).append(name)
                if has_condition:
                    partial.add(oid)
    except psycopg.Error as error:
        raise source_error(error, "reading the columns and keys of the tables") from error
    return [
        replace(
            table,
            columns=tuple(columns[table.oid]),
            primary_key=tuple(primary.get(table.oid, ())),
            unique_key=tuple(unique.get(table.oid, ())),
            partial_key=table.oid in partial,
        )
        for table in tables
    ]
