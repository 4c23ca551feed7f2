"""What records a change of a captured table makes, and how they are encoded.

Knows no positions and no order of messages: :mod:`connector.stream` says which change comes when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from connector.encoders import HEAD, TableEncoder
from connector.envelope import PRESENT, EventForm, SourceFacts, SourceText, TableSource
from connector.errors import CdcError, ErrorKind
from connector.messages import MessageTopic
from connector.pgoutput import DELETE, HAS_NULL, HAS_UNCHANGED, INSERT, NEW_TUPLE, OLD_TUPLE, UNCHANGED, UPDATE, Message, split_tuple
from connector.ports import Out
from connector.reselect import Reread, Reselection
from connector.transactions import MESSAGES, TransactionLog
from connector.window import Window, row_places

_NO_BEFORE: Final = b'{"before":null,"after":null'


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """What the configuration decides about events. ``skipped`` holds letters of ``skipped.operations``."""

    tombstones: bool = True
    skipped: frozenset[str] = frozenset("t")
    headers: bytes = b"\0"
    """The headers of every record, encoded."""
    key_change_headers: Callable[[bytes, str], bytes] = lambda _key, _name: b"\0"
    """Given the other key's JSON and the header's name (newkey, oldkey): all headers of such a record, encoded."""
    conversion_failure: str = "warn"
    """``event.converting.failure.handling.mode``: warn, skip (null, silently) or fail."""
    processing_failure: str = "fail"
    """``event.processing.failure.handling.mode``: an event that cannot be made fails the task, or is left out: told of
    (warn) or silently (skip, ignore)."""
    form: EventForm = PRESENT
    pgoutput_names: bool = True
    """Names come from pgoutput itself, which Debezium 2.3.4 misread; those of other plugins it read well."""
    skip_unchanged: bool = False
    """``skip.messages.without.change``: leave out updates that change nothing shown, where the server sends whole old rows."""


class LiveTable:
    """A captured table while its changes stream.

    Changes without an old row wait in a run until the burst ends or another change of the table comes, and are encoded
    together (:attr:`connector.encoders.TableEncoder.created`): topics keep their order, and nothing waits longer than its burst.
    """

    __slots__ = (
        "encoder",
        "ends",
        "epoch",
        "lsns",
        "nulls",
        "out",
        "reselections",
        "row_at",
        "rows",
        "signals",
        "source",
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
        self.encoder = encoder
        self.source = source
        self.out = out
        self.epoch = -1
        """Number of the facts that ``text`` was made of."""
        self.text: SourceText | None = None
        self.rows: list[list[bytes | None]] = []
        self.lsns: list[bytes] = []
        self.texts: list[SourceText] = []
        self.ends: list[bytes] = []
        """Of each row of the run: cells, LSN, source block, and what follows that in the event."""
        self.nulls = 0
        self.signals = signals
        """Its rows are signals."""
        self.reselections = tuple(reselections)
        """What is read again of its rows, in this order."""
        self.row_at = row_places(encoder.table, encoder.key_at)
        """Places of the cells that an open window knows a row by."""
        self.window: Window[Any] | None = None
        """Of the incremental snapshot's chunk, while it is open on this table."""

    def alike(self, other: LiveTable) -> bool:
        """Whether rows and keys of both are made of the same columns."""
        here, there = self.encoder, other.encoder
        return here.table.columns == there.table.columns and here.key_at == there.key_at and self.row_at == other.row_at

    def changed(self, cells: Sequence[bytes | None], old: Sequence[bytes | None] = ()) -> None:
        """Tell the open window of a change's row; a cell that was not sent has its old value, or the key's own tuple has it."""
        if self.window is not None:
            self.window.changed(tuple((old[at] if old else None) if cells[at] is UNCHANGED else cells[at] for at in self.row_at))


