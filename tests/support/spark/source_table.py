"""A source table as its topic would show it, for tests without one."""

from __future__ import annotations

from typing import Final

import psycopg

from workers.spark.source.catalog import connect_schema
from workers.spark.source.relation import table_columns
from workers.spark.tables.table import Column, Table
from workers.spark.types import kind_of

# As Debezium finds it: the primary key, else the first unique index by name whose parts are all columns.
_KEY: Final = """
select a.attname
from (
    select i.indrelid, i.indkey[0:case when i.indisprimary then i.indnkeyatts else i.indnatts end - 1] as parts
    from pg_index i join pg_class x on x.oid = i.indexrelid
    join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = %s and c.relname = %s and i.indisunique and i.indisvalid and not (0 = any(i.indkey::int2[]))
    order by not i.indisprimary, x.relname collate "C" limit 1
) k cross join lateral unnest(k.parts) with ordinality p(attnum, place)
join pg_attribute a on a.attrelid = k.indrelid and a.attnum = p.attnum
order by p.place
"""


def source_table(connection: psycopg.Connection, table: tuple[str, str]) -> Table | None:
    """The table as the default modes send it, for who has no topic to ask; None when there is no such table."""
    # Composite types are not sent by default.
    sent = [column for column in table_columns(connection, table) if column.kind != "c"]
    columns = tuple(Column(column.name, kind_of(connect_schema(column))) for column in sent)
    return Table(*table, columns, tuple(row[0] for row in connection.execute(_KEY, table).fetchall())) if columns else None
