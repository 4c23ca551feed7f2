"""The records of a change of a captured table, and their encoding.

This module knows neither positions nor the order of messages: :mod:`connector.events.stream` decides which change comes when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from connector.delivery.moved_key_headers import NEW_KEY, OLD_KEY
from connector.delivery.row_run import RowRun, StreamedRests, columns_of
from connector.errors import CdcError, ErrorKind
from connector.events.encoders import HEAD, TableEncoder
from connector.events.envelope import EventForm, SourceFacts, SourceText
from connector.events.live_table import LiveTable
from connector.events.messages import MessageTopic
from connector.events.reselect import Reread
from connector.events.stream_settings import LEAVING_OUT, StreamSettings
from connector.events.transactions import MESSAGES, TransactionLog
from connector.log import Warn
from connector.meters.stream_meter import StreamMeter
from connector.wire.lsn import format_lsn
from connector.wire.pgoutput import (
    DELETE,
    HAS_NULL,
    HAS_UNCHANGED,
    INSERT,
    NEW_TUPLE,
    ROW,
    ROW_KIND,
    UNCHANGED,
    UPDATE,
    Message,
)

_NO_BEFORE: Final = b'{"before":null,"after":null'


class _End:
    """The end of one operation's events in one burst: all that follows the source block."""

    __slots__ = ("after", "before", "plain")

    def __init__(self, form: EventForm, op: bytes, now_ns: int) -> None:
        self.before, self.after = form.around_transaction(op, now_ns)
        """The text before and after the value of ``transaction``."""
        self.plain = self.before + b"null" + self.after


class _Held:
    """A row whose event waits until its missing values have been read again."""

    __slots__ = ("cells", "finish", "left", "lsn", "shown", "table")

    def __init__(
        self, table: LiveTable, lsn: int, cells: Sequence[bytes | None], finish: Callable[[list[bytes | None], CdcError | None], None]
    ) -> None:
        self.table = table
        self.lsn = lsn
        self.cells = cells
        self.shown = list(cells)
        """The same cells with the values that have been read again so far."""
        self.left = list(table.reselections)
        self.finish = finish
        """Makes the event of the shown cells, or raises the failure that it gets."""


