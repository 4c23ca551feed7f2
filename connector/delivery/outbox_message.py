"""What the columns of an outbox row become in a message: topic, key, value and headers.

What depends on the shape of a JSON payload alone is kept for the next payload of that shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from connector.converters.converter import Converter
from connector.converters.simple_header import SimpleHeaderConverter
from connector.delivery.moved_key_headers import has_other_key
from connector.record.batch import NO_HEADERS, HeaderWriter, Record, read_headers
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.json_converter import ConverterSettings, around_payload, value_encoder
from connector.record.schema import Schema
from connector.transforms.chain import Step
from connector.transforms.debezium.outbox.event_router import EventRouter
from connector.transforms.debezium.outbox.json_payload import Unexpandable, converted
from connector.transforms.debezium.outbox.payload_shape import NoShapeError, is_plain, shape_check, shape_of
from connector.transforms.kafka.regex_router import RegexRouter

BY_VALUES: Final = (DataError, Unexpandable, NoShapeError, RecursionError)
"""What a row is refused with here: by way of values it fails with all that is to be said, or it does not."""
OFTEN = 16
"""After so many payloads of one shape its check is compiled, which takes as long as a hundred payloads."""
_OPERATION: Final = re.compile(rb'"op":"[cr]","ts_ms":(\d+)[,}]')
"""The operation and the time in an event's tail; of the operations only those that become messages."""
_UNLIKE_JACKSON: Final = re.compile(rb"\\u00|[\xf0-\xf4]")
"""What Jackson writes in other bytes than orjson (:func:`connector.record.json_converter.quote`)."""
_MOST: Final = 1_000


class Converters(NamedTuple):
    """The converters of a task; headers have SimpleHeaderConverter. The settings are those of a JsonConverter, None for another."""

    key: Converter
    value: Converter
    key_json: ConverterSettings | None
    value_json: ConverterSettings | None


class MessageColumns(NamedTuple):
    """The columns that a message is made of, each with its schema. ``divisor`` makes milliseconds of the timestamp's value."""

    key: Schema
    payload: Schema
    headers: Sequence[tuple[str, str, Schema]]
    """Name of the header, name of the column, its schema."""
    divisor: int


@dataclass(slots=True)
class Expansion:
    """How the payloads of one shape are written. ``schema`` is None where they are written as they were parsed."""

    before: bytes
    after: bytes
    schema: Schema | None
    encode: Callable[[Any], bytes]
    uses: int = 0
    fits: Callable[[Any], bool] = lambda _node: False
    """Whether a payload has this shape. A payload that has may be denied, for it is compiled only for a shape that comes often."""

    def written(self, node: Any) -> bytes:
        """Return a payload of this shape without what comes before it. Raises Unexpandable for texts that Java writes in its own way."""
        if self.schema is not None:
            return self.encode(converted(self.schema, node)) + self.after
        # Formatting copies the text (:func:`connector.record.json_converter.fitted`).
        return checked([b"%b%b" % (orjson.dumps(node), self.after)])[0]


def checked(written: list[bytes]) -> list[bytes]:
    """Return what orjson wrote. Raises Unexpandable if it has texts that Java writes in its own way."""
    every = b"".join(written)
    if (not every.isascii() or b"\\u00" in every) and _UNLIKE_JACKSON.search(every) is not None:
        raise Unexpandable
    return written


def applies(step: Step, topic: str) -> bool:
    """Whether the step changes the records of a topic; its predicate, if any, asks for the topic alone."""
    return step.predicate is None or step.predicate.test(ConnectRecord(topic)) != step.negate


def event_time(rest: bytes) -> int:
    """Return an event's time in milliseconds, from what follows its row. Raises Unexpandable for an event that becomes no message."""
    operation = _OPERATION.match(rest, rest.rfind(b'"op":"'))
    if operation is None:
        raise Unexpandable
    return int(operation[1])


