"""The fast path of an outbox row to its message: only the columns that the message is made of become values.

The generic way reads the whole event, infers the schema of a JSON payload and encodes the payload by it: 52 µs for a payload of 16 members,
12 µs for a payload that stays text.
Here the row is cut out of the event's bytes, and what depends on the payload's shape alone is kept for the next payload of that shape:
14 µs and 5 µs. A property test holds both ways equal.

A row that needs more goes by way of values (:mod:`connector.delivery.record_conversion`): updates and deletes, rows whose key changed,
payloads with numbers that Java writes in its own way, and whatever the transform or a converter fails on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from connector.converters.converter import Converter
from connector.converters.simple_header import SimpleHeaderConverter
from connector.delivery.compiled_path import HEAD, MARKER, holds_source
from connector.delivery.row_run import RowColumn, RowRun, RowTable, shared_tails
from connector.record.batch import NO_HEADERS, HeaderWriter, read_headers
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.json_converter import ConverterSettings, around_payload, value_encoder
from connector.record.json_reader import read_schema, split_opening
from connector.record.schema import NO_DEFAULT, Schema
from connector.record.struct import field_of
from connector.transforms.chain import Chain, Step
from connector.transforms.debezium.outbox.event_router import MILLISECONDS, EventRouter
from connector.transforms.debezium.outbox.json_payload import Unexpandable, converted
from connector.transforms.debezium.outbox.payload_shape import NoShapeError, shape_check, shape_of
from connector.transforms.kafka.predicates import TopicNameMatches
from connector.transforms.kafka.regex_router import RegexRouter

_OPERATION: Final = re.compile(rb'"op":"[cr]","ts_ms":(\d+)[,}]')
"""The operation and the time in an event's tail; of the operations only those that become messages."""
_UNLIKE_JACKSON: Final = re.compile(rb"\\u00|[\xf0-\xf4]")
"""What Jackson writes in other bytes than orjson (:func:`connector.record.json_converter.quote`)."""
_SAME_IN_JSON: Final = frozenset({"string", "boolean", "int8", "int16", "int32", "int64"})
"""Types whose values JSON shows as they are."""
_OTHER_KEYS: Final = (b"__debezium.newkey", b"__debezium.oldkey")
_MOST: Final = 1_000
_OFTEN: Final = 16
"""After so many payloads of one shape its check is compiled, which takes as long as a hundred payloads."""
_BY_VALUES: Final = (DataError, Unexpandable, NoShapeError, RecursionError)
"""What a row is refused with here: by way of values it fails with all that is to be said, or it does not."""


class Message(NamedTuple):
    """What an outbox row becomes."""

    topic: str
    key: bytes | None
    prefix: bytes
    payload: bytes | None
    headers: bytes
    timestamp: int


@dataclass(slots=True)
class _Expanded:
    """How the payloads of one shape are written. ``schema`` is None where they are written as they were parsed."""

    before: bytes
    after: bytes
    schema: Schema | None
    encode: Callable[[Any], bytes]
    uses: int = 0
    fits: Callable[[Any], bool] = lambda _node: False
    """Whether a payload has this shape. A payload that has may be denied, for it is compiled only for a shape that comes often."""


class Converters(NamedTuple):
    """The converters of a task; headers have SimpleHeaderConverter. ``json`` are the settings of the value's when it is JsonConverter."""

    key: Converter
    value: Converter
    json: ConverterSettings | None


class _Columns(NamedTuple):
    """The columns that a message is made of, each with its schema. ``divisor`` makes milliseconds of the timestamp's value."""

    key: Schema
    payload: Schema
    headers: Sequence[tuple[str, str, Schema]]
    """Name of the header, name of the column, its schema."""
    divisor: int


def routes_outbox(chain: Chain) -> bool:
    """Whether the chain is one EventRouter, with nothing but changes of topics before and after it."""
    routers = [step for step in chain.steps if isinstance(step.transform, EventRouter)]
    return len(routers) == 1 and all(
        isinstance(step.transform, EventRouter | RegexRouter) and (step.predicate is None or isinstance(step.predicate, TopicNameMatches))
        for step in chain.steps
    )


def outbox_path(chain: Chain, topic: str, prefix: bytes, converters: Converters) -> OutboxPath | None:
    """Return the way of the events of a topic that begin with ``prefix`` (the schema); None where they must go by way of values."""
    schema = read_schema(split_opening(prefix))
    after = field_of(schema, "after")
    if after is None or schema.name is None or not schema.name.endswith(".Envelope") or holds_source(after.schema):
        return None
    for number, step in enumerate(chain.steps):
        if not _applies(step, topic):
            continue
        if isinstance(step.transform, RegexRouter):
            topic = _renamed(step.transform, topic)
        elif isinstance(step.transform, EventRouter):
            columns = _columns(step.transform, after.schema)
            if columns is None or (step.transform.expands and converters.json is None):
                return None
            return OutboxPath(step.transform, chain.steps[number + 1 :], columns, converters)
    return None


