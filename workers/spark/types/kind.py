"""The description of a kind of value, and the placeholder for a value that was not sent."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
)

from workers.spark.types.binding import let

Expression = Callable[[Column], Column]
InArrow = Callable[[pa.Array], pa.Array]
"""Converts a column of Arrow. It raises :class:`workers.spark.types.arrow_values.NotInArrow` if it might differ from Spark."""
Schema = Mapping[str, object]
"""A Connect schema as JsonConverter embeds it."""

UNAVAILABLE: Final = "__debezium_unavailable_value"
"""Debezium's default placeholder for a value that PostgreSQL did not send again (TOAST); ``unavailable.value.placeholder``."""

_UNESCAPED: Final = re.compile(r"[ !#-.0-\[\]-~]*")
"""Characters that no writer of JSON escapes."""
_SCALARS: Final = frozenset({ShortType, IntegerType, LongType, FloatType, DoubleType, BooleanType, StringType, BinaryType})


def same(value: Column) -> Column:
    """The value unchanged."""
    return value


def _unchanged(values: pa.Array) -> pa.Array:
    return values


def as_text(value: Column) -> Column:
    """The value as Spark prints it."""
    return value.cast("string")


class Sign(Enum):
    """The ways in which the placeholder appears in JSON."""

    TEXT = auto()
    OCTETS = auto()
    """Bytes in Base64."""
    NUMBERS = auto()
    """An element of an array for each byte."""
    UUID = auto()


@dataclass(frozen=True, slots=True)
class Placeholder:
    """The connector's ``unavailable.value.placeholder``, as text and as bytes."""

    text: str
    octets: bytes

    @classmethod
    def of(cls, setting: str) -> Placeholder:
        """The placeholder of the property's value, in which ``hex:`` precedes bytes. Raises ValueError for malformed hex digits."""
        octets = bytes.fromhex(setting.removeprefix("hex:")) if setting.startswith("hex:") else setting.encode()
        return cls(octets.decode(errors="replace"), octets)

    @property
    def numbers(self) -> list[int]:
        """The bytes as Java's signed numbers, -128 to 127: the placeholder in arrays of numbers."""
        return [octet - 256 if octet > 127 else octet for octet in self.octets]

    @property
    def uuid(self) -> str:
        """The placeholder in uuid[]: Java's UUID.nameUUIDFromBytes, a version 3 UUID without a namespace."""
        return str(uuid.UUID(bytes=hashlib.md5(self.octets, usedforsecurity=False).digest(), version=3))

    @property
    def pair(self) -> str:
        """The placeholder of an hstore as JSON: an object with the text as name and value."""
        quoted = json.dumps(self.text, ensure_ascii=False)
        return f"{{{quoted}:{quoted}}}"

    def sign(self, sign: Sign) -> str:
        """A text that JSON with the placeholder has, if it appears there in this way. An empty one is part of any JSON."""
        match sign:
            case Sign.TEXT:
                longest: str = max(_UNESCAPED.findall(self.text), key=len)
                return longest
            case Sign.OCTETS:
                return base64.b64encode(self.octets).decode()
            case Sign.NUMBERS:
                return ",".join(str(number) for number in self.numbers)
            case Sign.UUID:
                return self.uuid


@dataclass(frozen=True, slots=True)
class Rich:
    """A closer Spark type than tables can store (intervals). ``of`` converts the decoded value; null if the type cannot hold it."""

    type: DataType
    of: Expression


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value.

    - ``raw``: the type that ``from_json`` and :func:`workers.spark.topics.avro.read_avro` read.
    - ``type``: the type of :attr:`decode`'s result, which Delta, Iceberg and Parquet can store.
    - ``rich``: a closer Spark type for readers of changes, if there is one that these formats do not store.
    - :attr:`text`: converts a decoded value to text that is equal for equal values. :attr:`read` converts PostgreSQL's text to ``type``
      (null if the type cannot hold it). Both require a session in UTC.
    - ``sql``: the SELECT item of PostgreSQL's text, with ``{c}`` for the column.
    - :attr:`held`: whether a raw value is the placeholder of a value that was not sent.
    - ``signs``: the ways in which JSON may then show it; empty without ``held``.
    - ``comparable``: False if the source's text cannot be compared with the value.
    - ``item``: the kind of an array's elements.
    - ``arrow``: :attr:`decode` for a column of Arrow, if ``decode`` is not :func:`same`; see :attr:`in_arrow`.
    """

    raw: DataType
    type: DataType
    decode: Expression = same
    text: Expression = as_text
    read: Expression = same
    sql: str = "case when {c} is not null then format('%s', {c}) end"
    held: Expression | None = None
    signs: tuple[Sign, ...] = ()
    comparable: bool = True
    item: Kind | None = None
    rich: Rich | None = None
    arrow: InArrow | None = None

    @property
    def in_arrow(self) -> InArrow | None:
        """Converts a column that :func:`workers.spark.types.arrow_columns.arrow_column` made of raw values, to Arrow's type for ``type``.

        The values are those of :attr:`decode` in a session in UTC. None if only Spark can decode the kind.
        """
        if self.arrow is not None:
            return self.arrow
        return _unchanged if self.decode is same and type(self.type) in _SCALARS else None

    def normal(self, source: Column) -> Column:
        """PostgreSQL's text as :attr:`text` would write the value. Text that the type cannot hold is returned unchanged."""
        if self.item is None:
            return let(source, lambda text: F.coalesce(self.text(self.read(text)), text))
        return F.to_json(F.transform(F.from_json(source, "array<string>"), self.item.normal))

    @property
    def shown_type(self) -> DataType:
        """The type of :meth:`shown`."""
        return self.type if self.rich is None else self.rich.type

    def shown(self, raw: Column) -> Column:
        """The value in the closest Spark type: ``rich`` if there is one, else ``type``."""
        value = self.decode(raw)
        return value if self.rich is None else self.rich.of(value)


Builder = Callable[[Schema, Placeholder], Kind]


def fixed(kind: Kind) -> Builder:
    """A builder that always returns ``kind``."""
    return lambda _schema, _placeholder: kind


def parameter(schema: Schema, name: str) -> str | None:
    """One of the schema's parameters."""
    parameters = schema.get("parameters")
    value = parameters.get(name) if isinstance(parameters, Mapping) else None
    return None if value is None else str(value)
