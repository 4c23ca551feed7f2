"""Logical decoding messages (``pg_logical_emit_message``) as events of one topic (Debezium documentation, "Message events")."""

from __future__ import annotations

from collections.abc import Sequence

from connector.catalog.name_matcher import Matcher, include_exclude
from connector.events.envelope import TRANSACTION_BLOCK_SCHEMA, EventForm, SourceText, TableSource
from connector.ports import Backtracking, Out, no_backtracking
from connector.record.batch import NO_HEADERS
from connector.record.json_converter import ConverterSettings, around_payload, quote
from connector.record.schema import INT64, STRING, Field, Schema
from connector.types.binary import unknown
from connector.wire.pgoutput import Message

_KEY = Schema(
    "struct",
    name="io.debezium.connector.postgresql.MessageKey",
    version=1,
    fields=(Field("prefix", STRING.as_optional()),),
)


def prefix_filter(include: Sequence[str], exclude: Sequence[str], backtrack: Backtracking = no_backtracking) -> Matcher:
    """Return a matcher of ``message.prefix.include.list``, or of all prefixes that ``message.prefix.exclude.list`` does not match."""
    return include_exclude(include, exclude, "message.prefix", backtrack=backtrack)


class MessageTopic:
    """Encodes messages and appends them to their topic."""

    def __init__(
        self,
        wanted: Matcher,
        source: TableSource,
        binary_mode: str,
        key_settings: ConverterSettings,
        value_settings: ConverterSettings,
        out: Out,
    ) -> None:
        """``source`` has neither schema nor table; ``binary_mode`` is ``binary.handling.mode``."""
        content = unknown(binary_mode, b"")
        self.wanted = wanted
        self.source = source
        self._content = content.encode
        self._key = around_payload(_KEY, key_settings)
        self._value = around_payload(_value_schema(source.form, content.schema), value_settings)
        self._out = out

    def send(self, message: Message, text: SourceText, lsn: int, transaction: bytes, now_ms: int) -> None:
        """Append the event of ``message`` at ``lsn``. ``transaction`` is its transaction block as JSON, ``null`` without one."""
        prefix = quote(message.prefix)
        digits = b"%d" % lsn
        block = b',"transaction":' + transaction if self.source.form.emulation.counts_messages else b""
        payload = b"".join(
            (
                b'{"op":"m","ts_ms":%d' % now_ms,
                text.head,
                digits,
                text.middle,
                digits,
                text.tail,
                block,
                b',"message":{"prefix":%b,"content":%b}}' % (prefix, self._content(message.content)),
                self._value[1],
            )
        )
        key = b'%b{"prefix":%b}%b' % (self._key[0], prefix, self._key[1])
        self._out.append(key, self._value[0], payload, NO_HEADERS, now_ms)


def _value_schema(form: EventForm, content: Schema) -> Schema:
    message = Schema(
        "struct",
        name="io.debezium.connector.postgresql.Message",
        version=1,
        fields=(Field("prefix", STRING.as_optional()), Field("content", content.as_optional())),
    )
    transaction = (Field("transaction", TRANSACTION_BLOCK_SCHEMA),) if form.emulation.counts_messages else ()
    return Schema(
        "struct",
        name="io.debezium.connector.postgresql.MessageValue",
        version=1,
        fields=(
            Field("op", STRING),
            Field("ts_ms", INT64.as_optional()),
            Field("source", form.source),
            *transaction,
            Field("message", message),
        ),
    )
