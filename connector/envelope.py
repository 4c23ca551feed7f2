"""The change event's outer schema and its ``source`` block (Debezium documentation, "Data change events").

Everything that is the same for many events is turned into bytes here once: :class:`SourceText` per table and transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson

from connector.schema import INT64, STRING, Field, Schema

VERSION: Final = "3.6.3.Final"
CONNECTOR: Final = "postgresql"

_SNAPSHOT_VALUES: Final = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"

SOURCE_SCHEMA: Final = Schema(
    "struct",
    name="io.debezium.connector.postgresql.Source",
    version=1,
    fields=(
        Field("version", STRING),
        Field("connector", STRING),
        Field("name", STRING),
        Field("ts_ms", INT64),
        Field(
            "snapshot",
            Schema(
                "string",
                optional=True,
                name="io.debezium.data.Enum",
                version=1,
                parameters=(("allowed", _SNAPSHOT_VALUES),),
                default="false",
            ),
        ),
        Field("db", STRING),
        Field("sequence", STRING.as_optional()),
        Field("ts_us", INT64.as_optional()),
        Field("ts_ns", INT64.as_optional()),
        Field("schema", STRING),
        Field("table", STRING),
        Field("txId", INT64.as_optional()),
        Field("lsn", INT64.as_optional()),
        Field("xmin", INT64.as_optional()),
        Field("origin", STRING.as_optional()),
        Field("origin_lsn", INT64.as_optional()),
    ),
)

TRANSACTION_BLOCK_SCHEMA: Final = Schema(
    "struct",
    optional=True,
    name="event.block",
    version=1,
    fields=(Field("id", STRING), Field("total_order", INT64), Field("data_collection_order", INT64)),
)


def envelope_schema(topic: str, row: Schema) -> Schema:
    """The event's schema for a table whose rows have schema ``row`` and whose topic names the schema."""
    return Schema(
        "struct",
        name=f"{topic}.Envelope",
        version=2,
        fields=(
            Field("before", row.as_optional()),
            Field("after", row.as_optional()),
            Field("source", SOURCE_SCHEMA),
            Field("transaction", TRANSACTION_BLOCK_SCHEMA),
            Field("op", STRING),
            Field("ts_ms", INT64.as_optional()),
            Field("ts_us", INT64.as_optional()),
            Field("ts_ns", INT64.as_optional()),
        ),
    )


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What the source block says of one transaction, or of a snapshot.

    ``ts_us`` is the commit time (a snapshot's begin) in µs since 1970, ``last_commit`` the end of the transaction that
    committed before this one, None when none was seen. ``origin`` is (name, lsn) of a replicated transaction.
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
        self.head = b'%b%d,"snapshot":"%b","db":%b,"sequence":"[%b,\\"' % (
            table.opening,
            ts_us // 1000,
            snapshot.encode(),
            table.database,
            last,
        )
        self.middle = b'\\"]","ts_us":%d,"ts_ns":%d%b,"txId":%b,"lsn":' % (
            ts_us,
            ts_us * 1000,
            table.names,
            b"null" if facts.txid is None else b"%d" % facts.txid,
        )
        origin, origin_lsn = (b"null", b"null") if facts.origin is None else (orjson.dumps(facts.origin[0]), b"%d" % facts.origin[1])
        xmin = b"null" if facts.xmin is None else b"%d" % facts.xmin
        self.tail = b',"xmin":%b,"origin":%b,"origin_lsn":%b},"transaction":null,"op":"' % (xmin, origin, origin_lsn)


@dataclass(frozen=True, slots=True)
class TableSource:
    """The parts of the source block that never change for a table, as JSON."""

    opening: bytes
    database: bytes
    names: bytes

    @classmethod
    def of(cls, *, server: str, database: str, schema: str, table: str) -> TableSource:
        """Prepare the pieces. ``server`` is the topic prefix."""
        opening = b',"source":{"version":"%b","connector":"%b","name":%b,"ts_ms":' % (
            VERSION.encode(),
            CONNECTOR.encode(),
            orjson.dumps(server),
        )
        names = b',"schema":%b,"table":%b' % (orjson.dumps(schema), orjson.dumps(table))
        return cls(opening, orjson.dumps(database), names)


def event_tail(now_ns: int, closing: bytes) -> bytes:
    """The end of an event after its op: the time it was made, and ``closing`` for whatever is still open."""
    return b'","ts_ms":%d,"ts_us":%d,"ts_ns":%d}%b' % (now_ns // 1_000_000, now_ns // 1000, now_ns, closing)
