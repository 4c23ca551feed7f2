"""A stream without servers: frames go in, recorded records come out, the catalog is a dict that a test may change.

Does between :class:`connector.events.stream.Stream` and :class:`connector.events.capture.Capture` what the runner does, minus all waiting.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, assert_never

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig, parse
from connector.delivery.offsets import Resume, StoredOffset, resume_point
from connector.events.capture import Capture
from connector.events.envelope import event_form
from connector.events.messages import MessageTopic, prefix_filter
from connector.events.relation import join_relation
from connector.events.reselect import Reread
from connector.events.stream import LiveTable, Stream
from connector.events.stream_settings import StreamSettings
from connector.events.transactions import TransactionLog
from connector.events.transitions import AtCommit, NeedRelation, NeedReread, Signal, SignalRow, Used
from connector.meters.stream_meter import StreamMeter
from connector.plugins.allowed import AllowedPlugins
from connector.record.json_converter import ConverterSettings
from connector.types.codec import Column, TypeInfo
from connector.wire.lsn import parse_lsn
from connector.wire.pgoutput import Relation, RelationColumn
from tests.support.warned import Warned

NOW_NS: Final = 1_800_000_000_123_456_789

INT4: Final = 23
INT8: Final = 20
TEXT: Final = 25
TYPES: Final[dict[int, TypeInfo]] = {
    oid: TypeInfo(oid, name, "pg_catalog", category=category, element=element)
    for oid, name, category, element in (
        (16, "bool", "B", 0),
        (17, "bytea", "U", 0),
        (INT8, "int8", "N", 0),
        (21, "int2", "N", 0),
        (INT4, "int4", "N", 0),
        (TEXT, "text", "S", 0),
        (114, "json", "U", 0),
        (700, "float4", "N", 0),
        (701, "float8", "N", 0),
        (869, "inet", "I", 0),
        (1007, "_int4", "A", INT4),
        (1009, "_text", "A", TEXT),
        (1043, "varchar", "S", 0),
        (1082, "date", "D", 0),
        (1083, "time", "D", 0),
        (1114, "timestamp", "D", 0),
        (1184, "timestamptz", "D", 0),
        (1186, "interval", "T", 0),
        (1266, "timetz", "D", 0),
        (1700, "numeric", "N", 0),
        (2950, "uuid", "U", 0),
        (3802, "jsonb", "U", 0),
    )
}
"""Built-in types by the oids that every server has."""

_CONFIG: Final = {
    "name": "rig",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "nowhere",
    "database.user": "nobody",
    "database.dbname": "shop",
    "topic.prefix": "srv",
    "plugin.name": "pgoutput",
}


@cache
def configured(**properties: str) -> ConnectorConfig:
    """A connector's configuration; an underscore in a name stands for a dot."""
    config, _ = parse({**_CONFIG, **{name.replace("_", "."): value for name, value in properties.items()}})
    return config


@dataclass(frozen=True, slots=True)
class Sent:
    """One record as Kafka would get it; ``value`` is None for a tombstone."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: bytes
    timestamp: int

    @property
    def payload(self) -> Any:
        """The value as JSON, without the schema around it."""
        value = json.loads(self.value or b"null")
        return value["payload"] if isinstance(value, dict) and set(value) == {"schema", "payload"} else value

    @property
    def op(self) -> str | None:
        """The event's letter, None for a tombstone."""
        return None if self.value is None else self.payload["op"]

    @property
    def key_json(self) -> Any:
        """The key as JSON, without the schema around it; None without a key."""
        key = json.loads(self.key or b"null")
        return key["payload"] if isinstance(key, dict) and set(key) == {"schema", "payload"} else key


