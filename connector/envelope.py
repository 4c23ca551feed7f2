"""The change event's outer schema and its ``source`` block (Debezium documentation, "Data change events").

Everything that is the same for many events is turned into bytes here once: :class:`SourceText` per table and transaction. What
differs between the versions that are played is an :class:`EventForm`; as recorded from both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson

from connector.schema import INT64, STRING, Field, Schema

CONNECTOR: Final = "postgresql"

TRANSACTION_BLOCK_SCHEMA: Final = Schema(
    "struct",
    optional=True,
    name="event.block",
    version=1,
    fields=(Field("id", STRING), Field("total_order", INT64), Field("data_collection_order", INT64)),
)


def _source_schema(markers: str, *, former: bool) -> Schema:
    marker = Schema("string", optional=True, name="io.debezium.data.Enum", version=1, parameters=(("allowed", markers),), default="false")
    times = () if former else (Field("ts_us", INT64.as_optional()), Field("ts_ns", INT64.as_optional()))
    origin = () if former else (Field("origin", STRING.as_optional()), Field("origin_lsn", INT64.as_optional()))
    return Schema(
        "struct",
        name="io.debezium.connector.postgresql.Source",
        version=None if former else 1,
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
    """How the events of one played version look."""

    version: str
    former: bool
    """2.3.4: milliseconds only, no origin, the transaction last; logical messages have no transaction and are not counted in it."""
    source: Schema

    def envelope(self, topic: str, row: Schema) -> Schema:
        """The event's schema for a table whose rows have schema ``row`` and whose topic names the schema."""
        rows = (Field("before", row.as_optional()), Field("after", row.as_optional()), Field("source", self.source))
        transaction = Field("transaction", TRANSACTION_BLOCK_SCHEMA)
        op, ts_ms = Field("op", STRING), Field("ts_ms", INT64.as_optional())
        if self.former:
            return Schema("struct", name=f"{topic}.Envelope", version=1, fields=(*rows, op, ts_ms, transaction))
        finer = (Field("ts_us", INT64.as_optional()), Field("ts_ns", INT64.as_optional()))
        return Schema("struct", name=f"{topic}.Envelope", version=2, fields=(*rows, transaction, op, ts_ms, *finer))

    def around_transaction(self, op: bytes, now_ns: int) -> tuple[bytes, bytes]:
        """What follows the source block of an event made at ``now_ns`` (since 1970): before and after the value of ``transaction``."""
        if self.former:
            return b',"op":"%b","ts_ms":%d,"transaction":' % (op, now_ns // 1_000_000), b"}"
        after = b',"op":"%b","ts_ms":%d,"ts_us":%d,"ts_ns":%d}' % (op, now_ns // 1_000_000, now_ns // 1000, now_ns)
        return b',"transaction":', after

    def end(self, op: bytes, now_ns: int) -> bytes:
        """All that follows the source block of an event without transaction metadata."""
        before, after = self.around_transaction(op, now_ns)
        return before + b"null" + after


PRESENT: Final = EventForm(
    "3.6.3.Final", False, _source_schema("true,first,first_in_data_collection,last_in_data_collection,last,false,incremental", former=False)
)
FORMER: Final = EventForm("2.3.4.Final", True, _source_schema("true,last,false,incremental", former=True))


def event_form(version: tuple[int, int, int]) -> EventForm:
    """The form of a played version (:attr:`connector.config.ConnectorConfig.version`)."""
    return FORMER if version == (2, 3, 4) else PRESENT


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What the source block says of one transaction, or of a snapshot.

    ``ts_us`` is the commit time (a snapshot's begin) in µs since 1970, ``last_commit`` the end of the transaction that
    committed before this one, None when none was seen. ``xmin`` is the slot's catalog_xmin when it is looked at. ``origin`` is
    (name, lsn) of a replicated transaction.
    """

    ts_us: int
    txid: int | None
    last_commit: int | None
    xmin: int | None = None
    origin: tuple[str, int] | None = None


class SourceText:
    """The source block of one table in one transaction, in three pieces around the event's LSN, which it holds twice.

    ``head + b"%d" % lsn + middle + b"%d" % lsn + tail`` is the block; ``head`` begins with the comma after ``after``.
    """

    __slots__ = ("head", "middle", "tail")

    def __init__(self, table: TableSource, facts: SourceFacts, snapshot: str = "false") -> None:
        ts_us = facts.ts_us
        last = b"null" if facts.last_commit is None else b'\\"%d\\"' % facts.last_commit
        # A streamed event leaves the marker to its schema's default, which a converter may be told not to fill in.
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
        if table.form.former:
            self.middle = b'\\"]"%b,"txId":%b,"lsn":' % (table.names, txid)
            self.tail = b',"xmin":%b}' % xmin
            return
        self.middle = b'\\"]","ts_us":%d,"ts_ns":%d%b,"txId":%b,"lsn":' % (ts_us, ts_us * 1000, table.names, txid)
        origin, origin_lsn = (b"null", b"null") if facts.origin is None else (orjson.dumps(facts.origin[0]), b"%d" % facts.origin[1])
        self.tail = b',"xmin":%b,"origin":%b,"origin_lsn":%b}' % (xmin, origin, origin_lsn)


@dataclass(frozen=True, slots=True)
class TableSource:
    """The parts of the source block that never change for a table, as JSON, and the form of its events."""

    opening: bytes
    database: bytes
    names: bytes
    defaults: bool = True
    """The converter writes a schema's default in the place of null (``replace.null.with.default``)."""
    form: EventForm = PRESENT

    @classmethod
    def of(cls, *, server: str, database: str, schema: str, table: str, defaults: bool = True, form: EventForm = PRESENT) -> TableSource:
        """Prepare the pieces. ``server`` is the topic prefix."""
        opening = b',"source":{"version":"%b","connector":"%b","name":%b,"ts_ms":' % (
            form.version.encode(),
            CONNECTOR.encode(),
            orjson.dumps(server),
        )
        names = b',"schema":%b,"table":%b' % (orjson.dumps(schema), orjson.dumps(table))
        return cls(opening, orjson.dumps(database), names, defaults, form)