def _applies(step: Step, topic: str) -> bool:
    return step.predicate is None or step.predicate.test(ConnectRecord(topic)) != step.negate


def _renamed(router: RegexRouter, topic: str) -> str:
    return router.apply(ConnectRecord(topic)).topic


def _columns(router: EventRouter, row: Schema) -> _Columns | None:
    """The columns; None where one is missing, or where its value is not what the event shows."""
    headers = [("id", router.id_column)]
    for placement in router.placements.every:
        if placement.place != "header":
            return None
        if field_of(row, placement.column) is not None or not router.placements.skips_missing:
            headers.append((placement.name, placement.column))
    needed = [column for _, column in headers]
    needed += [router.key_column, router.payload_column, router.route_column, *filter(None, (router.timestamp_column,))]
    schemas: dict[str, Schema] = {}
    for column in needed:
        field = field_of(row, column)
        if field is None or field.schema.type not in _SAME_IN_JSON or field.schema.default is not NO_DEFAULT:
            return None
        schemas[column] = field.schema
    divisor = 1
    if router.timestamp_column is not None:
        time = schemas[router.timestamp_column]
        if time.type != "int64" or (time.name or "") not in MILLISECONDS:
            return None
        divisor = MILLISECONDS[time.name or ""]
    if schemas[router.route_column].type != "string":
        return None
    shown = [(name, column, schemas[column]) for name, column in headers]
    return _Columns(schemas[router.key_column], schemas[router.payload_column], shown, divisor)


def _header_value(schema: Schema) -> Callable[[Any], bytes | None]:
    """What SimpleHeaderConverter does with values of a column."""
    if schema.type == "string":
        return lambda value: None if value is None else value.encode()
    convert = SimpleHeaderConverter().convert
    return lambda value: convert("", "", schema, value)


