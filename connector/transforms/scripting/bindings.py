"""The variables that a script gets of a record: key, value, keySchema, valueSchema, topic and header."""

from __future__ import annotations

from typing import Any, Final

from connector.java.hash_map import java_order
from connector.record.connect_record import ConnectRecord
from connector.record.schema import Schema
from connector.record.struct import SchemaCache
from connector.transforms.scripting.groovy.values import JavaMap, RecordHeader, plain, reader

NAMES: Final = ("key", "value", "keySchema", "valueSchema", "topic", "header")


class Bindings:
    """Makes the variables; what it learns of a schema is kept."""

    __slots__ = ("_readers",)

    def __init__(self) -> None:
        self._readers: SchemaCache[Any] = SchemaCache()

    def of(self, record: ConnectRecord) -> list[Any]:
        """Return their values in the order of :data:`NAMES`."""
        return [
            self._value(record.key_schema, record.key),
            self._value(record.value_schema, record.value),
            record.key_schema,
            record.value_schema,
            record.topic,
            self._headers(record) if record.headers else JavaMap(),
        ]

    def _headers(self, record: ConnectRecord) -> JavaMap:
        """The headers by their names; the last one of a name counts. Their order is that of a ``HashMap``."""
        named = {each.name: RecordHeader(self._value(each.schema, each.value), each.schema) for each in record.headers}
        return JavaMap([(name, named[name]) for name in java_order(named)])

    def _value(self, schema: Schema | None, value: Any) -> Any:
        if value is None:
            return None
        if schema is None:
            return plain(value)
        return self._readers.get(schema, lambda found: reader(found) or _same)(value)


def _same(value: Any) -> Any:
    return value
