"""What a kind of value is, and what stands for a value that was not sent."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType

from workers.spark.kinds.binding import let

Expression = Callable[[Column], Column]
Schema = Mapping[str, object]
"""A Connect schema as JsonConverter embeds it."""

UNAVAILABLE: Final = "__debezium_unavailable_value"
"""Debezium's stand-in for a value that PostgreSQL did not send again (TOAST); ``unavailable.value.placeholder``."""


def same(value: Column) -> Column:
    """The value as it is."""
    return value


def as_text(value: Column) -> Column:
    """The value as Spark prints it."""
    return value.cast("string")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """The connector's ``unavailable.value.placeholder``, as text and as bytes."""

    text: str
    octets: bytes

    @classmethod
    def of(cls, setting: str) -> Placeholder:
        """From the property's value, where ``hex:`` announces bytes. Raises ValueError when no hex digits follow that."""
        octets = bytes.fromhex(setting.removeprefix("hex:")) if setting.startswith("hex:") else setting.encode()
        return cls(octets.decode(errors="replace"), octets)

    @property
    def numbers(self) -> list[int]:
        """The bytes as Java counts them, -128 to 127: the stand-in inside arrays of numbers."""
        return [octet - 256 if octet > 127 else octet for octet in self.octets]

    @property
    def uuid(self) -> str:
        """The stand-in inside uuid[]: Java's UUID.nameUUIDFromBytes, a version 3 UUID without a namespace."""
        return str(uuid.UUID(bytes=hashlib.md5(self.octets, usedforsecurity=False).digest(), version=3))

    @property
    def pair(self) -> str:
        """The stand-in of an hstore as JSON: an object from the text to itself."""
        quoted = json.dumps(self.text, ensure_ascii=False)
        return f"{{{quoted}:{quoted}}}"


@dataclass(frozen=True, slots=True)
class Rich:
    """A closer Spark type than tables can store (intervals). ``of`` makes it of the decoded value; null where it cannot hold that."""

    type: DataType
    of: Expression


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value.

    ``raw`` is what ``from_json`` reads it as, and :func:`workers.spark.topics.avro.read_avro` too. ``type`` is what :attr:`decode` makes of
    that, a type which Delta, Iceberg and Parquet store. ``rich`` is what a reader of changes gets instead, where Spark has a closer
    type that these do not store. :attr:`text` writes a decoded value as text that is equal for equal values; :attr:`read` reads
    PostgreSQL's text into ``type`` (null when the type cannot hold it); both are meant for a session in UTC.
    ``sql`` is the SELECT item that gives PostgreSQL's text for it, ``{c}`` being the column. :attr:`held` tells of a raw value
    whether it is the placeholder for "unchanged, not sent". ``comparable`` is False where the source's text says something else.
    ``item`` is the kind of an array's elements.
    """

    raw: DataType
    type: DataType
    decode: Expression = same
    text: Expression = as_text
    read: Expression = same
    sql: str = "case when {c} is not null then format('%s', {c}) end"
    held: Expression | None = None
    comparable: bool = True
    item: Kind | None = None
    rich: Rich | None = None

    def normal(self, source: Column) -> Column:
        """PostgreSQL's text as :attr:`text` would write the value; text that the type cannot hold stays as it is."""
        if self.item is None:
            return let(source, lambda text: F.coalesce(self.text(self.read(text)), text))
        return F.to_json(F.transform(F.from_json(source, "array<string>"), self.item.normal))

    @property
    def shown_type(self) -> DataType:
        """The type of :meth:`shown`."""
        return self.type if self.rich is None else self.rich.type

    def shown(self, raw: Column) -> Column:
        """The value in the closest type that Spark has for it: ``rich`` where there is one, else ``type``."""
        value = self.decode(raw)
        return value if self.rich is None else self.rich.of(value)


Builder = Callable[[Schema, Placeholder], Kind]


def fixed(kind: Kind) -> Builder:
    """A kind that depends on nothing."""
    return lambda _schema, _placeholder: kind


def parameter(schema: Schema, name: str) -> str | None:
    """One of the schema's parameters."""
    parameters = schema.get("parameters")
    value = parameters.get(name) if isinstance(parameters, Mapping) else None
    return None if value is None else str(value)
