"""The members and sizes of a bulk snapshot's tables, from the catalog and the sizes of the files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import psycopg

from connector.io.postgres.connection import Connection, source_error
from workers.bulk.parts import DiskLayout, Member

# pg_class.relpages is as old as the last VACUUM, so the sizes of the files are used.
_MEMBERS: Final = """
with recursive tree(root, member) as (
  select c.oid, c.oid from pg_catalog.pg_class c where c.oid = any(%s)
  union all
  select t.root, i.inhrelid from tree t join pg_catalog.pg_inherits i on i.inhparent = t.member
)
select t.root, t.member, n.nspname, c.relname, c.relkind::text,
       case when c.relkind = 'r' and a.amname = 'heap'
            then pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::bigint end,
       coalesce(pg_catalog.pg_table_size(c.oid), 0),
       c.relrowsecurity or not pg_catalog.has_table_privilege(c.oid, 'SELECT') or not pg_catalog.has_schema_privilege(n.oid, 'USAGE')
from tree t join pg_catalog.pg_class c on c.oid = t.member join pg_catalog.pg_namespace n on n.oid = c.relnamespace
left join pg_catalog.pg_am a on a.oid = c.relam
order by t.root, n.nspname collate "C", c.relname collate "C"
"""


_RANGES_SINCE: Final = 140000
"""The first version that reads a range of ctid without reading the whole table (PostgreSQL 14's release notes, "TID range scans")."""


async def table_layouts(connection: Connection, oids: Sequence[int]) -> list[DiskLayout]:
    """The layouts of the tables with these oids, in their order. A dropped table has no members. Raises CdcError."""
    try:
        cursor = await connection.execute(_MEMBERS, (list(oids),))
        rows = await cursor.fetchall()
    except psycopg.Error as error:
        raise source_error(error, "asking for the sizes of the tables") from error
    found: dict[int, list[tuple[int, Member, str, bool]]] = {}
    for root, member, schema, table, kind, pages, weight, apart in rows:
        whole = pages is None or connection.info.server_version < _RANGES_SINCE
        one = Member(schema, table, None if whole else int(pages), int(weight))
        found.setdefault(root, []).append((member, one, kind, bool(apart)))
    return [_layout(oid, found.get(oid, [])) for oid in oids]


def _layout(oid: int, tree: Sequence[tuple[int, Member, str, bool]]) -> DiskLayout:
    weight = sum(member.weight for _, member, _, _ in tree)
    if [number for number, *_ in tree] == [oid] and tree[0][2] == "r":
        return DiskLayout((tree[0][1],), weight, plain=True)
    members = [member for _, member, kind, _ in tree if kind != "p"]
    if any(apart for *_, apart in tree):
        # The parent may show other rows than its members do.
        return DiskLayout((), weight, plain=False)
    # Heaps come first, because the ctid identifies their first row.
    members.sort(key=lambda member: member.pages is None)
    return DiskLayout(tuple(members), weight, plain=False)
