"""What records a change of a captured table makes, and how they are encoded.

Knows no positions and no order of messages: :mod:`connector.stream` says which change comes when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from connector.encoders import HEAD, TableEncoder
from connector.envelope import PRESENT, EventForm, SourceFacts, SourceText, TableSource
from connector.errors import CdcError, ErrorKind
from connector.messages import MessageTopic
from connector.pgoutput import DELETE, HAS_NULL, HAS_UNCHANGED, INSERT, NEW_TUPLE, OLD_TUPLE, UNCHANGED, UPDATE, Message, split_tuple
from connector.ports import Out
from connector.transactions import MESSAGES, TransactionLog

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

    __slots__ = ("encoder", "ends", "epoch", "lsns", "nulls", "out", "rows", "source", "text", "texts")

    def __init__(self, encoder: TableEncoder, source: TableSource, out: Out) -> None:
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


class _End:
    """What follows the source block of one operation's events in one burst."""

    __slots__ = ("after", "before", "plain")

    def __init__(self, form: EventForm, op: bytes, now_ns: int) -> None:
        self.before, self.after = form.around_transaction(op, now_ns)
        """Around the transaction block."""
        self.plain = self.before + b"null" + self.after


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

    def truncate(self, table: LiveTable, lsn: int) -> None:
        """The table was emptied: an event without key and rows."""
        if "t" not in self._settings.skipped:
            self._end_run(table)
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
        self._join_run(table, cells, nulls, lsn, self._create)

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
        encoder = table.encoder
        old: list[bytes | None] = []
        at = 30
        if frame[at] != NEW_TUPLE:
            at = split_tuple(frame, at + 1, old) >> 2
        cells: list[bytes | None] = []
        flags = split_tuple(frame, at + 1, cells)
        unchanged = flags & HAS_UNCHANGED != 0
        if not old and not unchanged:
            self._join_run(table, cells, flags & HAS_NULL, lsn, self._update_end)
            return
        self._end_run(table)
        if unchanged and old and frame[30] == OLD_TUPLE:
            # Replica identity FULL sends the whole old row: what did not change has its old value.
            cells = [before if cell is UNCHANGED else cell for cell, before in zip(cells, old, strict=True)]
            unchanged = any(cell is UNCHANGED for cell in cells)
        after = self._row(encoder, cells, unchanged=unchanged)
        key = encoder.key(cells) if encoder.has_key else None
        before = self._row(encoder, old, unchanged=True) if old else b"null"
        if old and key is not None:
            old_key = encoder.key(old)
            if old_key != key:
                self._key_change(table, lsn, (old_key, old, before), (key, cells, after))
                return
        if self._settings.skip_unchanged and frame[30] == OLD_TUPLE and encoder.unchanged(old, cells, before, after):
            return
        self._send(table, key, lsn, (b'{"before":', before, b',"after":', after), self._update_end, self._settings.headers)

    def _key_change(
        self,
        table: LiveTable,
        lsn: int,
        old: tuple[bytes, Sequence[bytes | None], bytes],
        new: tuple[bytes, Sequence[bytes | None], bytes],
    ) -> None:
        """A new key is another record: delete under the old key, tombstone, create under the new one."""
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
        before = self._row(encoder, old, unchanged=True)
        key = encoder.key(old) if encoder.has_key else None
        self._send(table, key, lsn, (b'{"before":', before, b',"after":null'), self._delete_end, self._settings.headers)
        if self._settings.tombstones:
            self._tombstone(table, key, self._settings.headers)
