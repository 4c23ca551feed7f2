"""One topic of changes as each of the connector's converters writes it, and a registry that has its schemas."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import unquote
from uuid import UUID

from connector.converters.catalog import make_converter
from connector.converters.converter import Converted, Converter, ConverterChoice, RawHeader, SchemaNeededError, SchemaRequest
from connector.converters.registry import RegisteredSchema, Registry, SchemaAsk
from connector.emulation import DEFAULT
from connector.plugins.allowed import AllowedPlugins
from connector.record.connect_record import Header
from connector.record.json_reader import read_schema, value_reader
from connector.record.schema import Schema
from connector.record.struct import field_of
from tests.support.cloud_event_cases import SOURCE, TRANSACTION
from tests.support.spark.topic_log import EPOCH, ID, NAME, Json, Record, price

TOPIC: Final = "shop.public.items"
ROW: Final = (
    ID,
    {"type": "int16", "optional": False, "field": "small"},
    NAME,
    price(2),
    {
        "type": "struct",
        "optional": True,
        "name": "io.debezium.data.VariableScaleDecimal",
        "version": 1,
        "doc": "Variable scaled decimal",
        "fields": [
            {"type": "int32", "optional": False, "field": "scale"},
            {"type": "bytes", "optional": False, "field": "value"},
        ],
        "field": "any",
    },
    {"type": "bytes", "optional": True, "field": "data"},
    {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp", "version": 1, "field": "at"},
    {"type": "int32", "optional": True, "name": "io.debezium.time.Date", "version": 1, "field": "day"},
    {"type": "double", "optional": True, "default": 1.5, "field": "weight"},
    {"type": "boolean", "optional": True, "field": "sold"},
    {"type": "array", "optional": True, "items": {"type": "string", "optional": True}, "field": "tags"},
    {
        "type": "map",
        "optional": True,
        "keys": {"type": "string", "optional": False},
        "values": {"type": "string", "optional": True},
        "field": "pairs",
    },
    {
        "type": "struct",
        "optional": True,
        "name": "io.debezium.data.SparseDoubleVector",
        "version": 1,
        "fields": [
            {"type": "int16", "optional": False, "field": "dimensions"},
            {
                "type": "map",
                "optional": False,
                "keys": {"type": "int16", "optional": False},
                "values": {"type": "double", "optional": False},
                "field": "vector",
            },
        ],
        "field": "sparse",
    },
    {"type": "string", "optional": True, "name": "io.debezium.data.Json", "version": 1, "field": "document"},
)
FULL: Final[Json] = {
    "id": 1,
    "small": -3,
    "name": 'ä "," ',
    "price": base64.b64encode((1050).to_bytes(2, "big")).decode(),
    "any": {"scale": 1, "value": "Cw=="},
    "data": "AP8Q",
    "at": -1,
    "day": 18321,
    "weight": 0.5,
    "sold": True,
    "tags": ["a", None],
    "pairs": {"k": "v", "n": None},
    "sparse": {"dimensions": 9, "vector": [[1, 0.5], [7, 2.0]]},
    "document": '{"data":1,"op":"x"}',
}
EMPTY: Final[Json] = {**dict.fromkeys(FULL), "id": 2, "small": 0, "weight": 2.0}
UNSENT: Final[Json] = {**FULL, "name": "__debezium_unavailable_value", "small": 4}


def envelope() -> Json:
    images = [
        {"type": "struct", "optional": True, "name": f"{TOPIC}.Value", "fields": list(ROW), "field": side} for side in ("before", "after")
    ]
    rest = [
        {**SOURCE, "field": "source"},
        {**TRANSACTION, "optional": True, "field": "transaction"},
        {"type": "string", "optional": False, "field": "op"},
        {"type": "int64", "optional": True, "field": "ts_ms"},
    ]
    return {"type": "struct", "optional": False, "name": f"{TOPIC}.Envelope", "version": 2, "fields": [*images, *rest]}


def key_schema() -> Json:
    return {"type": "struct", "optional": False, "name": f"{TOPIC}.Key", "fields": [ID]}


def flat() -> Json:
    """The schema after event flattening with ``add.fields=op,lsn,source.ts_ms``."""
    added = [
        {"type": "string", "optional": True, "field": "__op"},
        {"type": "int64", "optional": True, "field": "__lsn"},
        {"type": "int64", "optional": True, "field": "__source_ts_ms"},
    ]
    return {"type": "struct", "optional": False, "name": f"{TOPIC}.Value", "fields": [*ROW, *added]}


def changes() -> list[tuple[Json | None, Json | None]]:
    """(Key, value) of each record: an insert, an update without the text, an insert of nulls, its delete, a truncate."""

    def change(number: int, op: str, before: Json | None, after: Json | None) -> Json:
        source: Json = dict.fromkeys(str(field["field"]) for field in SOURCE["fields"])
        source |= {"version": "3", "connector": "postgresql", "name": "shop", "ts_ms": 1_000_000 + number, "snapshot": "false"}
        source |= {"db": "shop", "sequence": '["1","2"]', "schema": "public", "table": "items", "txId": 500 + number, "lsn": 100 + number}
        transaction = {"id": f"{500 + number}:{100 + number}", "total_order": 1, "data_collection_order": 1}
        body = {"before": before, "after": after, "source": source, "op": op, "ts_ms": 2_000_000 + number}
        return {**body, "transaction": None if op == "t" else transaction}

    return [
        ({"id": 1}, change(1, "c", None, FULL)),
        ({"id": 1}, change(2, "u", None, UNSENT)),
        ({"id": 2}, change(3, "c", None, EMPTY)),
        ({"id": 2}, change(4, "d", EMPTY, None)),
        ({"id": 2}, None),
        (None, change(5, "t", None, None)),
    ]


def rows() -> list[tuple[Json | None, Json | None]]:
    """The same without the delete, after event flattening."""

    def row(value: Json | None) -> Json | None:
        if value is None:
            return None
        source, after = value["source"], value["after"]
        assert isinstance(source, dict)
        assert isinstance(after, dict)
        return {**after, "__op": value["op"], "__lsn": source["lsn"], "__source_ts_ms": source["ts_ms"]}

    return [(key, row(value)) for key, value in changes() if value is None or value["after"] is not None]


@dataclass(slots=True)
class Written:
    """Writes records by two converters. ``resolve`` has a registry answer what a converter asks.

    With ``describes`` records have the headers source, op and transaction, as HeaderFrom makes them.
    """

    resolve: Callable[[Registry, SchemaRequest], None]
    key: ConverterChoice
    value: ConverterChoice
    describes: bool = False

    def records(self, schema: Json, values: list[tuple[Json | None, Json | None]]) -> list[Record]:
        """The records as Kafka has them."""
        sides = {"key": make_converter(self.key, "key", DEFAULT, _PLUGINS), "value": make_converter(self.value, "value", DEFAULT, _PLUGINS)}
        key_of, value_of = read_schema(json.dumps(key_schema()).encode()), read_schema(json.dumps(schema).encode())
        found: list[Record] = []
        for offset, (key, value) in enumerate(values):
            key_bytes, key_headers = self._bytes(sides["key"], key_of, key)
            value_bytes, value_headers = self._bytes(sides["value"], value_of, value)
            headers = [(name, content or b"") for name, content in (*key_headers, *value_headers)]
            found.append((TOPIC, 0, offset, EPOCH + timedelta(milliseconds=offset), key_bytes, value_bytes, headers))
        return found

    def _bytes(self, converter: Converter, schema: Schema, value: Json | None) -> tuple[bytes | None, list[RawHeader]]:
        if value is None:
            return None, []
        read = value_reader(schema)(value)
        named = ("source", "op", "transaction") if self.describes and field_of(schema, "source") is not None else ()
        headers = [Header(field.name, field.schema, read[field.name]) for field in schema.fields if field.name in named]
        found = self._converted(converter, schema, read, headers)
        return (None if found.payload is None else found.prefix + found.payload), [*found.headers]

    def _converted(self, converter: Converter, schema: Schema, value: Any, headers: Sequence[Header]) -> Converted:
        try:
            return converter.convert(TOPIC, schema, value, headers)
        except SchemaNeededError as needed:
            registry, request = needed.registry, needed.request
        assert isinstance(registry, Registry)
        self.resolve(registry, request)
        return self._converted(converter, schema, value, headers)


_PLUGINS: Final = AllowedPlugins()


@dataclass(slots=True)
class RecordingRegistry:
    """Answers GET of Confluent's API, and of Apicurio's 2 and 3, on the loopback interface. Contents count from 101, versions from 201."""

    answers: dict[str, object] = field(default_factory=dict)
    _known: dict[tuple[str, str], RegisteredSchema] = field(default_factory=dict)
    _server: ThreadingHTTPServer | None = None
    _thread: threading.Thread | None = None

    def resolve(self, registry: Registry, request: SchemaRequest) -> None:
        """Register what a converter asks for, and have it know the answer."""
        assert isinstance(request.ask, SchemaAsk)
        registry.learn(request, self.register(request.subject, request.ask))

    def register(self, subject: str, ask: SchemaAsk) -> RegisteredSchema:
        """Keep a schema, and those that it refers to."""
        known = self._known.get((subject, ask.text))
        if known is not None:
            return known
        references = []
        for reference in ask.references:
            assert isinstance(reference.request.ask, SchemaAsk)
            at = self.register(reference.request.subject, reference.request.ask)
            # Without the group: Apicurio leaves out that of the default group.
            references.append({"artifactId": reference.request.subject, "name": reference.name, "version": at.version})
        number = len(self._known)
        known = RegisteredSchema(101 + number, 201 + number, guid=str(UUID(int=number + 1)), version=str(1 + number))
        self._known[subject, ask.text] = known
        for place in (f"ids/{known.id}", f"guids/{known.guid}"):
            self.answers[f"/schemas/{place}"] = {"schema": ask.text, "schemaType": ask.type}
        for version in ("2", "3"):
            there = f"/groups/default/artifacts/{subject}/versions/{known.version}"
            for place in (f"/ids/contentIds/{known.id}", f"/ids/globalIds/{known.global_id}", there):
                api = f"/apis/registry/v{version}{place}"
                self.answers[f"{api}/content" if version == "3" and place is there else api] = ask.text
                self.answers[f"{api}/references"] = references
        return known

    @property
    def url(self) -> str:
        """The address of Confluent's API."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self.answers))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler(answers: Mapping[str, object]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answers.get(unquote(self.path))
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(body.encode() if isinstance(body, str) else json.dumps(body).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    return Handler