@dataclass(slots=True)
class RecordingOut:
    """The records of one topic. Only records of the same topic have an order, as in Kafka."""

    topic: str
    records: list[Sent]

    def append(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        """Take a record."""
        value = None if payload is None else prefix + payload
        self.records.append(Sent(self.topic, key, value, headers, timestamp))

    def extend(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        """Take many records."""
        for number, payload in enumerate(payloads):
            self.append(None if keys is None else keys[number], prefix, payload, headers, timestamp)


@dataclass(slots=True)
class TopicOut:
    """A :class:`RecordingOut` whose topic is there only once it has a record."""

    topic: str
    sent: dict[str, list[Sent]]

    def append(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        """Take a record."""
        RecordingOut(self.topic, self.sent.setdefault(self.topic, [])).append(key, prefix, payload, headers, timestamp)

    def extend(self, keys: Sequence[bytes] | None, prefix: bytes, payloads: Sequence[bytes], headers: bytes, timestamp: int) -> None:
        """Take many records."""
        RecordingOut(self.topic, self.sent.setdefault(self.topic, [])).extend(keys, prefix, payloads, headers, timestamp)


@dataclass(slots=True)
class Failures:
    """The warnings of a stream: values that could not be converted, and events that were left out."""

    reported: list[tuple[str, str, str]] = field(default_factory=list)
    """(table, column, reason)"""
    left_out: list[tuple[str, int, str]] = field(default_factory=list)
    """(table, LSN, reason)"""

    def __call__(self, event: str, /, **fields: object) -> None:
        """A :class:`connector.log.Warn`."""
        table, reason = str(fields["table"]), str(fields["reason"])
        if event == "value sent as null":
            self.reported.append((table, str(fields["column"]), reason))
        else:
            assert event == "event left out"
            self.left_out.append((table, parse_lsn(str(fields["lsn"])), reason))


PLUGINS = AllowedPlugins.parse("tests.support, cents")
"""The tests' own converters, and that of docs/extending.md."""


class StreamRig:
    """A stream over the tables of ``catalog``; ``sent`` holds the records of each topic in order."""

    def __init__(
        self,
        *tables: CatalogTable,
        config: ConnectorConfig | None = None,
        settings: StreamSettings | None = None,
        converter: ConverterSettings | None = None,
        last_commit: int | None = None,
        resume: Resume | None = None,
        types: dict[int, TypeInfo] | None = None,
        offset: StoredOffset | None = None,
        messages: bool = False,
    ) -> None:
        """``offset`` is what an earlier run stored: it takes the place of ``last_commit`` and ``resume``; ``messages``: sent too."""
        config = config or configured()
        converter = converter or ConverterSettings(schemas_enable=False)
        self.warnings = Warned()
        self.failures = Failures()
        self.meter = StreamMeter()
        self.capture = Capture(Selection.of(config), types or TYPES, converter, converter, self.warnings, PLUGINS)
        self.catalog = {(table.schema, table.table): table for table in tables}
        self.sent: dict[str, list[Sent]] = {}
        self.stream = Stream(
            settings or StreamSettings(form=event_form(config.emulation)),
            last_commit=offset.commit if offset else last_commit,
            resume=resume_point(offset) if offset else resume,
            warn=self.failures,
            passed_message=offset.passed_message if offset else 0,
            counts=offset.counts if offset else None,
            ts_us=offset.ts_us if offset else 0,
            transactions=TransactionLog(converter, converter, TopicOut("srv.transaction", self.sent))
            if config.provide_transaction_metadata
            else None,
            messages=self._message_topic(config, converter) if messages else None,
            meter=self.meter,
        )
        self.asked: list[Relation] = []
        """Relations whose facts the stream stopped for."""
        self.signals: list[SignalRow] = []
        """Rows of the signal table, which the rig does not obey."""
        self.reread: list[Reread] = []
        """Rows that the stream stopped for to have them read again."""
        self.found: dict[tuple[bytes, ...], dict[str, bytes | None]] = {}
        """What such a row is by now, by the texts of the key's columns; a row that is not here is gone."""

    def feed(self, frames: Sequence[bytes], now_ns: int = NOW_NS) -> list[Sent]:
        """Work through all frames; answers the records they made, topic after topic."""
        before = {topic: len(records) for topic, records in self.sent.items()}
        answer = self.stream.feed(frames, now_ns)
        while not isinstance(answer, Used):
            match answer:
                case NeedRelation():
                    self._adopt(answer.relation)
                case NeedReread():
                    self._read_again(answer.reread)
                case Signal():
                    self.signals.append(answer.row)
                case AtCommit():
                    pass
                case _:
                    assert_never(answer)
            frames = frames[answer.used :]
            answer = self.stream.feed(frames, now_ns)
        return [record for topic, records in self.sent.items() for record in records[before.get(topic, 0) :]]

    def _read_again(self, first: Reread) -> None:
        asked: Reread | None = first
        while asked is not None:
            self.reread.append(asked)
            row = self.found.get(tuple(cell for _, cell in asked.key))
            if row is None:
                asked = self.stream.complete(None, "it is gone")
            else:
                asked = self.stream.complete([row[asked.table.columns[at].name] for at in asked.columns])

    def _message_topic(self, config: ConnectorConfig, converter: ConverterSettings) -> MessageTopic:
        return MessageTopic(
            prefix_filter(config.message_prefix_include_list, config.message_prefix_exclude_list),
            self.capture.message_source(),
            config.binary_handling_mode,
            converter,
            converter,
            TopicOut(self.capture.topics.message(), self.sent),
        )

    def _adopt(self, relation: Relation) -> None:
        self.asked.append(relation)
        if not self.capture.selection.filters.captures(relation.schema, relation.table):
            self.stream.adopt(relation, None)
            return
        table = join_relation(relation, self.catalog.get((relation.schema, relation.table)))
        encoder = self.capture.encoder(table)
        out = RecordingOut(encoder.topic, self.sent.setdefault(encoder.topic, []))
        reselections = self.capture.reselections(table, encoder)
        self.stream.adopt(relation, LiveTable(encoder, self.capture.source(table), out, reselections=reselections))


def catalog_table(
    name: str,
    *columns: Column,
    oid: int = 5000,
    schema: str = "public",
    primary_key: Sequence[str] = (),
    unique_key: Sequence[str] = (),
    identity: str = "d",
) -> CatalogTable:
    """A table for a rig's catalog."""
    return CatalogTable(oid, schema, name, columns, tuple(primary_key), tuple(unique_key), identity=identity)


def relation_of(table: CatalogTable) -> Relation:
    """How pgoutput describes the table: the identity's columns are flagged."""
    names = set(table.primary_key) if table.identity == "d" else {c.name for c in table.columns} if table.identity == "f" else set()
    columns = tuple(RelationColumn(c.name, c.type_oid, c.modifier, c.name in names) for c in table.columns)
    return Relation(table.oid, table.schema, table.table, table.identity, columns)
