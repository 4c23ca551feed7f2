"""How large tables are on disk, and which of them can be read in ranges of pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import psycopg

from connector.chunks import TableSize
from connector.io.pg_connection import Connection, source_error

# A range of ctid says something of one heap only: partitioned tables and parents of inheritance are several, and other access methods
# may number their rows as they like. Sizes are asked of the files, not of pg_class.relpages, which is as old as the last VACUUM.
_SIZES: Final = """
with recursive tree(root, member) as (
  select c.oid, c.oid from pg_catalog.pg_class c where c.oid = any(%s)
  union all
  select t.root, i.inhrelid from tree t join pg_catalog.pg_inherits i on i.inhparent = t.member
)
select t.root,
       case when count(*) = 1 and min(c.relkind) = 'r' and min(a.amname) = 'heap'
            then pg_catalog.pg_relation_size(t.root) / pg_catalog.current_setting('block_size')::bigint end,
       coalesce(sum(pg_catalog.pg_table_size(t.member)), 0)
from tree t join pg_catalog.pg_class c on c.oid = t.member left join pg_catalog.pg_am a on a.oid = c.relam
group by t.root
"""


async def table_sizes(connection: Connection, oids: Sequence[int]) -> list[TableSize]:
    """The sizes of the tables with these oids, in their order; a table that is gone has none."""
    try:
        cursor = await connection.execute(_SIZES, (list(oids),))
        found = {oid: TableSize(None if pages is None else int(pages), int(weight)) for oid, pages, weight in await cursor.fetchall()}
    except psycopg.Error as error:
        raise source_error(error, "asking for the sizes of the tables") from error
    return [found.get(oid, TableSize(None, 0)) for oid in oids]
