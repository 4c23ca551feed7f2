"""The fast path of an outbox row's event to its message: only the columns that the message is made of become values.

The generic way reads the whole event, infers the schema of a JSON payload and encodes the payload by it: 52 µs for a payload of 16 members,
12 µs for a payload that stays text. Here the row is cut out of the event's bytes: 14 µs and 5 µs. A property test holds both ways equal.
Runs of inserted and read rows do not come here (:mod:`connector.delivery.outbox_rows`).

A row that needs more goes by way of values (:mod:`connector.delivery.record_conversion`): updates and deletes, rows whose key changed,
payloads with integers beyond int64, and whatever the transform or a converter fails on.
"""

from __future__ import annotations

from typing import Final

import orjson

from connector.delivery.compiled_path import HEAD, MARKER, holds_source
from connector.delivery.outbox_message import BY_VALUES, Converters, MessageColumns, OutboxMessages, applies, event_time
from connector.delivery.outbox_rows import OutboxRows, outbox_rows
from connector.delivery.row_run import RowTable
from connector.record.batch import Record
from connector.record.connect_record import ConnectRecord
from connector.record.json_reader import read_schema, split_opening
from connector.record.schema import NO_DEFAULT, Schema
from connector.record.struct import field_of
from connector.transforms.chain import Chain
from connector.transforms.debezium.outbox.event_router import MILLISECONDS, EventRouter
from connector.transforms.kafka.predicates import TopicNameMatches
from connector.transforms.kafka.regex_router import RegexRouter

_SAME_IN_JSON: Final = frozenset({"string", "boolean", "int8", "int16", "int32", "int64"})
"""Types whose values JSON shows as they are."""


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
        if not applies(step, topic):
            continue
        if isinstance(step.transform, RegexRouter):
            topic = step.transform.apply(ConnectRecord(topic)).topic
        elif isinstance(step.transform, EventRouter):
            columns = _columns(step.transform, after.schema)
            if columns is None or (step.transform.expands and (converters.value_json is None or step.transform.adjusts_names)):
                return None
            return OutboxPath(OutboxMessages(step.transform, chain.steps[number + 1 :], columns, converters))
    return None


def _columns(router: EventRouter, row: Schema) -> MessageColumns | None:
    """The columns; None where one is missing, where its value is not what the event shows, or where rows may be traced."""
    tracing = router.tracing
    if tracing is not None and not (tracing.context_only and field_of(row, tracing.context) is None):
        return None
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
    return MessageColumns(schemas[router.key_column], schemas[router.payload_column], shown, divisor)


class OutboxPath:
    """The way of one outbox table's rows."""

    __slots__ = ("_messages",)

    def __init__(self, messages: OutboxMessages) -> None:
        self._messages = messages

    def message(self, payload: bytes, headers: bytes) -> tuple[str, Record] | None:
        """Return topic and message of a row that was inserted or read; None where the event must go by way of values."""
        cut = len(HEAD)
        if not payload.startswith(HEAD) or payload.startswith(b"null", cut):
            return None
        own = self._messages.headers(headers)
        if own is None:
            return None
        end = payload.index(MARKER, cut)
        try:
            return self._messages.message(orjson.loads(memoryview(payload)[cut:end]), event_time(payload[end:]), own)
        except BY_VALUES:
            return None

    def rows(self, table: RowTable) -> OutboxRows | None:
        """Return the direct way of the table's rows; None where they must come as events."""
        return outbox_rows(self._messages, table)