class _End:
    """What follows the source block of one operation's events in one burst."""

    __slots__ = ("after", "before", "plain")

    def __init__(self, form: EventForm, op: bytes, now_ns: int) -> None:
        self.before, self.after = form.around_transaction(op, now_ns)
        """Around the transaction block."""
        self.plain = self.before + b"null" + self.after


class _Held:
    """A row whose event waits until what it misses has been read again."""

    __slots__ = ("cells", "finish", "left", "lsn", "shown", "table")

    def __init__(
        self, table: LiveTable, lsn: int, cells: Sequence[bytes | None], finish: Callable[[list[bytes | None], CdcError | None], None]
    ) -> None:
        self.table = table
        self.lsn = lsn
        self.cells = cells
        self.shown = list(cells)
        """The same, completed so far."""
        self.left = list(table.reselections)
        self.finish = finish
        """Makes the event of what is shown then; a failure takes its place."""


class ChangeWriter:
    """Appends the records of changes to their tables' outs.

    ``on_conversion_failure(table, column, reason)`` is told of values sent as null, ``on_event_failure(table, lsn, reason)`` of
    events left out. A change whose event cannot be made raises CdcError(VALUE) unless the settings let it go; none of its
    records has been appended then.
    """

    def __init__(
        self,
        settings: StreamSettings,
        *,
        on_conversion_failure: Callable[[str, str, str], None],
        on_event_failure: Callable[[str, int, str], None],
        transactions: TransactionLog | None = None,
        messages: MessageTopic | None = None,
    ) -> None:
        self._settings = settings
        self._on_conversion_failure = on_conversion_failure
        self._on_event_failure = on_event_failure
        self._transactions = transactions
        self._messages = messages
        self._counts_messages = transactions if not settings.form.former else None
        self._facts = SourceFacts(0, None, None)
        self._epoch = 0
        self._now_ms = 0
        self._create = self._update_end = self._delete_end = self._truncate_end = _End(settings.form, b"c", 0)
        self.runs: list[LiveTable] = []
        """Tables with a run, in the order of their first rows."""
        self.records = 0
        """Records made."""
        self.asked: Reread | None = None
        """A row to be read again, and answered, before the next change is told."""
        self._held: _Held | None = None

    def burst(self, now_ns: int) -> bytes:
        """Events made from now on have this time (since 1970). Answers the end of a create event without transaction block.

        One reading serves a burst: formatting three numbers per event would cost 0.25 µs more on its 7.
        """
        form = self._settings.form
        self._create, self._update_end = _End(form, b"c", now_ns), _End(form, b"u", now_ns)
        self._delete_end, self._truncate_end = _End(form, b"d", now_ns), _End(form, b"t", now_ns)
        self._now_ms = now_ns // 1_000_000
        if self._transactions is not None:
            self._transactions.burst(self._now_ms)
        return self._create.plain

    def enter(self, facts: SourceFacts) -> None:
        """Source blocks say this from now on."""
        self._facts = facts
        self._epoch += 1

    def text(self, table: LiveTable) -> SourceText:
        """The table's source block as of now."""
        text = table.text
        if text is None or table.epoch != self._epoch:
            table.text = text = SourceText(table.source, self._facts)
            table.epoch = self._epoch
        return text

    def change(self, tag: int, table: LiveTable, frame: bytes, lsn: int) -> None:
        """An INSERT, UPDATE or DELETE of ``table`` at ``lsn``."""
        try:
            if tag == INSERT:
                self._insert(table, frame, lsn)
            elif tag == UPDATE:
                self._update(table, frame, lsn)
            elif tag == DELETE:
                self._delete(table, frame, lsn)
        except (CdcError, ValueError) as error:
            self._failed(table, lsn, error)

    def answer(self, values: Sequence[bytes | None] | None, reason: str = "") -> None:
        """What ``asked`` for: the columns' texts, or None and the reason why the row could not be read again.

        Makes the event that waited for it, unless another rule asks for the same row.
        """
        held, asked = self._held, self.asked
        if held is None or asked is None:
            return
        self._held = self.asked = None
        failure = None
        if values is not None:
            for at, value in zip(asked.columns, values, strict=True):
                held.shown[at] = value
        elif asked.strict:
            failure = CdcError(
                ErrorKind.VALUE,
                f"A row of table {asked.table.name} cannot be read again: {reason}",
                f"Set {asked.rule}.reselect.error.handling.mode to warn to send its event as it is, or"
                " event.processing.failure.handling.mode to warn to leave such events out",
            )
        if failure is None and self._asks(held):
            return
        try:
            held.finish(held.shown, failure)
        except (CdcError, ValueError) as error:
            self._failed(held.table, held.lsn, error)

    def _asks(self, held: _Held) -> bool:
        """Whether something of the row is to be read again: it is asked for then."""
        while held.left:
            asked = held.left.pop(0).wanted(held.shown, held.cells)
            if asked is not None:
                self._held, self.asked = held, asked
                return True
        return False

    def truncate(self, table: LiveTable, lsn: int) -> None:
        """The table was emptied: an event without key and rows."""
        if "t" not in self._settings.skipped:
            self._end_run(table)
            if table.window is not None:
                table.window.emptied()
            self._send(table, None, lsn, (_NO_BEFORE,), self._truncate_end, self._settings.headers)

    def message(self, message: Message, lsn: int) -> None:
        """A logical decoding message, if its prefix is wanted."""
        messages = self._messages
        if messages is None or not messages.wanted(message.prefix):
            return
        block = b"null"
        if message.transactional and self._counts_messages is not None:
            block = self._counts_messages.block(MESSAGES, lsn)
        messages.send(message, SourceText(messages.source, self._facts), lsn, block, self._now_ms)
        self.records += 1

    def end_runs(self) -> None:
        """Encode and append all that waits."""
        for table in self.runs:
            self._end_run(table)
        self.runs.clear()

    def _end(self, end: _End, table: LiveTable, lsn: int) -> bytes:
        if self._transactions is None:
            return end.plain
        return end.before + self._transactions.block(table.encoder.table.name, lsn) + end.after

    def _join_run(self, table: LiveTable, cells: list[bytes | None], nulls: int, lsn: int, end: _End) -> None:
        if not table.rows:
            self.runs.append(table)
        table.nulls |= nulls
        table.rows.append(cells)
        table.lsns.append(b"%d" % lsn)
        table.texts.append(self.text(table))
        table.ends.append(self._end(end, table, lsn))

    def _end_run(self, table: LiveTable) -> None:
        """Encode what waits for ``table`` and append it to its out."""
        rows, texts = table.rows, table.texts
        if not rows:
            return
        encoder, lsns = table.encoder, table.lsns
        columns = list(zip(*rows, strict=True))
        nulls = table.nulls != 0
        ends = [end + encoder.closing for end in table.ends] if encoder.closing else table.ends
        table.rows, table.lsns, table.texts, table.ends, table.nulls = [], [], [], [], 0
        try:
            payloads = encoder.created(
                columns,
                nulls,
                [text.head for text in texts],
                lsns,
                [text.middle for text in texts],
                lsns,
                [text.tail for text in texts],
                ends,
            )
            keys = encoder.keys(columns, nulls) if encoder.has_key else None
        except ValueError:
            for row, text, lsn, end in zip(rows, texts, lsns, ends, strict=True):
                self._one_of_run(table, row, text, lsn, end)
            return
        table.out.extend(keys, encoder.prefix, payloads, self._settings.headers, self._now_ms)
        self.records += len(rows)

    def _one_of_run(self, table: LiveTable, row: Sequence[bytes | None], text: SourceText, lsn: bytes, end: bytes) -> None:
        encoder = table.encoder
        try:
            payload = b"".join((HEAD, self._row(encoder, row, unchanged=False), text.head, lsn, text.middle, lsn, text.tail, end))
            key = encoder.key(row) if encoder.has_key else None
        except (CdcError, ValueError) as error:
            self._failed(table, int(lsn), error)
        else:
            table.out.append(key, encoder.prefix, payload, self._settings.headers, self._now_ms)
            self.records += 1

    def _failed(self, table: LiveTable, lsn: int, error: CdcError | ValueError) -> None:
        """No event can be made of a change: raise, or leave it out."""
        name, mode = table.encoder.table.name, self._settings.processing_failure
        if isinstance(error, CdcError) and error.kind is not ErrorKind.VALUE:
            raise error
        if mode == "warn":
            self._on_event_failure(name, lsn, error.message if isinstance(error, CdcError) else str(error))
        elif mode not in ("skip", "ignore"):
            if isinstance(error, CdcError):
                raise error
            raise CdcError(
                ErrorKind.VALUE,
                f"The key of a row of table {name} cannot be converted: {error}",
                "Choose other columns with message.key.columns, or set event.processing.failure.handling.mode to warn"
                " to leave such events out",
            ) from error

    def _tolerant(self, encoder: TableEncoder, cells: Sequence[bytes | None]) -> bytes:
        row, failures = encoder.tolerant(cells)
        for failure in failures:
            if self._settings.conversion_failure == "fail":
                raise CdcError(
                    ErrorKind.VALUE,
                    f"A value of column {failure.column} of table {encoder.table.name} cannot be converted: {failure.reason}",
                    "Set event.converting.failure.handling.mode to warn to send null in its place",
                )
            if self._settings.conversion_failure == "warn":
                self._on_conversion_failure(encoder.table.name, failure.column, failure.reason)
        return row

    def _row(self, encoder: TableEncoder, cells: Sequence[bytes | None], *, unchanged: bool) -> bytes:
        try:
            return encoder.row_with_unchanged(cells) if unchanged else encoder.row(cells)
        except ValueError:
            return self._tolerant(encoder, cells)

    def _insert(self, table: LiveTable, frame: bytes, lsn: int) -> None:
        if "c" in self._settings.skipped:
            return
        cells: list[bytes | None] = []
        nulls = split_tuple(frame, 31, cells) & HAS_NULL
        if table.window is not None:
            table.changed(cells)
        if table.reselections and self._asks(_Held(table, lsn, cells, partial(self._created, table, lsn, cells))):
            return
        self._join_run(table, cells, nulls, lsn, self._create)

    def _created(
        self, table: LiveTable, lsn: int, cells: Sequence[bytes | None], shown: list[bytes | None], failure: CdcError | None
    ) -> None:
        """An insert's event once its row is complete; the key is that of the ``cells`` that were sent."""
        if failure is not None:
            raise failure
        self._end_run(table)
        encoder = table.encoder
        after = self._row(encoder, shown, unchanged=False)
        key = encoder.key(cells) if encoder.has_key else None
        self._send(table, key, lsn, (HEAD, after), self._create, self._settings.headers)

    def _send(self, table: LiveTable, key: bytes | None, lsn: int, rows: tuple[bytes, ...], end: _End, headers: bytes) -> None:
        text = self.text(table)
        digits = b"%d" % lsn
        closing = table.encoder.closing
        payload = b"".join((*rows, text.head, digits, text.middle, digits, text.tail, self._end(end, table, lsn), closing))
        table.out.append(key, table.encoder.prefix, payload, headers, self._now_ms)
        self.records += 1

    def _update(self, table: LiveTable, frame: bytes, lsn: int) -> None:
        if "u" in self._settings.skipped:
            return
        old: list[bytes | None] = []
        at = 30
        if frame[at] != NEW_TUPLE:
            at = split_tuple(frame, at + 1, old) >> 2
        cells: list[bytes | None] = []
        flags = split_tuple(frame, at + 1, cells)
        unchanged = flags & HAS_UNCHANGED != 0
        if table.window is not None:
            table.changed(cells, old)
            if old:
                table.changed(old)
        whole = frame[30] == OLD_TUPLE
        if unchanged and old and whole:
            # Replica identity FULL sends the whole old row: what did not change has its old value.
            cells = [before if cell is UNCHANGED else cell for cell, before in zip(cells, old, strict=True)]
            unchanged = any(cell is UNCHANGED for cell in cells)
        if table.reselections:
            held = _Held(table, lsn, cells, partial(self._updated, table, lsn, old, cells, whole=whole))
            if self._asks(held):
                return
        if not old and not unchanged:
            self._join_run(table, cells, flags & HAS_NULL, lsn, self._update_end)
            return
        self._updated(table, lsn, old, cells, cells, None, whole=whole, unchanged=unchanged)

    def _updated(
        self,
        table: LiveTable,
        lsn: int,
        old: Sequence[bytes | None],
        cells: Sequence[bytes | None],
        shown: Sequence[bytes | None],
        failure: CdcError | None,
        *,
        whole: bool,
        unchanged: bool = True,
    ) -> None:
        """An update's events: ``shown`` is the row of ``cells``, completed where it was read again.

        ``whole``: ``old`` is the whole old row; ``unchanged``: some value may not have been sent.
        """
        self._end_run(table)
        encoder = table.encoder
        after = b"" if failure is not None else self._row(encoder, shown, unchanged=unchanged)
        key = encoder.key(cells) if encoder.has_key else None
        before = self._row(encoder, old, unchanged=True) if old else b"null"
        if old and key is not None:
            old_key = encoder.key(old)
            if old_key != key:
                self._key_change(table, lsn, (old_key, old, before), (key, cells, after), failure)
                return
        if self._settings.skip_unchanged and whole:
            # The reference decides by what the server sent.
            sent = after if shown is cells else self._row(encoder, cells, unchanged=True)
            if encoder.unchanged(old, cells, before, sent):
                return
        if failure is not None:
            raise failure
        self._send(table, key, lsn, (b'{"before":', before, b',"after":', after), self._update_end, self._settings.headers)

    def _key_change(
        self,
        table: LiveTable,
        lsn: int,
        old: tuple[bytes, Sequence[bytes | None], bytes],
        new: tuple[bytes, Sequence[bytes | None], bytes],
        failure: CdcError | None,
    ) -> None:
        """A new key is another record: delete under the old key, tombstone, create under the new one, which alone may fail."""
        settings, encoder = self._settings, table.encoder
        old_key, old_cells, before = old
        new_key, new_cells, after = new
        leaving = settings.key_change_headers(encoder.key_header(new_cells), "__debezium.newkey")
        coming = settings.key_change_headers(encoder.key_header(old_cells), "__debezium.oldkey")
        if "d" not in settings.skipped:
            self._send(table, old_key, lsn, (b'{"before":', before, b',"after":null'), self._delete_end, leaving)
            if settings.tombstones:
                self._tombstone(table, old_key, leaving)
        if "c" not in settings.skipped:
            if failure is not None:
                raise failure
            self._send(table, new_key, lsn, (HEAD, after), self._create, coming)

    def _tombstone(self, table: LiveTable, key: bytes | None, headers: bytes) -> None:
        table.out.append(key, b"", None, headers, self._now_ms)
        self.records += 1

    def _delete(self, table: LiveTable, frame: bytes, lsn: int) -> None:
        if "d" in self._settings.skipped:
            return
        self._end_run(table)
        encoder = table.encoder
        old: list[bytes | None] = []
        split_tuple(frame, 31, old)
        if table.window is not None:
            table.changed(old)
        before = self._row(encoder, old, unchanged=True)
        key = encoder.key(old) if encoder.has_key else None
        self._send(table, key, lsn, (b'{"before":', before, b',"after":null'), self._delete_end, self._settings.headers)
        if self._settings.tombstones:
            self._tombstone(table, key, self._settings.headers)
