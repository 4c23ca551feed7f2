"""The schema of change events and their ``source`` block (Debezium documentation, "Data change events").

The parts that many events share are turned into bytes once: :class:`SourceText` for each table and transaction. An :class:`EventForm` holds
the differences between the emulated versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.emulation import DEFAULT, EMULATIONS, Emulation
from connector.record.json_converter import quote
from connector.record.schema import INT64, STRING, Field, Schema

CONNECTOR: Final = "postgresql"

TRANSACTION_BLOCK_SCHEMA: Final = Schema(
    "struct",
    optional=True,
    name="event.block",
    version=1,
    fields=(Field("id", STRING), Field("total_order", INT64), Field("data_collection_order", INT64)),
)


_FINER_TIMES: Final = (Field("ts_us", INT64.as_optional()), Field("ts_ns", INT64.as_optional()))


def _source_schema(emulation: Emulation) -> Schema:
    allowed = (("allowed", emulation.snapshot_markers),)
    marker = Schema("string", optional=True, name="io.debezium.data.Enum", version=1, parameters=allowed, default="false")
    times = _FINER_TIMES if emulation.sends_ts_us_and_ns else ()
    origin = (Field("origin", STRING.as_optional()), Field("origin_lsn", INT64.as_optional())) if emulation.sends_origin else ()
    return Schema(
        "struct",
        name="io.debezium.connector.postgresql.Source",
        version=emulation.source_schema_version,
        fields=(
            Field("version", STRING),
            Field("connector", STRING),
            Field("name", STRING),
            Field("ts_ms", INT64),
            Field("snapshot", marker),
            Field("db", STRING),
            Field("sequence", STRING.as_optional()),
            *times,
            Field("schema", STRING),
            Field("table", STRING),
            Field("txId", INT64.as_optional()),
            Field("lsn", INT64.as_optional()),
            Field("xmin", INT64.as_optional()),
            *origin,
        ),
    )


@dataclass(frozen=True, slots=True)
class EventForm:
    """The form of the events of one emulated version. ``source`` is the schema of their source block."""

    emulation: Emulation
    source: Schema

    def envelope(self, topic: str, row: Schema) -> Schema:
        """Return the event's schema for a table whose rows have schema ``row``; ``topic`` is part of its name."""
        rows = (Field("before", row.as_optional()), Field("after", row.as_optional()), Field("source", self.source))
        transaction = Field("transaction", TRANSACTION_BLOCK_SCHEMA)
        finer = _FINER_TIMES if self.emulation.sends_ts_us_and_ns else ()
        change = (Field("op", STRING), Field("ts_ms", INT64.as_optional()), *finer)
        fields = (*rows, *change, transaction) if self.emulation.sends_transaction_last else (*rows, transaction, *change)
        return Schema("struct", name=f"{topic}.Envelope", version=self.emulation.envelope_schema_version, fields=fields)

    def around_transaction(self, op: bytes, now_ns: int) -> tuple[bytes, bytes]:
        """Return the text between the source block and the value of ``transaction``, and the text after that value.

        ``now_ns`` is the event's time in ns since 1970.
        """
        emulation = self.emulation
        if emulation.sends_ts_us_and_ns:
            change = b',"op":"%b","ts_ms":%d,"ts_us":%d,"ts_ns":%d' % (op, now_ns // 1_000_000, now_ns // 1000, now_ns)
        else:
            change = b',"op":"%b","ts_ms":%d' % (op, now_ns // 1_000_000)
        if emulation.sends_transaction_last:
            return change + b',"transaction":', b"}"
        return b',"transaction":', change + b"}"

    def end(self, op: bytes, now_ns: int) -> bytes:
        """Return the text after the source block of an event without transaction metadata."""
        before, after = self.around_transaction(op, now_ns)
        return before + b"null" + after


_FORMS: Final = {emulation.version: EventForm(emulation, _source_schema(emulation)) for emulation in EMULATIONS}
DEFAULT_FORM: Final = _FORMS[DEFAULT.version]


def event_form(emulation: Emulation) -> EventForm:
    """Return the form of the events of ``emulation``."""
    return _FORMS[emulation.version]


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """The facts of one transaction, or of a snapshot, for the source block.

    ``ts_us`` is the commit time (for a snapshot, its start) in µs since 1970. ``last_commit`` is the end of the transaction that committed
    before this one; None if there was none. ``xmin`` is the slot's catalog_xmin, if it is read. ``origin`` is (name, lsn) of a replicated
    transaction.
    """

    ts_us: int
    txid: int | None
    last_commit: int | None
    xmin: int | None = None
    origin: tuple[str, int] | None = None


class SourceText:
    """The source block of one table in one transaction, in three pieces. The event's LSN, which occurs twice, stands between them.

    ``head + b"%d" % lsn + middle + b"%d" % lsn + tail`` is the block; ``head`` begins with the comma after ``after``.
    """

    __slots__ = ("head", "middle", "tail")

    def __init__(self, table: TableSource, facts: SourceFacts, snapshot: str = "false") -> None:
        ts_us = facts.ts_us
        last = b"null" if facts.last_commit is None else b'\\"%d\\"' % facts.last_commit
        # A streamed event has null here, and the schema's default stands for it. If the converter writes no defaults, it stays null.
        marker = b"null" if snapshot == "false" and not table.defaults else b'"%b"' % snapshot.encode()
        self.head = b'%b%d,"snapshot":%b,"db":%b,"sequence":"[%b,\\"' % (
            table.opening,
            ts_us // 1000,
            marker,
            table.database,
            last,
        )
        txid = b"null" if facts.txid is None else b"%d" % facts.txid
        xmin = b"null" if facts.xmin is None else b"%d" % facts.xmin
        emulation = table.form.emulation
        if emulation.sends_ts_us_and_ns:
            self.middle = b'\\"]","ts_us":%d,"ts_ns":%d%b,"txId":%b,"lsn":' % (ts_us, ts_us * 1000, table.names, txid)
        else:
            self.middle = b'\\"]"%b,"txId":%b,"lsn":' % (table.names, txid)
        if not emulation.sends_origin:
            self.tail = b',"xmin":%b}' % xmin
            return
        origin, origin_lsn = (b"null", b"null") if facts.origin is None else (quote(facts.origin[0]), b"%d" % facts.origin[1])
        self.tail = b',"xmin":%b,"origin":%b,"origin_lsn":%b}' % (xmin, origin, origin_lsn)


@dataclass(frozen=True, slots=True)
class TableSource:
    """The parts of the source block that are constant for a table, as JSON, and the form of its events."""

    opening: bytes
    database: bytes
    names: bytes
    defaults: bool = True
    """Whether the converter replaces null with the schema's default (``replace.null.with.default``)."""
    form: EventForm = DEFAULT_FORM

    @classmethod
    def of(
        cls, *, server: str, database: str, schema: str, table: str, defaults: bool = True, form: EventForm = DEFAULT_FORM
    ) -> TableSource:
        """Encode the parts. ``server`` is the topic prefix."""
        opening = b',"source":{"version":"%b","connector":"%b","name":%b,"ts_ms":' % (
            form.emulation.version.encode(),
            CONNECTOR.encode(),
            quote(server),
        )
        names = b',"schema":%b,"table":%b' % (quote(schema), quote(table))
        return cls(opening, quote(database), names, defaults, form)
