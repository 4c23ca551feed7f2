"""A snapshot of a source table that many readers share, and its rows, read by Spark's JDBC source.

A connection holds a transaction open and exports its snapshot (PostgreSQL manual, "Snapshot Synchronization Functions"); each
of Spark's tasks imports it before it reads its range of pages. The tasks read through a cursor and do not hold a range in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import psycopg
from psycopg import sql
from pyspark.sql import DataFrame, SparkSession

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.source.jdbc import jdbc_access
from workers.spark.source.relation import SETTINGS
from workers.spark.tables.table import Column

FETCH_ROWS: Final = 2000
"""Rows that a task fetches at a time."""
LEAST_PAGES: Final = 256
MOST_PAGES: Final = 16384
"""The most pages of a range by default: 2 MB to 128 MB."""
FEW_PAGES: Final = 1000
"""See :func:`all_small`. In 8 MB are about 100,000 rows of three short columns."""
TID_RANGES_SINCE: Final = 140000
"""The first server version that reads a range of ctid without reading the rest of the table."""

# The leaves of a partitioned table, which hold its rows. Ranges of ctid are valid for heaps only: other access methods may
# number rows differently, and a foreign table's rows are on another server.
_LEAVES: Final = """
with recursive tree as (
    select c.oid, c.relkind from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = %s and c.relname = %s
    union all
    select c.oid, c.relkind from tree t join pg_inherits i on t.relkind = 'p' and i.inhparent = t.oid join pg_class c on c.oid = i.inhrelid
)
select n.nspname, c.relname, a.amname is not distinct from 'heap',
       coalesce(pg_relation_size(c.oid), 0) / current_setting('block_size')::int, has_table_privilege(c.oid, 'select')
from tree t join pg_class c on c.oid = t.oid join pg_namespace n on n.oid = c.relnamespace left join pg_am a on a.oid = c.relam
where t.relkind in ('r', 'f') order by c.oid
"""
_POSITION: Final = """
select pg_export_snapshot(),
       (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end - '0/0')::bigint
