"""The initial snapshot as a plan: modes, statements, and the markers on its records.

Pure: nothing here connects. Debezium documentation, "Snapshots" and the ``snapshot.*`` properties.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from connector.errors import CdcError, ErrorKind
from connector.table import CatalogTable, quote_identifier, quote_literal, quote_table


@dataclass(frozen=True, slots=True)
class SnapshotMode:
    """A ``snapshot.mode`` taken apart."""

    name: str
    snapshot_data: bool
    stream: bool
    always: bool = False
    """Snapshot at every start."""
    when_needed: bool = False
    """Snapshot again when the offset's WAL is gone."""
    catch_up: bool = False
    """A snapshot that is taken again comes after the changes since the stored offset."""
    ask: Callable[[bool, bool], bool] | None = None
    """A user's snapshotter: given whether there is an offset, and one of a snapshot that broke off, it decides about the data."""

    def wants(self, *, offset: bool, broken: bool = False) -> bool:
        """Whether the rows are to be read when there is an ``offset``, and when it is of a ``broken`` snapshot."""
        if self.ask is not None:
            return self.ask(offset, broken)
        return self.snapshot_data and (self.always or broken or not offset)

    def wants_anew(self) -> bool:
        """Whether the rows are to be read because changes are lost: only a snapshotter may go on without them, as recorded."""
        return self.ask is None or self.ask(False, False)

    @classmethod
    def of(cls, mode: str, *, based_on: Mapping[str, bool] | None = None) -> SnapshotMode:
        """By name. ``based_on`` are the flags of configuration_based: data, stream, on_data_error."""
        if mode == "configuration_based":
            flags = based_on or {}
            return cls(mode, flags.get("data", False), flags.get("stream", False), when_needed=flags.get("on_data_error", False))
        try:
            return _MODES[mode]
        except KeyError:
            raise CdcError(
                ErrorKind.CONFIG_INVALID, f"Property snapshot.mode is {mode!r}", f"Use one of {', '.join(_MODES)}, configuration_based"
            ) from None


_MODES: Final = {
    mode.name: mode
    for mode in (
        SnapshotMode("always", snapshot_data=True, stream=True, always=True),
        SnapshotMode("initial", snapshot_data=True, stream=True),
        SnapshotMode("initial_only", snapshot_data=True, stream=False),
        SnapshotMode("no_data", snapshot_data=False, stream=True),
        SnapshotMode("when_needed", snapshot_data=True, stream=True, when_needed=True),
    )
}

MODE_NAMES: Final = (*_MODES, "configuration_based")
"""What :meth:`SnapshotMode.of` knows."""

_ISOLATION: Final = {
    "serializable": "ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE",
    "repeatable_read": "ISOLATION LEVEL REPEATABLE READ",
    "read_committed": "ISOLATION LEVEL READ COMMITTED",
    "read_uncommitted": "ISOLATION LEVEL READ UNCOMMITTED",
}


READ_ONLY: Final = "SET TRANSACTION READ ONLY"
"""Taken back by no later statement of the transaction."""


def begin_statements(isolation: str, exported: str | None, *, read_only: bool = False) -> list[str]:
    """How the snapshot's transaction begins; an exported snapshot needs REPEATABLE READ whatever ``isolation`` says."""
    guard = [READ_ONLY] if read_only else []
    if exported is not None:
        return ["BEGIN ISOLATION LEVEL REPEATABLE READ", f"SET TRANSACTION SNAPSHOT {quote_literal(exported)}", *guard]
    return [f"BEGIN {_ISOLATION[isolation]}", *guard]