class OutboxPath:
    """The way of one outbox table's rows."""

    __slots__ = ("_base", "_columns", "_converters", "_expanded", "_later", "_router", "_shown", "_topics", "_usual")

    def __init__(self, router: EventRouter, later: Sequence[Step], columns: _Columns, converters: Converters) -> None:
        self._router = router
        self._later = later
        """The steps after the router."""
        self._columns = columns
        self._converters = converters
        self._expanded: dict[Hashable, _Expanded] = {}
        self._usual: dict[str, _Expanded] = {}
        """How the last payload of a topic was written whose shape comes often."""
        self._topics: dict[str, str] = {}
        self._shown = [_header_value(schema) for _, _, schema in columns.headers]
        self._base: tuple[bytes, HeaderWriter] = NO_HEADERS, self._header_writer(NO_HEADERS)
        """The headers of the last event, and what writes them with those of a message: all events of a run have the same."""

    def message(self, payload: bytes, headers: bytes) -> Message | None:
        """Return the message of a row that was inserted or read; None where the event must go by way of values."""
        cut = len(HEAD)
        if not payload.startswith(HEAD) or payload.startswith(b"null", cut):
            return None
        end = payload.index(MARKER, cut)
        operation = _OPERATION.match(payload, payload.rfind(b'"op":"', end))
        own = None if operation is None else self._headers(headers)
        if operation is None or own is None:
            return None
        try:
            return self._message(orjson.loads(memoryview(payload)[cut:end]), int(operation[1]), own)
        except _BY_VALUES:
            return None

    def rows(self, table: RowTable) -> OutboxRows | None:
        """Return the direct way of the table's rows; None where they must come as events."""
        router = self._router
        needed = {column for _, column, _ in self._columns.headers} | {router.key_column, router.payload_column, router.route_column}
        if router.timestamp_column is not None:
            needed.add(router.timestamp_column)
        columns = [column for column in table.row_columns if column.name in needed]
        if any(column.codec.cell_value is not None for column in columns):
            return None
        return OutboxRows(self, columns)

    def messages(self, columns: Sequence[RowColumn], run: RowRun, headers: bytes) -> list[Message] | None:
        """Return the messages of a run's rows, given the columns that they are made of; None where one must come as an event."""
        own = self._headers(headers)
        if own is None:
            return None
        names = [column.name for column in columns]
        try:
            times = list(shared_tails(_time, run))
            rows = zip(*(column.values(run.columns[column.index]) for column in columns), strict=True)
            return [self._message(dict(zip(names, row, strict=True)), time, own) for row, time in zip(rows, times, strict=True)]
        except (ValueError, *_BY_VALUES):
            return None

    def _message(self, row: Mapping[str, Any], time: int, own: HeaderWriter) -> Message:
        """Make the message. ``time`` is the event's, ``own`` writes its headers. Raises one of :data:`_BY_VALUES`."""
        router, columns, converters = self._router, self._columns, self._converters
        topic = self._topic(row[router.route_column])
        prefix, value = self._value(row[router.payload_column], topic)
        key = converters.key.convert(topic, columns.key, row[router.key_column], ())
        shown = [write(row[column]) for (_, column, _), write in zip(columns.headers, self._shown, strict=True)]
        if router.timestamp_column is not None and (at := row[router.timestamp_column]) is not None:
            time = at // columns.divisor if at >= 0 else -(-at // columns.divisor)
        whole_key = None if key.payload is None else key.prefix + key.payload
        return Message(topic, whole_key, prefix, value, own.written(shown), time)

    def _headers(self, headers: bytes) -> HeaderWriter | None:
        encoded, found = self._base
        if headers != encoded:
            if any(name in headers for name in _OTHER_KEYS):
                return None
            found = self._header_writer(headers)
            self._base = headers, found
        return found

    def _header_writer(self, headers: bytes) -> HeaderWriter:
        return HeaderWriter(read_headers(headers), [name for name, _, _ in self._columns.headers])

    def _topic(self, value: str | None) -> str:
        if value is None:
            raise DataError("The routing column is null")
        topic = self._topics.get(value)
        if topic is None:
            topic = self._router.topic_of(value)
            for step in self._later:
                if isinstance(step.transform, RegexRouter) and _applies(step, topic):
                    topic = _renamed(step.transform, topic)
            if len(self._topics) >= _MOST:
                self._topics.clear()
            self._topics[value] = topic
        return topic

    def _value(self, payload: Any, topic: str) -> tuple[bytes, bytes | None]:
        """What comes before the value, and the value."""
        router = self._router
        if router.tombstones and payload in (None, ""):
            found = self._converters.value.convert(topic, None, None, ())
            return found.prefix, found.payload
        if router.expands and payload is not None:
            if not isinstance(payload, str) or not payload.startswith(("{", "[")):
                # The router reports it.
                raise Unexpandable
            return self._document(payload, topic)
        found = self._converters.value.convert(topic, self._columns.payload, payload, ())
        return found.prefix, found.payload

    def _document(self, text: str, topic: str) -> tuple[bytes, bytes]:
        try:
            node = orjson.loads(text)
        except orjson.JSONDecodeError:
            raise Unexpandable from None
        expanded = self._usual.get(topic)
        if expanded is None or not expanded.fits(node):
            expanded = self._by_shape(node, topic)
        if expanded.schema is not None:
            return expanded.before, expanded.encode(converted(expanded.schema, node)) + expanded.after
        written = orjson.dumps(node)
        if (not written.isascii() or b"\\u00" in written) and _UNLIKE_JACKSON.search(written) is not None:
            raise Unexpandable
        return expanded.before, written + expanded.after

    def _by_shape(self, node: Any, topic: str) -> _Expanded:
        """How payloads of the shape of ``node`` are written. Raises DataError, Unexpandable, NoShapeError, RecursionError."""
        shape = shape_of(node)
        expanded = self._expanded.get(shape)
        if expanded is None:
            if len(self._expanded) >= _MOST:
                self._expanded.clear()
            expanded = self._expanded[shape] = self._expansion(node)
        expanded.uses += 1
        if expanded.uses == _OFTEN:
            expanded.fits = shape_check(shape)
        if expanded.uses >= _OFTEN:
            if len(self._usual) >= _MOST:
                self._usual.clear()
            self._usual[topic] = expanded
        return expanded

    def _expansion(self, node: Any) -> _Expanded:
        """How payloads of the shape of ``node`` are written. Raises DataError, Unexpandable."""
        settings = self._converters.json
        schema = self._router.payload_schemas.schema(self._router.payload_column, node)
        if schema is None or schema.type != "struct" or settings is None:
            raise Unexpandable
        value = converted(schema, node)
        before, after = around_payload(schema, settings)
        whole = orjson.dumps(value) == orjson.dumps(node)
        return _Expanded(before, after, None if whole else schema, value_encoder(schema, settings))


def _time(rest: bytes) -> int:
    """The time of an event in milliseconds, from what follows its row. Raises Unexpandable for an event that does not become a message."""
    operation = _OPERATION.match(rest, rest.rfind(b'"op":"'))
    if operation is None:
        raise Unexpandable
    return int(operation[1])


class OutboxRows:
    """Makes messages of the rows of one table, of the ``columns`` that they need."""

    __slots__ = ("_columns", "_path")

    def __init__(self, path: OutboxPath, columns: Sequence[RowColumn]) -> None:
        self._path = path
        self._columns = columns

    def messages(self, run: RowRun, headers: bytes) -> list[Message] | None:
        """As :meth:`OutboxPath.messages`."""
        return self._path.messages(self._columns, run, headers)
