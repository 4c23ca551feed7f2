"""Random records: changes of rows, what else a Debezium connector sends, and anything that Connect allows."""

from __future__ import annotations

import base64
from random import Random
from typing import Any, Final

from tests.differential.transforms.parts import OTHERS, PLAIN, TIMES, Json, Kind, Maker, Part

Record = dict[str, Any]
"""A record as both sides read it. Keys, values and headers are texts of JSON with their schemas."""

_TEXT: Final = PLAIN[7]
_LONG: Final = PLAIN[3]
_INT: Final = PLAIN[2]
_OPERATIONS: Final = ("c", "c", "u", "u", "u", "d", "d", "r")
_TOPICS: Final = ("s.public.t", "s.public.t", "s.public.orders", "s.shop.t_1", "t", "s.transaction", "__debezium-heartbeat.s")
HEADERS: Final = ("h", "id", "a", "name", "changed", "drop", "event", "ä", "x y")


def _optional(kind: Kind) -> Kind:
    return Kind(kind.schema | {"optional": True}, kind.value)


def _fixed(schema: Kind, *values: Any) -> Kind:
    return Kind(schema.schema, lambda random: random.choice(values))


class RecordMaker(Maker):
    """Makes records of one table or topic, which have the same schemas."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.topic: Final = random.choice(_TOPICS)
        self._make: Final = random.choices(
            (self._change, self._outbox, self._row, self._any, self._plain, self._message, self._other), (8, 3, 3, 4, 1.5, 1, 1)
        )[0]
        self._row_kind: Final = self._columns()
        self._key_kind: Final = self._key()
        self._any_kind: Final = self.kind(2)
        self._source_kind: Final = self._source()
        self._envelope: Final = self._envelope_kind(self._row_kind)
        self._header_kinds: Final = [(random.choice(HEADERS), self._header_kind()) for _ in range(random.choice((0, 0, 1, 2, 3)))]
        self._outbox_row: Final = self._outbox_columns()
        self._outbox_envelope: Final = self._envelope_kind(self._outbox_row)

    def record(self) -> Record:
        """Return the next record."""
        key, value = self._make()
        draw = self.random.random
        if draw() < 0.06:
            value = Part(None, None)
        if draw() < 0.06:
            key = Part(None, None)
        return {
            "topic": self.topic,
            "partition": self.random.choice((None, None, 0, 3)),
            "timestamp": self.random.choice((None, 0, 1_700_000_000_123, 1_600_000_000_000, -1)),
            "key": key.text(),
            "value": value.text(),
            "headers": [[name, self.part(kind).text()] for name, kind in self._header_kinds if draw() < 0.85],
        }

    def _header_kind(self) -> Kind:
        if self.random.random() < 0.4:
            names = [each["field"] for each in self._row_kind.schema["fields"]]
            listed = _optional(
                Kind({"type": "array", "optional": False, "items": _TEXT.schema}, lambda r: [n for n in names if r.random() < 0.5])
            )
            return self.random.choice((listed, _TEXT, _optional(_TEXT)))
        return self.kind(1)

    def _columns(self) -> Kind:
        fields = [("id", _INT)] if self.random.random() < 0.8 else []
        names = [name for name in ("a", "b", "c", "name", "ts", "amount", "a.b", "ä", "__op", "A") if self.random.random() < 0.4]
        fields += [(name, self.kind(1)) for name in names]
        return _optional(self.struct_of(fields, name=f"{self.topic}.Value", version=self.random.choice((None, None, 2))))

    def _key(self) -> Kind:
        fields = self._row_kind.schema["fields"]
        names = [("id", _INT)] if self.random.random() < 0.7 else []
        if fields and self.random.random() < 0.3:
            names.append(("name", self.kind(1)))
        return self.struct_of(names, name=f"{self.topic}.Key")

    def _source(self) -> Kind:
        zero = _fixed(_LONG, 1_700_000_000_000, 0, 1_650_000_000_123)
        fields = [
            ("version", _fixed(_TEXT, "3.6.3.Final")),
            ("connector", _fixed(_TEXT, "postgresql")),
            ("name", _fixed(_TEXT, "s")),
            ("ts_ms", zero),
            (
                "snapshot",
                Kind(
                    _TEXT.schema
                    | {
                        "optional": True,
                        "name": "io.debezium.data.Enum",
                        "version": 1,
                        "parameters": {"allowed": "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"},
                        "default": "false",
                    },
                    lambda random: random.choice(("true", "last", "false", None)),
                ),
            ),
            ("db", _fixed(_TEXT, "d")),
            ("sequence", _optional(_fixed(_TEXT, '["1","2"]', None))),
            ("ts_us", _optional(zero)),
            ("ts_ns", _optional(zero)),
            ("schema", _fixed(_TEXT, self.random.choice(("public", "shop")))),
            ("table", _fixed(_TEXT, self.random.choice(("t", "orders", "t_1")))),
            ("txId", _optional(_LONG)),
            ("lsn", _optional(_LONG)),
            ("xmin", _optional(_LONG)),
        ]
        return self.struct_of(fields, name="io.debezium.connector.postgresql.Source", version=self.random.choice((None, 1)))

    def _envelope_kind(self, row: Kind) -> Kind:
        block = self.struct_of(
            [("id", _fixed(_TEXT, "9:1")), ("total_order", _fixed(_LONG, 1, 2)), ("data_collection_order", _fixed(_LONG, 1))],
            name="event.block",
            version=1,
        )
        block = _optional(block)
        fields = [("before", row), ("after", row), ("source", self._source_kind)]
        if self.random.random() < 0.8:
            fields.append(("transaction", block))
        times = [(name, _optional(_fixed(_LONG, 1_700_000_000_500, 5))) for name in ("ts_ms", "ts_us", "ts_ns")]
        fields += [("op", _TEXT), *times[: self.random.choice((1, 3, 3))]]
        if self.random.random() < 0.1:
            self.random.shuffle(fields)
        return self.struct_of(fields, name=f"{self.topic}.Envelope", version=self.random.choice((None, 1, 2)))

    def _change(self) -> tuple[Part, Part]:
        return self.part(self._key_kind), self._event(self._envelope, self._row_kind)

    def _event(self, envelope: Kind, row: Kind) -> Part:
        value = envelope.value(self.random)
        draw = self.random.random()
        op = self.random.choice(_OPERATIONS) if draw < 0.93 else self.random.choice(("t", "m", "x", ""))
        value["op"] = op
        bare = Kind(row.schema, row.value)
        value["after"] = None if op in ("d", "t") else bare.value(self.random)
        value["before"] = None if op in ("c", "r", "t") or (self.random.random() < 0.4 and op != "d") else bare.value(self.random)
        if op == "u" and value["before"] is not None:
            for name in value["before"]:
                if self.random.random() < 0.5:
                    value["after"][name] = value["before"][name]
        return Part(envelope.schema, value)

    def _outbox_columns(self) -> Kind:
        payload = self.random.choice(
            (
                _fixed(
                    _TEXT,
                    "",
                    " ",
                    "{}",
                    '{"a":1,"b":"x","c":null,"d":[1,2],"e":{"f":1.5}}',
                    '{"a":[]}',
                    '{"a":[{"b":1},{"c":"x"}]}',
                    '{"a":[null,1]}',
                    '{"a":[1,"x"]}',
                    '{"a-b":1,"1x":2147483648}',
                    "[1,2]",
                    "5",
                    "no json",
                    "null",
                    '{"a":1e400}',
                    '{"a":1,"a":2}',
                    '{"a":12345678901234567890}',
                ),
                Kind(
                    _TEXT.schema | {"name": "io.debezium.data.Json", "version": 1},
                    lambda random: random.choice(("{}", '{"x":{"y":[{"z":true}]}}')),
                ),
                PLAIN[8],
                _INT,
                self.kind(1),
            )
        )
        fields = [
            ("id", self.random.choice((OTHERS[2], _TEXT, _INT))),
            ("aggregatetype", _fixed(_TEXT, "order", "customer", "", "a.b", "$1")),
            ("aggregateid", self.random.choice((_TEXT, _LONG, OTHERS[2]))),
            ("type", _fixed(_TEXT, "Created", "")),
            ("payload", self.random.choice((payload, _optional(payload)))),
        ]
        if self.random.random() < 0.5:
            fields.append(("ts", self.random.choice(TIMES)))
        if self.random.random() < 0.5:
            fields.append(("version", self.random.choice((_fixed(_INT, 1, 2), _optional(_INT), _TEXT))))
        if self.random.random() < 0.5:
            fields.append(("a", self.kind(1)))
        if self.random.random() < 0.3:
            fields.append(("tracingspancontext", _optional(_TEXT)))
        if self.random.random() < 0.08:
            fields.pop(self.random.randrange(len(fields)))
        fields = [(name, self.random.choice((kind, kind, kind, _optional(kind)))) for name, kind in fields]
        return _optional(self.struct_of(fields, name=f"{self.topic}.Value"))

    def _outbox(self) -> tuple[Part, Part]:
        return self.part(self._key_kind), self._event(self._outbox_envelope, self._outbox_row)

    def _row(self) -> tuple[Part, Part]:
        return self.part(self._key_kind), Part(self._row_kind.schema, self._row_kind.value(self.random))

    def _any(self) -> tuple[Part, Part]:
        return self.part(self.random.choice((self._key_kind, self._any_kind))), self.part(self._any_kind)

    def _plain(self) -> tuple[Part, Part]:
        return Part(None, self.plain()), Part(None, self.plain())

    def _message(self) -> tuple[Part, Part]:
        content = self.random.choice((b'{"a":1,"b":null}', b"{}", b"[1]", b"text", b"", b'{"a":{"b":[1,"x"]}}'))
        bytes_ = Kind(PLAIN[8].schema, lambda _random: _base64(content))
        message = self.struct_of(
            [("prefix", _optional(_fixed(_TEXT, "p"))), ("content", _optional(bytes_))],
            name="io.debezium.connector.postgresql.Message",
            version=1,
        )
        value = self.struct_of(
            [("op", _fixed(_TEXT, "m")), ("ts_ms", _optional(_LONG)), ("source", self._source_kind), ("message", message)],
            name="io.debezium.connector.postgresql.MessageValue",
            version=1,
        )
        key = self.struct_of([("prefix", _optional(_fixed(_TEXT, "p")))], name="io.debezium.connector.postgresql.MessageKey", version=1)
        return self.part(key), self.part(value)

    def _other(self) -> tuple[Part, Part]:
        return self.random.choice((self._heartbeat, self._transaction, self._schema_change))()

    def _heartbeat(self) -> tuple[Part, Part]:
        key = self.struct_of([("serverName", _fixed(_TEXT, "s"))], name="io.debezium.connector.common.ServerNameKey", version=1)
        return self.part(key), self.part(self.struct_of([("ts_ms", _LONG)], name="io.debezium.connector.common.Heartbeat", version=1))

    def _transaction(self) -> tuple[Part, Part]:
        key = self.struct_of([("id", _fixed(_TEXT, "9:1"))], name="io.debezium.connector.common.TransactionMetadataKey", version=1)
        counts = self.struct_of([("data_collection", _TEXT), ("event_count", _LONG)], name="event.collection", version=1)
        several: Json = {"type": "array", "optional": True, "items": counts.schema}
        value = self.struct_of(
            [
                ("status", _fixed(_TEXT, "BEGIN", "END")),
                ("id", _TEXT),
                ("event_count", _optional(_LONG)),
                ("data_collections", Kind(several, lambda random: [self.value(counts) for _ in range(random.randrange(3))])),
                ("ts_ms", _LONG),
            ],
            name="io.debezium.connector.common.TransactionMetadataValue",
            version=1,
        )
        return self.part(key), self.part(value)

    def _schema_change(self) -> tuple[Part, Part]:
        change = self.struct_of(
            [("type", _fixed(_TEXT, "CREATE", "ALTER", "DROP", "TRUNCATE")), ("id", _TEXT)], name="io.debezium.connector.schema.Change"
        )
        several: Json = {"type": "array", "optional": True, "items": change.schema}
        value = self.struct_of(
            [
                ("source", self._source_kind),
                ("ts_ms", _LONG),
                ("databaseName", _optional(_TEXT)),
                ("ddl", _optional(_TEXT)),
                ("tableChanges", Kind(several, lambda random: [self.value(change) for _ in range(random.randrange(3))])),
            ],
            name="io.debezium.connector.postgresql.SchemaChangeValue",
            version=1,
        )
        key = self.struct_of([("databaseName", _TEXT)], name="io.debezium.connector.postgresql.SchemaChangeKey", version=1)
        return self.part(key), self.part(value)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