def lock_statements(locking: str, tables: Sequence[CatalogTable], timeout_ms: int) -> list[str]:
    """``snapshot.locking.mode=shared`` keeps the tables' shape for the time of the snapshot; ``custom`` locks are the worker's."""
    if locking == "custom":
        # A reader that waits for what the worker has locked would wait for ever.
        return [f"SET LOCAL lock_timeout = {timeout_ms}"]
    if locking != "shared" or not tables:
        return []
    return [
        f"SET LOCAL lock_timeout = {timeout_ms}",
        *(f"LOCK TABLE {quote_table(table.schema, table.table)} IN ACCESS SHARE MODE" for table in tables),
    ]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a table: pages from ``first`` to before ``end`` (ctid ranges); the whole table when ``end`` is None.

    ``member`` (schema, table) is the partition or child that alone is read in the table's place. ``only`` and ``without`` are a row's
    ctid: nothing but this row, or all others. Where one of the two is given the part must be of one heap.
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
    override_columns: Collection[str] = (),
    chunk: Chunk | None = None,
) -> str:
    """The query for ``COPY (…) TO STDOUT`` over ``columns`` in the table's order.

    ``override`` is the user's own SELECT (``snapshot.select.statement.overrides.*``); columns it does not give are NULL. Its
    order of rows is kept: a subquery that is only projected is not reordered.
    """
    if override is not None:
        chosen = ", ".join(
            quote_identifier(c.name) if c.name in override_columns else f"NULL AS {quote_identifier(c.name)}"
            for c in table.columns
            if c.name in columns
        )
        return f"SELECT {chosen} FROM {_overridden(override)}"
    chosen = ", ".join(quote_identifier(c.name) for c in table.columns if c.name in columns)
    return f"SELECT {chosen} FROM {chunk_source(table, chunk or Chunk())}"


def chunk_source(table: CatalogTable, chunk: Chunk) -> str:
    """What follows FROM in a query over the rows of ``chunk``."""
    source = quote_table(table.schema, table.table) if chunk.member is None else f"ONLY {quote_table(*chunk.member)}"
    conditions = []
    if chunk.end is not None:
        conditions.append(f"ctid >= '({chunk.first},0)'::tid")
        if not chunk.last:
            conditions.append(f"ctid < '({chunk.end},0)'::tid")
    if chunk.only is not None:
        conditions.append(f"ctid = {quote_literal(chunk.only)}::tid")
    if chunk.without is not None:
        conditions.append(f"ctid <> {quote_literal(chunk.without)}::tid")
    return source + (f" WHERE {' AND '.join(conditions)}" if conditions else "")


def override_columns_statement(override: str) -> str:
    """The user's SELECT without its rows: tells its columns, and that the server takes it for one statement."""
    return f"SELECT * FROM {_overridden(override)} LIMIT 0"


_CLOSING: Final = "; \t\r\n\f"


def _overridden(override: str) -> str:
    """The user's SELECT without its closing semicolons. It may end with a comment: the parenthesis stands on the next line."""
    return f"({override.strip().rstrip(_CLOSING)}\n) AS overridden"


def projected(table: CatalogTable, columns: Collection[str]) -> CatalogTable:
    """The table with only ``columns``: the shape of the rows that :func:`select_statement` gives."""
    return replace(table, columns=tuple(c for c in table.columns if c.name in columns))


def page_chunks(pages: int, parts: int) -> list[Chunk]:
    """``pages`` of a table in ``parts`` ranges of ctid of about the same size; the last one takes what was added since."""
    parts = max(1, min(parts, pages))
    if parts == 1:
        return [Chunk()]
    edges = [pages * part // parts for part in range(parts + 1)]
    return [Chunk(first, end, end == pages) for first, end in pairwise(edges)]


def marker(*, first: bool, last: bool, first_of_table: bool, last_of_table: bool) -> str:
    """``source.snapshot`` of one record, as recorded: the whole snapshot's ends count more than a table's."""
    if last:
        return "last"
    if first:
        return "first"
    if last_of_table:
        return "last_in_data_collection"
    return "first_in_data_collection" if first_of_table else "true"


_ESCAPES: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def split_copy_line(line: bytes) -> list[bytes | None]:
    r"""A line of COPY's text format (PostgreSQL manual, COPY, "Text Format") as cells; ``\N`` is None."""
    cells = line[:-1].split(b"\t")
    if b"\\" not in line:
        return cells  # type: ignore[return-value]
    return [None if cell == b"\\N" else _unescape(cell) if b"\\" in cell else cell for cell in cells]


def _unescape(cell: bytes) -> bytes:
    first, *rest = cell.split(b"\\\\")
    # Backslash pairs split the cell, so that each backslash left escapes the letter after it.
    return b"\\".join(_simple(part) for part in (first, *rest))


def _simple(part: bytes) -> bytes:
    if b"\\" not in part:
        return part
    head, *tails = part.split(b"\\")
    return head + b"".join(_ESCAPES.get(tail[:1], tail[:1]) + tail[1:] for tail in tails)
