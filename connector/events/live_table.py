"""A captured table while its changes stream: its encoder, the rows that wait to be encoded together, and the open window on it."""

from __future__ import annotations

from collections.abc import Sequence

from connector.catalog.table import row_places
from connector.delivery.row_run import row_taker
from connector.events.encoders import TableEncoder
from connector.events.envelope import SourceText, TableSource
from connector.events.reselect import Reselection
from connector.meters.stream_meter import OperationCounts
from connector.ports import ChangeWindow, Out
from connector.wire.pgoutput import UNCHANGED
from connector.wire.tuple_splitter import splitter


class LiveTable:
    """One captured table of the stream.

    Changes without an old row are collected in a run and encoded together (:attr:`connector.events.encoders.TableEncoder.created`).
    A run ends at the end of the burst, or before another kind of change of the table. Each topic therefore keeps its order, and no
    change waits longer than its burst.
    """

    __slots__ = (
        "counts",
        "direct",
        "encoder",
        "ends",
        "epoch",
        "lsns",
        "nulls",
        "out",
        "reselections",
        "row_at",
        "rows",
        "run_updates",
        "signals",
        "source",
        "split",
        "text",
        "texts",
        "window",
    )

    def __init__(
        self,
        encoder: TableEncoder,
        source: TableSource,
        out: Out,
        *,
        signals: bool = False,
        reselections: Sequence[Reselection] = (),
    ) -> None:
        self.counts = OperationCounts()
        """The table's events. The stream that adopts the table puts its own counts of that name here."""
        self.encoder = encoder
        self.source = source
        self.out = out
        self.split = splitter(len(encoder.table.columns))
        """Splits the rows of its messages."""
        self.direct = row_taker(out, encoder)
        """Takes runs as cells where the connector's converters can write them without the event's JSON."""
        self.epoch = -1
        """The number of the source facts from which ``text`` was made."""
        self.text: SourceText | None = None
        self.rows: list[list[bytes | None]] = []
        self.lsns: list[bytes] = []
        self.texts: list[SourceText] = []
        self.ends: list[bytes] = []
        """``rows``, ``lsns``, ``texts`` and ``ends`` have one entry for each row of the run: its cells, its LSN, its source block, and the
        end of the event after the source block."""
        self.run_updates = 0
        """How many rows of the run are updates; the others are inserts."""
        self.nulls = 0
        self.signals = signals
        """Whether this is the signal table."""
        self.reselections = tuple(reselections)
        """The rules that read values of its rows again, in the order of their application."""
        self.row_at = row_places(encoder.table, encoder.key_at)
        """Places of the cells by which an open window identifies a row."""
        self.window: ChangeWindow | None = None
        """The window of an incremental snapshot's chunk, while it is open on this table."""

    def alike(self, other: LiveTable) -> bool:
        """Whether both have the same columns, the same record key and the same window key."""
        here, there = self.encoder, other.encoder
        return here.table.columns == there.table.columns and here.key_at == there.key_at and self.row_at == other.row_at

    def changed(self, cells: Sequence[bytes | None], old: Sequence[bytes | None] = ()) -> None:
        """Report a changed row to the open window. A cell that was not sent has its value in the ``old`` row."""
        if self.window is not None:
            self.window.changed(tuple((old[at] if old else None) if cells[at] is UNCHANGED else cells[at] for at in self.row_at))