class ChangeWriter:
    """Appends the records of changes to the outs of their tables.

    ``warn`` logs the values that are sent as null and the events that are left out. If the event of a change cannot be made, the method
    raises CdcError(VALUE) and has appended no record of that change, unless the settings say to leave out such events.
    """

    def __init__(
        self,
        settings: StreamSettings,
        *,
        warn: Warn,
        transactions: TransactionLog | None = None,
        messages: MessageTopic | None = None,
        meter: StreamMeter | None = None,
    ) -> None:
        self.meter = meter or StreamMeter()
        self._settings = settings
        self._warn = warn
        self._transactions = transactions
        self._messages = messages
        self._counts_messages = transactions if settings.form.emulation.counts_messages else None
        self._one_by_one = transactions is not None and settings.processing_failure in LEAVING_OUT
        """Whether every row is encoded at once: an event that is left out must not be counted, and a run counts before it encodes."""
        self._facts = SourceFacts(0, None, None)
        self.epoch = 0
        """The number of the present source facts."""
        self.event_epoch = -1
        """The number of the source facts of the last event of a captured table."""
        self._now_ms = 0
        self._create = self._update_end = self._delete_end = self._truncate_end = _End(settings.form, b"c", 0)
        self.runs: list[LiveTable] = []
        """Tables with a run, in the order of their first rows."""
        self.records = 0
        """The number of records made."""
        self._messages_made = 0
        self.asked: Reread | None = None
        """A row that must be read again. :meth:`answer` must be called before the next change."""
        self._held: _Held | None = None

    @property
    def seen(self) -> int:
        """A number that changes with each event that Debezium's metrics count: all but logical decoding messages."""
        return self.records - self._messages_made + self.meter.filtered.total + self.meter.erroneous

    def burst(self, now_ns: int) -> bytes:
        """Set the time (in ns since 1970) of the following events. Returns the end of a create event without transaction block.

        The clock is read once for each burst: formatting three numbers for each event would add 0.25 µs to its 7 µs.
        """
        form = self._settings.form
        self._create, self._update_end = _End(form, b"c", now_ns), _End(form, b"u", now_ns)
        self._delete_end, self._truncate_end = _End(form, b"d", now_ns), _End(form, b"t", now_ns)
        self._now_ms = now_ns // 1_000_000
        if self._transactions is not None:
            self._transactions.burst(self._now_ms)
        return self._create.plain

    def enter(self, facts: SourceFacts) -> None:
        """Use ``facts`` in the source blocks of the following events."""
        self._facts = facts
        self.epoch += 1

    def text(self, table: LiveTable) -> SourceText:
        """Return the table's current source block."""
        text = table.text
        if text is None or table.epoch != self.epoch:
            table.text = text = SourceText(table.source, self._facts)
            table.epoch = self.event_epoch = self.epoch
        return text

    def change(self, tag: int, table: LiveTable, frame: bytes, lsn: int) -> None:
        """Make the events of an INSERT, UPDATE or DELETE of ``table`` at ``lsn``."""
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
        """Take the values that ``asked`` asks for: the columns' texts, or None and the reason why the row could not be read again.

        Makes the event that waited for them, unless another rule asks for the same row.
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
        """Ask for the values of the row that must be read again. Returns whether there are any."""
        while held.left:
            asked = held.left.pop(0).wanted(held.shown, held.cells)
            if asked is not None:
                self._held, self.asked = held, asked
                return True
        return False

    def filtered(self, tag: int) -> None:
        """Count a change of a table that is not captured."""
        counts = self.meter.filtered
        if tag == INSERT:
            counts.creates += 1
        elif tag == UPDATE:
            counts.updates += 1
        else:
            counts.deletes += 1

    def truncate(self, table: LiveTable, lsn: int) -> None:
        """Make the event of a TRUNCATE, which has neither key nor rows."""
        if table.window is not None:
            # The rows of the open chunk are gone whether or not the event is wanted.
            table.window.emptied()
        if "t" not in self._settings.skipped:
            self._end_run(table)
            self._send(table, None, lsn, (_NO_BEFORE,), self._truncate_end, self._settings.headers)
            table.counts.truncates += 1

    def message(self, message: Message, lsn: int) -> None:
        """Make the event of a logical decoding message, if its prefix is wanted."""
        messages = self._messages
        if messages is None or not messages.wanted(message.prefix):
            return
        block = b"null"
        if message.transactional and self._counts_messages is not None:
            block = self._counts_messages.block(MESSAGES, lsn)
        messages.send(message, SourceText(messages.source, self._facts), lsn, block, self._now_ms)
        self.records += 1
        self._messages_made += 1

    def end_runs(self) -> None:
        """Encode and append all waiting rows."""
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
        """Encode the waiting rows of ``table`` and append them to its out."""
        rows, texts = table.rows, table.texts
        if not rows:
            return
        updates, table.run_updates = table.run_updates, 0
        encoder, lsns = table.encoder, table.lsns
        columns = columns_of(rows)
        nulls, ends = table.nulls != 0, table.ends
        table.rows, table.lsns, table.texts, table.ends, table.nulls = [], [], [], [], 0
        if table.direct is not None:
            run = RowRun(columns, nulls, StreamedRests(texts, lsns, ends, encoder.closing), len(rows))
            if table.direct.take(run, self._settings.headers, self._now_ms):
                self._count_run(table, len(rows), updates)
                return
        if encoder.closing:
            ends = [end + encoder.closing for end in ends]
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
        self._count_run(table, len(rows), updates)

    def _count_run(self, table: LiveTable, rows: int, updates: int) -> None:
        self.records += rows
        table.counts.updates += updates
        table.counts.creates += rows - updates

    def _one_of_run(self, table: LiveTable, row: Sequence[bytes | None], text: SourceText, lsn: bytes, end: bytes) -> None:
        encoder = table.encoder
        try:
            payload = b"".join((HEAD, self._row(encoder, row, unchanged=False), text.head, lsn, text.middle, lsn, text.tail, end))
            key = encoder.key(row) if encoder.has_key else None
        except (CdcError, ValueError) as error:
            self._failed(table, int(lsn), error)
        else:
            table.out.append(key, encoder.prefix, payload, self._settings.headers, self._now_ms)
            # A run does not keep which of its rows are updates, which only this rare path needs to know.
            self._count_run(table, 1, int(b'"op":"u"' in end))

    def _failed(self, table: LiveTable, lsn: int, error: CdcError | ValueError) -> None:
        """Raise the reason why a change has no event, or leave the event out, as the settings say."""
        name, mode = table.encoder.table.name, self._settings.processing_failure
        if isinstance(error, CdcError) and error.kind is not ErrorKind.VALUE:
            raise error
        if mode in LEAVING_OUT:
            self.meter.erroneous += 1
        if mode == "warn":
            reason = error.message if isinstance(error, CdcError) else str(error)
            self._warn("event left out", table=name, lsn=format_lsn(lsn), reason=reason)
        elif mode not in LEAVING_OUT:
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
            error = failure.error(encoder.table.name, self._settings.conversion_failure)
            if error is not None:
                raise error
            if self._settings.conversion_failure == "warn":
                self._warn("value sent as null", table=encoder.table.name, column=failure.column, reason=failure.reason)
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
        nulls = table.split(frame, ROW, cells) & HAS_NULL
        if table.window is not None:
            table.changed(cells)
        if table.reselections and self._asks(_Held(table, lsn, cells, partial(self._created, table, lsn, cells))):
            return
        if self._one_by_one:
            self._created(table, lsn, cells, cells, None)
        else:
            self._join_run(table, cells, nulls, lsn, self._create)

    def _created(
        self, table: LiveTable, lsn: int, cells: Sequence[bytes | None], shown: Sequence[bytes | None], failure: CdcError | None
    ) -> None:
        """Make the event of an insert once its row is complete. The ``cells`` that the server sent make the key."""
        if failure is not None:
            raise failure
        self._end_run(table)
        encoder = table.encoder
        after = self._row(encoder, shown, unchanged=False)
        key = encoder.key(cells) if encoder.has_key else None
        self._send(table, key, lsn, (HEAD, after), self._create, self._settings.headers)
        table.counts.creates += 1

    def _send(self, table: LiveTable, key: bytes | None, lsn: int, rows: tuple[bytes, ...], end: _End, headers: bytes) -> None:
        text = self.text(table)
        digits = b"%d" % lsn
        closing = table.encoder.closing
        payload = b"".join((*rows, text.head, digits, text.middle, digits, text.tail, self._end(end, table, lsn), closing))
        table.out.append(key, table.encoder.prefix, payload, headers, self._now_ms)
        self.records += 1

    def _update(self, table: LiveTable, frame: bytes, lsn: int) -> None:
        skipped = "u" in self._settings.skipped
        if skipped and frame[ROW_KIND] == NEW_TUPLE:
            return
        old: list[bytes | None] = []
        at = ROW_KIND
        if frame[at] != NEW_TUPLE:
            at = table.split(frame, at + 1, old) >> 2
        cells: list[bytes | None] = []
        flags = table.split(frame, at + 1, cells)
        unchanged = flags & HAS_UNCHANGED != 0
        if unchanged and old:
            # An unchanged column has its old value, if the server sent that. Replica identity FULL sends the whole old row. The others
            # send the key if a part of it is stored out of line, whether or not it changed; all other columns are NULL then. The kind of
            # the old row does not tell: it is that of the partitioned table, while the partition's identity decides what is sent.
            cells = [before if cell is UNCHANGED and before is not None else cell for cell, before in zip(cells, old, strict=True)]
            unchanged = any(cell is UNCHANGED for cell in cells)
        if skipped and not self._moves(table.encoder, old, cells):
            return
        if table.window is not None:
            table.changed(cells, old)
            if old:
                table.changed(old)
        if table.reselections:
            held = _Held(table, lsn, cells, partial(self._updated, table, lsn, old, cells))
            if self._asks(held):
                return
        if not old and not unchanged and not self._one_by_one:
            self._join_run(table, cells, flags & HAS_NULL, lsn, self._update_end)
            table.run_updates += 1
            return
        self._updated(table, lsn, old, cells, cells, None, unchanged=unchanged)

    @staticmethod
    def _moves(encoder: TableEncoder, old: Sequence[bytes | None], cells: Sequence[bytes | None]) -> bool:
        """Return whether an update changes its record's key, which makes a delete and a create of it."""
        return encoder.has_key and encoder.key(old) != encoder.key(cells)

    def _updated(
        self,
        table: LiveTable,
        lsn: int,
        old: Sequence[bytes | None],
        cells: Sequence[bytes | None],
        shown: Sequence[bytes | None],
        failure: CdcError | None,
        *,
        unchanged: bool = True,
    ) -> None:
        """Make the events of an update. ``shown`` is the row of ``cells`` with the values that were read again.

        ``unchanged`` says that a value may be missing.
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
        if self._settings.skip_unchanged and old and encoder.table.identity == "f":
            # As in Debezium, compare the values that the server sent, not those that were read again.
            sent = after if shown is cells else self._row(encoder, cells, unchanged=True)
            if encoder.unchanged(old, cells, before, sent):
                self.meter.unchanged += 1
                return
        if failure is not None:
            raise failure
        self._send(table, key, lsn, (b'{"before":', before, b',"after":', after), self._update_end, self._settings.headers)
        table.counts.updates += 1

    def _key_change(
        self,
        table: LiveTable,
        lsn: int,
        old: tuple[bytes, Sequence[bytes | None], bytes],
        new: tuple[bytes, Sequence[bytes | None], bytes],
        failure: CdcError | None,
    ) -> None:
        """Make the events of a changed key: a delete under the old key, a tombstone, a create under the new key.

        ``failure`` concerns the create only.
        """
        settings, encoder = self._settings, table.encoder
        old_key, old_cells, before = old
        new_key, new_cells, after = new
        whole = settings.header_holds_document
        leaving = settings.key_change_headers(new_key if whole else encoder.key_text(new_cells), NEW_KEY)
        coming = settings.key_change_headers(old_key if whole else encoder.key_text(old_cells), OLD_KEY)
        if "d" not in settings.skipped:
            self._send(table, old_key, lsn, (b'{"before":', before, b',"after":null'), self._delete_end, leaving)
            table.counts.deletes += 1
            if settings.tombstones:
                self._tombstone(table, old_key, leaving)
        if "c" not in settings.skipped:
            if failure is not None:
                raise failure
            self._send(table, new_key, lsn, (HEAD, after), self._create, coming)
            table.counts.creates += 1

    def _tombstone(self, table: LiveTable, key: bytes | None, headers: bytes) -> None:
        table.out.append(key, b"", None, headers, self._now_ms)
        self.records += 1

    def _delete(self, table: LiveTable, frame: bytes, lsn: int) -> None:
        if "d" in self._settings.skipped:
            return
        self._end_run(table)
        encoder = table.encoder
        old: list[bytes | None] = []
        table.split(frame, ROW, old)
        if table.window is not None:
            table.changed(old)
        before = self._row(encoder, old, unchanged=True)
        key = encoder.key(old) if encoder.has_key else None
        self._send(table, key, lsn, (b'{"before":', before, b',"after":null'), self._delete_end, self._settings.headers)
        table.counts.deletes += 1
        if self._settings.tombstones:
            self._tombstone(table, key, self._settings.headers)