"""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A relation that holds rows of the table: its name, and its number of pages if it can be read in ranges of pages."""

    name: tuple[str, str]
    heap: bool
    pages: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A view of ``table`` that does not change while it is held.

    Other transactions import ``name``. All commits that the view shows are at or before ``position``, an LSN as a number.
    ``access`` are the JDBC options that reach the server, ``version`` is the server's as a number (180003 is 18.3).
    """

    table: tuple[str, str]
    name: str
    position: int
    leaves: Sequence[Leaf]
    access: dict[str, str] = field(repr=False)
    version: int
    connection: psycopg.Connection


@contextmanager
def exported_snapshot(dsn: str, table: tuple[str, str]) -> Iterator[Snapshot]:
    """Hold a snapshot of the table. Until the end the table can be written, but not truncated, altered or dropped.

    Raises JobError(UNREADABLE) for an unknown table, and psycopg's errors.
    """
    with psycopg.connect(dsn) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        # The lock precedes the snapshot, because TRUNCATE and a rewrite of the table ignore snapshots.
        try:
            connection.execute(sql.SQL("lock table {} in access share mode").format(sql.Identifier(*table)))
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName, psycopg.errors.WrongObjectType) as error:
            raise JobError(UNREADABLE, f"The source has no table {'.'.join(table)}: see its name and the dsn's database.") from error
        for name, value in SETTINGS:
            connection.execute("select set_config(%s, %s, false)", (name, value))
        exported, position = connection.execute(_POSITION).fetchall()[0]
        leaves = _leaves(connection, table)
        version = connection.info.server_version
        yield Snapshot(table, str(exported), int(position), leaves, jdbc_access(connection), version, connection)


def _leaves(connection: psycopg.Connection, table: tuple[str, str]) -> list[Leaf]:
    found = connection.execute(_LEAVES, table).fetchall()
    if not found or not all(readable for *_, readable in found):
        # The table has no leaves, or the role may read the table but not each leaf: the whole table is one range.
        return [Leaf(table, heap=False, pages=0)]
    return [Leaf((schema, name), heap, int(pages)) for schema, name, heap, pages, _ in found]


def all_small(dsn: str, tables: Iterable[tuple[str, str]]) -> bool:
    """Whether each of the source's tables is known to have at most :data:`FEW_PAGES` pages. Raises psycopg's errors."""
    with psycopg.connect(dsn) as connection:
        found = [_leaves(connection, table) for table in tables]
    return all(leaf.heap for leaves in found for leaf in leaves) and all(
        sum(leaf.pages for leaf in leaves) <= FEW_PAGES for leaves in found
    )


def ranges(leaves: Sequence[Leaf], pages: int) -> list[str]:
    """Conditions that divide the leaves into ranges of ``pages`` pages. Each row is in exactly one range. Pure.

    The last range of a leaf has no end, so that an outdated number of pages does no harm.
    """
    found = []
    for number, leaf in enumerate(leaves):
        starts = range(0, max(leaf.pages, 1), max(pages, 1)) if leaf.heap else range(1)
        for start in starts:
            parts = [f'"#leaf" = {number}']
            if start:
                parts.append(f"\"#ctid\" >= '({start},0)'::tid")
            if start != starts[-1]:
                parts.append(f"\"#ctid\" < '({start + starts.step},0)'::tid")
            found.append(" and ".join(parts))
    return found


def range_pages(snapshot: Snapshot, parallelism: int, partitions: int | None) -> int:
    """The pages of a range for ``partitions`` ranges, or, when that is None, for ``parallelism`` tasks at a time. Pure."""
    total = sum(leaf.pages for leaf in snapshot.leaves)
    even = -(-total // max(partitions or parallelism, 1))
    if partitions is not None:
        return max(even, 1)
    if snapshot.version < TID_RANGES_SINCE:
        return max(even, LEAST_PAGES)
    return min(max(even, LEAST_PAGES), MOST_PAGES)


def read_texts(spark: SparkSession, snapshot: Snapshot, columns: Sequence[Column], partitions: int | None = None) -> DataFrame:
    """All rows of the snapshot as PostgreSQL's text (see :attr:`Kind.sql`): columns ``c0``, ``c1``, … in the order of ``columns``.

    Lazy: the snapshot must be held until the last action on the frame is done.
    """
    reader = spark.read.format("jdbc")
    pages = range_pages(snapshot, spark.sparkContext.defaultParallelism, partitions)
    access = {**snapshot.access, "sessionInitStatement": _entrance(snapshot.name), "fetchsize": str(FETCH_ROWS)}
    url = access.pop("url")
    rows = reader.jdbc(url, _rows(snapshot, columns), predicates=ranges(snapshot.leaves, pages), properties=access)
    return rows.select(*(f"c{at}" for at in range(len(columns))))


def _entrance(name: str) -> str:
    """A task's first statements. The driver has opened a transaction because of the fetch size; it has no snapshot yet."""
    return "; ".join(
        [
            "set transaction isolation level repeatable read, read only",
            f"set transaction snapshot '{name}'",
            *(f"set {name} to '{value}'" for name, value in SETTINGS),
        ]
    )


def _rows(snapshot: Snapshot, columns: Sequence[Column]) -> str:
    """The leaves' rows as one subquery. A condition on ``#leaf`` selects one leaf, because the planner folds constants."""
    branches = []
    for number, leaf in enumerate(snapshot.leaves):
        items = [f'{number} as "#leaf"', 'ctid as "#ctid"' if leaf.heap else 'null::tid as "#ctid"']
        for at, column in enumerate(columns):
            quoted = sql.Identifier(column.name).as_string(snapshot.connection)
            items.append(f"{column.kind.sql.replace('{c}', quoted)} as c{at}")
        # A parent table of inheritance has only its own rows: the changes of its children are in the children's topics.
        only = "only " if leaf.heap else ""
        branches.append(f"select {', '.join(items)} from {only}{sql.Identifier(*leaf.name).as_string(snapshot.connection)}")
    return f"({' union all '.join(branches)}) as source"