class OutboxMessages:
    """Makes the messages of one outbox table. ``later`` are the steps after the router; each but RegexRouter leaves other topics alone."""

    def __init__(self, router: EventRouter, later: Sequence[Step], columns: MessageColumns, converters: Converters) -> None:
        self.router: Final = router
        self.columns: Final = columns
        self.converters: Final = converters
        self.header_values: Final = [_header_value(schema) for _, _, schema in columns.headers]
        """What SimpleHeaderConverter does with the value of each header."""
        self.usual: Final[dict[str, Expansion]] = {}
        """How the last payload of a topic was written whose shape comes often."""
        self._later: Final = later
        self._expansions: Final[dict[Hashable, Expansion]] = {}
        self._topics: Final[dict[str, str]] = {}
        self._base: tuple[bytes, HeaderWriter] = NO_HEADERS, self._header_writer(NO_HEADERS)
        """The headers of the last event, and what writes them with those of a message: all events of a run have the same."""

    def message(self, row: Mapping[str, Any], time: int, own: HeaderWriter) -> tuple[str, Record]:
        """Return the topic and the message of a row. ``time`` is the event's, ``own`` writes its headers. Raises :data:`BY_VALUES`."""
        router, columns = self.router, self.columns
        topic = self.topic(row[router.route_column])
        prefix, value = self.value(row[router.payload_column], topic)
        key = self.key(row[router.key_column])
        shown = [write(row[column]) for (_, column, _), write in zip(columns.headers, self.header_values, strict=True)]
        if router.timestamp_column is not None:
            time = self.time(row[router.timestamp_column], time)
        return topic, (key, prefix, value, own.written(shown), time)

    def headers(self, encoded: bytes) -> HeaderWriter | None:
        """Return what writes the headers of messages whose events have these; None for events that go by way of values."""
        known, found = self._base
        if encoded != known:
            if has_other_key(encoded):
                return None
            found = self._header_writer(encoded)
            self._base = encoded, found
        return found

    def _header_writer(self, headers: bytes) -> HeaderWriter:
        return HeaderWriter(read_headers(headers), [name for name, _, _ in self.columns.headers])

    def key(self, value: Any) -> bytes | None:
        """Return a message's key. Raises DataError."""
        key = self.converters.key.convert("", self.columns.key, value, ())
        return None if key.payload is None else key.prefix + key.payload

    def time(self, value: int | None, of_event: int) -> int:
        """Return a message's time in milliseconds, given the timestamp column's value."""
        if value is None:
            return of_event
        divisor = self.columns.divisor
        return value // divisor if value >= 0 else -(-value // divisor)

    def topic(self, value: str | None) -> str:
        """Return the topic of rows with this value in the routing column. Raises DataError."""
        if value is None:
            raise DataError("The routing column is null")
        topic = self._topics.get(value)
        if topic is None:
            topic = self.router.topic_of(value)
            for step in self._later:
                if isinstance(step.transform, RegexRouter) and applies(step, topic):
                    topic = step.transform.apply(ConnectRecord(topic)).topic
            if len(self._topics) >= _MOST:
                self._topics.clear()
            self._topics[value] = topic
        return topic

    def value(self, payload: Any, topic: str) -> tuple[bytes, bytes | None]:
        """Return what comes before the value, and the value. Raises :data:`BY_VALUES`."""
        router = self.router
        if router.makes_tombstone(payload):
            found = self.converters.value.convert(topic, None, None, ())
            return found.prefix, found.payload
        if router.expands and payload is not None:
            if not isinstance(payload, str) or not payload.startswith(("{", "[")):
                # The router reports it.
                raise Unexpandable
            return self.document(payload, topic)
        found = self.converters.value.convert(topic, self.columns.payload, payload, ())
        return found.prefix, found.payload

    def document(self, text: str | bytes, topic: str) -> tuple[bytes, bytes]:
        """Return the same for a payload that is the text of a JSON object or array. Raises :data:`BY_VALUES`."""
        try:
            node = orjson.loads(text)
        except orjson.JSONDecodeError:
            raise Unexpandable from None
        return self.expanded(node, topic)

    def expanded(self, node: Any, topic: str) -> tuple[bytes, bytes]:
        """Return the same for a payload that is parsed. Raises :data:`BY_VALUES`."""
        expansion = self.usual.get(topic)
        if expansion is None or not expansion.fits(node):
            expansion = self._by_shape(node, topic)
        return expansion.before, expansion.written(node)

    def _by_shape(self, node: Any, topic: str) -> Expansion:
        shape = shape_of(node)
        expansion = self._expansions.get(shape)
        if expansion is None:
            if len(self._expansions) >= _MOST:
                self._expansions.clear()
            expansion = self._expansions[shape] = self._expansion(node, plain=is_plain(shape))
        expansion.uses += 1
        if expansion.uses == OFTEN:
            expansion.fits = shape_check(shape)
        if expansion.uses >= OFTEN:
            if len(self.usual) >= _MOST:
                self.usual.clear()
            self.usual[topic] = expansion
        return expansion

    def _expansion(self, node: Any, *, plain: bool) -> Expansion:
        settings = self.converters.value_json
        schema = self.router.payload_schemas.schema(self.router.payload_column, node)
        if schema is None or schema.type != "struct" or settings is None:
            raise Unexpandable
        value = converted(schema, node)
        before, after = around_payload(schema, settings)
        whole = plain and orjson.dumps(value) == orjson.dumps(node)
        return Expansion(before, after, None if whole else schema, value_encoder(schema, settings))


def _header_value(schema: Schema) -> Callable[[Any], bytes | None]:
    if schema.type == "string":
        return lambda value: None if value is None else value.encode()
    convert = SimpleHeaderConverter().convert
    return lambda value: convert("", "", schema, value)
