"""Transaction metadata (``provide.transaction.metadata``): BEGIN and END records, and the transaction block of each event.

As recorded from Debezium: an id is ``<xid>:<LSN>``, with the LSN of the record itself, so all events of a transaction have different ids.
An event is counted when it is sent. A truncate counts once for each of its tables. A transaction without events of captured tables has both
records too.
"""

from __future__ import annotations

from typing import Final

from connector.delivery.offsets import TransactionCounts
from connector.java.hash_map import LEAST, grown, java_order
from connector.ports import Out
from connector.record.batch import NO_HEADERS
from connector.record.json_converter import ConverterSettings, around_payload, quote
from connector.record.schema import INT64, STRING, Field, Schema

MESSAGES: Final = "LOGICAL_DECODING_MESSAGE"
"""The data collection of logical decoding messages. Debezium prints a Java object there, whose text changes with each run."""

_KEY: Final = Schema("struct", name="io.debezium.connector.common.TransactionMetadataKey", version=1, fields=(Field("id", STRING),))
_COLLECTION: Final = Schema(
    "struct",
    optional=True,
    name="event.collection",
    version=1,
    fields=(Field("data_collection", STRING), Field("event_count", INT64)),
)
_VALUE: Final = Schema(
    "struct",
    name="io.debezium.connector.common.TransactionMetadataValue",
    version=1,
    fields=(
        Field("status", STRING),
        Field("id", STRING),
        Field("event_count", INT64.as_optional()),
        Field("data_collections", Schema("array", optional=True, items=_COLLECTION)),
        Field("ts_ms", INT64),
    ),
)


class TransactionLog:
    """Counts the events of the open transaction, and writes the BEGIN and END records."""

    def __init__(self, key_settings: ConverterSettings, value_settings: ConverterSettings, out: Out) -> None:
        self._key = around_payload(_KEY, key_settings)
        self._value = around_payload(_VALUE, value_settings)
        self._out = out
        self._open = False
        self._xid = 0
        self._ts_ms = 0
        self._now_ms = 0
        self._total = 0
        self._counts: dict[str, int] = {}
        self._room = LEAST
        self.records = 0
        """The number of records made."""

    @property
    def counts(self) -> TransactionCounts | None:
        """The counts of the open transaction, or of the last one if none is open; None before the first transaction."""
        return TransactionCounts(str(self._xid), tuple(self._counts.items())) if self._xid else None

    def burst(self, now_ms: int) -> None:
        """Set the time of the following records, in ms since 1970."""
        self._now_ms = now_ms

    def enter(self, xid: int, ts_ms: int, lsn: int, sent: TransactionCounts | None, *, resumed: bool) -> None:
        """Begin a transaction that commits at ``ts_ms``.

        ``resumed`` says that an earlier run sent its first part and stored the counts ``sent``. If ``sent`` is missing then, the BEGIN
        record comes with the next event, as in Debezium.
        """
        self._xid, self._ts_ms, self._total = xid, ts_ms, 0
        self._counts = {}
        if not resumed:
            self._begin(lsn)
        elif sent is not None and sent.id == str(xid):
            self._counts = dict(sent.counts)
            self._total = sum(self._counts.values())
            self._open = True

    def block(self, collection: str, lsn: int) -> bytes:
        """Count an event of ``collection`` (``schema.table``). Returns its transaction block as JSON."""
        if not self._open:
            self._begin(lsn)
        self._total += 1
        order = self._counts[collection] = self._counts.get(collection, 0) + 1
        return b'{"id":"%d:%d","total_order":%d,"data_collection_order":%d}' % (self._xid, lsn, self._total, order)

    def leave(self, lsn: int) -> None:
        """End the transaction; ``lsn`` is the end of its commit."""
        if not self._open:
            return
        self._open = False
        self._room = grown(self._room, len(self._counts))
        counted = b",".join(
            b'{"data_collection":%b,"event_count":%d}' % (quote(name), self._counts[name]) for name in java_order(self._counts, self._room)
        )
        self._send(b"END", lsn, b"%d" % self._total, b"[" + counted + b"]")

    def _begin(self, lsn: int) -> None:
        self._open = True
        self._send(b"BEGIN", lsn, b"null", b"null")

    def _send(self, status: bytes, lsn: int, total: bytes, counted: bytes) -> None:
        name = b'"%d:%d"' % (self._xid, lsn)
        payload = b'{"status":"%b","id":%b,"event_count":%b,"data_collections":%b,"ts_ms":%d}%b' % (
            status,
            name,
            total,
            counted,
            self._ts_ms,
            self._value[1],
        )
        key = b'%b{"id":%b}%b' % (self._key[0], name, self._key[1])
        self._out.append(key, self._value[0], payload, NO_HEADERS, self._now_ms)
        self.records += 1
