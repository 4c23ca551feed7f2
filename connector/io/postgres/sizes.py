"""Reads the sizes of tables on disk, and whether they can be read in ranges of pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import psycopg

from connector.io.postgres.connection import Connection, source_error
from connector.snapshot.parts import TableSize

# A ctid range applies to one heap only. Partitioned tables and inheritance parents consist of several heaps, and other access methods may
# use ctid differently. The sizes are those of the files, because pg_class.relpages is only as recent as the last VACUUM.
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
    """Return the sizes of the tables with these oids, in their order. A dropped table has no pages and weight 0."""
    try:
        cursor = await connection.execute(_SIZES, (list(oids),))
        found = {oid: TableSize(None if pages is None else int(pages), int(weight)) for oid, pages, weight in await cursor.fetchall()}
    except psycopg.Error as error:
        raise source_error(error, "asking for the sizes of the tables") from error
    return [found.get(oid, TableSize(None, 0)) for oid in oids]
