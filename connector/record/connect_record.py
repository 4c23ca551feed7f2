"""Kafka Connect's record, as transforms and converters see it (``org.apache.kafka.connect.source.SourceRecord``).

Values are plain Python values that go with their :class:`connector.record.schema.Schema`; a struct is a dict by field name that holds every
field of its schema. A value without a schema is what Connect calls schemaless. Nothing here is ever changed in place: a transform
makes a new record with :func:`dataclasses.replace`, and copies a dict before it changes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from connector.record.schema import Schema


class DataError(ValueError):
    """A record that a transform or converter cannot handle (Connect's ``DataException``). The text names fields and types, no value."""


class Header(NamedTuple):
    """One header. Several headers may have the same name."""

    name: str
    schema: Schema | None
    value: Any


@dataclass(frozen=True, slots=True)
class ConnectRecord:
    """One record on its way to Kafka.

    ``partition`` is None when the producer is to choose it by the key. ``timestamp`` is in ms since 1970. A tombstone has neither
    ``value`` nor ``value_schema``.
    """

    topic: str
    key_schema: Schema | None = None
    key: Any = None
    value_schema: Schema | None = None
    value: Any = None
    timestamp: int | None = None
    headers: tuple[Header, ...] = ()
    partition: int | None = None

    def named(self, name: str) -> Iterator[Header]:
        """Yield the headers of this name, in order."""
        return (header for header in self.headers if header.name == name)

    def last_named(self, name: str) -> Header | None:
        """Return the last header of this name (``Headers.lastWithName``)."""
        return next((header for header in reversed(self.headers) if header.name == name), None)

    def with_header(self, name: str, schema: Schema | None, value: object) -> ConnectRecord:
        """Return the record with one more header at the end."""
        return replace(self, headers=(*self.headers, Header(name, schema, value)))

    def without_headers(self, names: Sequence[str]) -> ConnectRecord:
        """Return the record without the headers of these names."""
        return replace(self, headers=tuple(header for header in self.headers if header.name not in names))
