"""The fast path of an event through the usual transforms: its bytes are cut and joined, and never become values.

Most connectors with transforms only rename topics (RegexRouter) and replace the event by its row (ExtractNewRecordState), and write JSON.
The event that the core writes holds the row as JSON already, between two constant texts. So the row is cut out, the few added fields are
read from the rest, and nothing else is parsed. Measured for ten columns: 1.1 µs an event, against 13 µs by way of values. A property test
holds both ways equal.

Only events without an old row go this way (creates, snapshots' reads, updates under replica identity DEFAULT). All others, and all chains
with other steps, go by way of values (:mod:`connector.delivery.record_conversion`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson

from connector.record.connect_record import ConnectRecord
from connector.record.json_converter import ConverterSettings, around_payload, quote, value_encoder
from connector.record.json_reader import opening_of, read_schema, split_opening
from connector.record.schema import Schema
from connector.record.struct import field_of
from connector.transforms.chain import Chain, Step
from connector.transforms.debezium.new_record_state.extract_new_record_state import ExtractNewRecordState
from connector.transforms.debezium.new_record_state.field_reference import ResolvedField
from connector.transforms.kafka.predicates import TopicNameMatches
from connector.transforms.kafka.regex_router import RegexRouter

HEAD: Final = b'{"before":null,"after":'
"""How an event begins that has no old row."""
MARKER: Final = b',"source":{"version":"'
"""What follows the row. Quotes within texts are escaped, so that it can only stand between two members of an object."""
_MARK: Final = b'"false"'

Extra = Callable[[bytes], bytes]
"""Returns the added members of a row, each after a comma, from the rest of the event behind the row."""


class CompiledPath:
    """The way of one table's events. ``topic`` is where they go."""

    __slots__ = ("_closing", "_cut", "_extra", "_key_opening", "_key_whole", "_unwraps", "prefix", "topic")

    def __init__(
        self, topic: str, prefix: bytes, closing: bytes, key_opening: bytes | None, extra: Extra | None, *, key_whole: bool, unwraps: bool
    ) -> None:
        self.topic = topic
        self.prefix = prefix
        self._closing = closing
        self._cut = len(HEAD)
        self._key_opening = key_opening
        self._key_whole = key_whole
        self._extra = extra
        self._unwraps = unwraps

    def takes(self, key: bytes | None, payload: bytes | None) -> bool:
        """Whether the record goes this way."""
        if payload is None or not payload.startswith(HEAD) or payload.startswith(b"null", self._cut):
            return False
        return key is None if self._key_opening is None else key is not None and key.startswith(self._key_opening)

    def keys(self, keys: Sequence[bytes]) -> Sequence[bytes]:
        """Return the keys as they are written."""
        opening = self._key_opening
        if self._key_whole or opening is None:
            return keys
        cut = len(opening)
        return [key[cut:-1] for key in keys]

    def payloads(self, payloads: Sequence[bytes]) -> list[bytes]:
        """Return the values as they are written, without the prefix."""
        if not self._unwraps:
            return list(payloads) if self._closing else [payload[:-1] for payload in payloads]
        cut, closing, extra = self._cut, self._closing, self._extra
        if extra is None:
            if not closing:
                return [payload[cut : payload.index(MARKER, cut)] for payload in payloads]
            return [payload[cut : payload.index(MARKER, cut)] + closing for payload in payloads]
        found = []
        for payload in payloads:
            end = payload.index(MARKER, cut)
            found.append(payload[cut : end - 1] + extra(payload[end:]) + b"}" + closing)
        return found


def compiles(chain: Chain) -> bool:
    """Whether all steps of the chain are among those that this module knows."""
    unwraps = [step for step in chain.steps if isinstance(step.transform, ExtractNewRecordState)]
    return len(unwraps) <= 1 and all(_known(step) for step in chain.steps)


def _known(step: Step) -> bool:
    if step.predicate is not None and not isinstance(step.predicate, TopicNameMatches):
        return False
    if isinstance(step.transform, ExtractNewRecordState):
        # Nulls are defaults in what the core writes for the fast path.
        return not step.transform.tells_null_from_default
    return isinstance(step.transform, RegexRouter)


def compiled_path(
    chain: Chain, topic: str, prefix: bytes, key: bytes | None, key_settings: ConverterSettings, value_settings: ConverterSettings
) -> CompiledPath | None:
    """Return the way of the events of a topic that begin with ``prefix`` (the schema); None where they must go by way of values.

    ``prefix`` and ``key`` are the core's (:data:`connector.delivery.record_conversion.INTERNAL`, nulls as ``value_settings`` say).
    """
    schema = read_schema(split_opening(prefix))
    after = field_of(schema, "after")
    if after is None or schema.name is None or not schema.name.endswith(".Envelope"):
        return None
    if holds_source(after.schema):
        return None
    extra: Extra | None = None
    shown, unwraps = schema, False
    for step in chain.steps:
        if step.predicate is not None and step.predicate.test(_named(topic)) == step.negate:
            continue
        if isinstance(step.transform, RegexRouter):
            topic = step.transform.apply(_named(topic)).topic
        elif isinstance(step.transform, ExtractNewRecordState):
            added = step.transform.added_to_rows(schema, nulls_are_defaults=value_settings.replace_null_with_default)
            if added is None:
                return None
            kept = step.transform.kept_schema(schema)
            shown, unwraps = kept, True
            names = [each.name for each in kept.fields[len(kept.fields) - len(added) :]]
            extra = _extra(added, names, value_settings) if added else None
    before, closing = around_payload(shown, value_settings)
    opening = None if key is None else opening_of(key)
    return CompiledPath(topic, before, closing, opening, extra, key_whole=key_settings.schemas_enable, unwraps=unwraps)


def _named(topic: str) -> ConnectRecord:
    return ConnectRecord(topic)


def holds_source(schema: Schema) -> bool:
    """Whether a row may hold what looks like the event's source: a member of this name, at any depth."""
    inner = (schema.items, schema.keys, schema.values, *(each.schema for each in schema.fields))
    return any(each.name == "source" for each in schema.fields) or any(each is not None and holds_source(each) for each in inner)


def _extra(added: Sequence[ResolvedField | None], names: Sequence[str], settings: ConverterSettings) -> Extra:
    """A function that writes the added members."""
    members = [
        (b"," + quote(name) + b":", field, None if field is None else value_encoder(field.schema, settings))
        for name, field in zip(names, added, strict=True)
    ]

    def write(rest: bytes) -> bytes:
        # The rest begins with a comma, and ends with the brace of the event and, where schemas are on, that of the document.
        event: dict[str, Any] = orjson.loads(b"{" + rest[1:-1])
        out: list[bytes] = []
        for label, field, encode in members:
            out += (label, _MARK if field is None or encode is None else encode(field.value(event)))
        return b"".join(out)

    return write
