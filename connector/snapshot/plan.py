"""The plan of a snapshot: its statements, and the markers of its records.

Pure: this module does not connect. Source: Debezium documentation, "Snapshots" and the ``snapshot.*`` properties.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from connector.catalog.identifiers import quote_identifier, quote_literal, quote_table
from connector.catalog.table import CatalogTable

_ISOLATION: Final = {
    "serializable": "ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE",
    "repeatable_read": "ISOLATION LEVEL REPEATABLE READ",
    "read_committed": "ISOLATION LEVEL READ COMMITTED",
    "read_uncommitted": "ISOLATION LEVEL READ UNCOMMITTED",
}


READ_ONLY: Final = "SET TRANSACTION READ ONLY"
"""No later statement of the transaction can revert this."""


def begin_statements(isolation: str, exported: str | None, *, read_only: bool = False) -> list[str]:
    """Return the statements that begin the snapshot's transaction.

    An exported snapshot requires REPEATABLE READ, so it ignores ``isolation``.
    """
    guard = [READ_ONLY] if read_only else []
    if exported is not None:
        return ["BEGIN ISOLATION LEVEL REPEATABLE READ", f"SET TRANSACTION SNAPSHOT {quote_literal(exported)}", *guard]
    return [f"BEGIN {_ISOLATION[isolation]}", *guard]


def lock_statements(locking: str, tables: Sequence[CatalogTable], timeout_ms: int) -> list[str]:
    """Return the statements that lock the tables. ``shared`` keeps their columns unchanged during the snapshot.

    The worker itself takes the locks of the mode ``custom``.
    """
    if locking == "custom":
        # The worker holds its locks during the snapshot; without a timeout a reader could wait for them forever.
        return [f"SET LOCAL lock_timeout = {timeout_ms}"]
    if locking != "shared" or not tables:
        return []
    return [
        f"SET LOCAL lock_timeout = {timeout_ms}",
        *(f"LOCK TABLE {quote_table(table.schema, table.table)} IN ACCESS SHARE MODE" for table in tables),
    ]


@dataclass(frozen=True, slots=True)
class Extent:
    """The rows of a table to read: the pages from ``first`` up to, not including, ``end`` (ctid ranges). If ``end`` is None, all pages.

    ``member`` (schema, table) is the only partition or child table to read. ``only`` is the ctid of the only row to read; ``without`` is
    the ctid of a row to leave out. A ctid requires an extent of one heap.
    """

    first: int = 0
    end: int | None = None
    last: bool = True
    member: tuple[str, str] | None = None
    only: str | None = None
    without: str | None = None


def select_statement(
    table: CatalogTable,
    columns: Collection[str],
    override: str | None = None,
    override_columns: Mapping[str, str] | None = None,
    extent: Extent | None = None,
) -> str:
    """Return the query for ``COPY (…) TO STDOUT`` with ``columns`` in the table's order.

    ``override`` is the user's own SELECT (``snapshot.select.statement.overrides.*``), and ``override_columns`` are expressions for the
    columns that it returns, by name. Other columns are NULL. The order of its rows is kept, because PostgreSQL does not reorder a subquery
    that is only projected.
    """
    if override is not None:
        given = override_columns or {}
        chosen = ", ".join(f"{given.get(c.name, 'NULL')} AS {quote_identifier(c.name)}" for c in table.columns if c.name in columns)
        return f"SELECT {chosen} FROM {_overridden(override)}"
    chosen = ", ".join(quote_identifier(c.name) for c in table.columns if c.name in columns)
    return f"SELECT {chosen} FROM {extent_source(table, extent or Extent())}"


def extent_source(table: CatalogTable, extent: Extent) -> str:
    """Return the FROM and WHERE clauses, without the word FROM, of a query for the rows of ``extent``."""
    source = quote_table(table.schema, table.table) if extent.member is None else f"ONLY {quote_table(*extent.member)}"
    conditions = []
    if extent.end is not None:
        conditions.append(f"ctid >= '({extent.first},0)'::tid")
        if not extent.last:
            conditions.append(f"ctid < '({extent.end},0)'::tid")
    if extent.only is not None:
        conditions.append(f"ctid = {quote_literal(extent.only)}::tid")
    if extent.without is not None:
        conditions.append(f"ctid <> {quote_literal(extent.without)}::tid")
    return source + (f" WHERE {' AND '.join(conditions)}" if conditions else "")


def override_columns_statement(override: str) -> str:
    """Return a statement for the columns of the user's SELECT without its rows. It fails unless ``override`` is one complete statement."""
    return f"SELECT * FROM {_overridden(override)} LIMIT 0"


_CLOSING: Final = "; \t\r\n\f"


def _overridden(override: str) -> str:
    """Return the user's SELECT as a subquery. The closing parenthesis is on the next line, because the SELECT may end with a comment."""
    return f"({override.strip().rstrip(_CLOSING)}\n) AS overridden"


def projected(table: CatalogTable, columns: Collection[str]) -> CatalogTable:
    """Return the table with only ``columns``, which are the columns of the rows of :func:`select_statement`."""
    return replace(table, columns=tuple(c for c in table.columns if c.name in columns))


def page_extents(pages: int, parts: int) -> list[Extent]:
    """Divide ``pages`` pages into ``parts`` ctid ranges of about the same size; the last range includes pages that are added later."""
    parts = max(1, min(parts, pages))
    if parts == 1:
        return [Extent()]
    edges = [pages * part // parts for part in range(parts + 1)]
    return [Extent(first, end, end == pages) for first, end in pairwise(edges)]


def marker(*, first: bool, last: bool, first_of_table: bool, last_of_table: bool) -> str:
    """Return ``source.snapshot`` of one record. As recorded, the snapshot's first and last record take precedence over a table's."""
    if last:
        return "last"
    if first:
        return "first"
    if last_of_table:
        return "last_in_data_collection"
    return "first_in_data_collection" if first_of_table else "true"


_ESCAPES: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def split_copy_line(line: bytes) -> list[bytes | None]:
    r"""Return the cells of a line of COPY's text format (PostgreSQL manual, COPY, "Text Format"); ``\N`` is None."""
    cells = line[:-1].split(b"\t")
    if b"\\" not in line:
        return cells  # type: ignore[return-value]
    return [None if cell == b"\\N" else _unescape(cell) if b"\\" in cell else cell for cell in cells]


def _unescape(cell: bytes) -> bytes:
    first, *rest = cell.split(b"\\\\")
    # The cell is split at pairs of backslashes, so each remaining backslash escapes the letter that follows it.
    return b"\\".join(_simple(part) for part in (first, *rest))


def _simple(part: bytes) -> bytes:
    if b"\\" not in part:
        return part
    head, *tails = part.split(b"\\")
    return head + b"".join(_ESCAPES.get(tail[:1], tail[:1]) + tail[1:] for tail in tails)
