"""Where a record says which schema it has: an id before the value, an id in a header, or a GUID in a header.

Confluent's converters write a zero byte and the id in four bytes before the value. With ``HeaderSchemaIdSerializer`` they write a one byte
and the schema's GUID into a header (Confluent documentation, "Wire format"). In Protocol Buffers the indexes of the message in its file
follow, in both forms. Apicurio's converters write four or eight bytes of id before the value, or the id in a header of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.topics.records import carried

Side = Literal["value", "key"]
SIDES: Final[tuple[Side, Side]] = ("value", "key")
NO_ID: Final = -1
"""The key layout of keys without an id. A table whose keys cannot be read must not be taken for one without a key."""
HASHED: Final = 2**62
"""Layouts from here on are hashes of a schema's name. All below are ids."""

_CONFLUENT: Final = 4
_GUID: Final = 16
_FIRST: Final = (0,)
_LATIN: Final = "ISO-8859-1"
_DEEPEST: Final = 8
"""Levels of messages within messages that are read."""


@dataclass(frozen=True, slots=True)
class SchemaName:
    """An id or a GUID; in Protocol Buffers also which message of the file a value is."""

    key: int | str
    """The id, or the GUID as text."""
    indexes: tuple[int, ...] = _FIRST

    @classmethod
    def of(cls, octets: bytes) -> SchemaName:
        """Read the bytes before a value, or those of the header."""
        if octets[:1] == b"\1":
            return cls(str(UUID(bytes=octets[1 : _GUID + 1])), _indexes(octets[_GUID + 1 :]))
        return cls(int.from_bytes(octets[1 : _CONFLUENT + 1], "big", signed=True), _indexes(octets[_CONFLUENT + 1 :]))


@dataclass(frozen=True, slots=True)
class IdPlace:
    """Where a record has the id of its schema: in ``size`` bytes before the value, or, if that is 0, in a header of Apicurio's.

    ``named`` is the kind of id in Apicurio's names of headers: ``apicurio.value.contentId`` or ``apicurio.key.globalId``. With four bytes
    a record may have a GUID in Confluent's header in place of the id. With ``messages`` indexes of a message follow both.
    """

    size: int = _CONFLUENT
    named: str = "contentId"
    messages: bool = False

    def cut(self, records: DataFrame) -> DataFrame:
        """``records`` as cut records (:mod:`workers.spark.topics.records`).

        A layout is a schema's id, or a hash of its name (from :data:`HASHED` on). A payload is the value without the bytes of the id;
        a record without an id stays whole.
        """
        # Spark computes each name once, though layout and payload use it several times.
        names = [self._name(side).alias(f"{side}_name") for side in SIDES]
        found = records.select("topic", "partition", "offset", "timestamp", *SIDES, *carried(), *names)
        key_layout = F.when(F.col("key").isNotNull(), F.coalesce(self._layout("key"), F.lit(NO_ID).cast("bigint")))
        cut = (self._layout("value").alias("layout"), self._body("value"), key_layout.alias("key_layout"), self._body("key"))
        return found.select("topic", "partition", "offset", "timestamp", *cut, "came", "left")

    def names(self, records: DataFrame) -> dict[tuple[str, int, int], dict[Side, SchemaName]]:
        """The schemas' names of ``records``, which are few, by topic, partition and offset."""
        columns = [self._name(side).alias(side) for side in SIDES]
        rows = records.select("topic", "partition", "offset", *columns).collect()
        return {
            (row["topic"], row["partition"], row["offset"]): {
                side: SchemaName.of(bytes(row[side])) for side in SIDES if row[side] is not None
            }
            for row in rows
        }

    def _name(self, side: Side) -> Column:
        """The bytes that name the schema; null without them."""
        value = F.col(side)
        if not self.size:
            return F.when(value.isNotNull(), _header(f"apicurio.{side}.{self.named}"))
        length = self.size + 1
        before = F.when((F.octet_length(value) >= length) & (F.substring(value, 1, 1) == F.lit(b"\0")), F.substring(value, 1, length))
        if self.messages:
            before = _with_indexes(before, value, length)
        if self.size != _CONFLUENT:
            return before
        header = _header(f"__{side}_schema_id")
        is_guid = (F.octet_length(header) > _GUID) & (F.substring(header, 1, 1) == F.lit(b"\1"))
        return F.when(is_guid & value.isNotNull(), header).otherwise(before)

    def _layout(self, side: Side) -> Column:
        name = F.col(f"{side}_name")
        if not self.size:
            return _number(name)
        number = _number(F.substring(name, 2, self.size))
        if self.size != _CONFLUENT:
            return number
        hashed = F.xxhash64(name).bitwiseAND(F.lit(HASHED - 1)).bitwiseOR(F.lit(HASHED))
        plain = F.substring(name, 1, 1) == F.lit(b"\0")
        if self.messages:
            # The first message of a file is a single zero.
            plain &= (F.octet_length(name) == _CONFLUENT + 2) & (F.substring(name, _CONFLUENT + 2, 1) == F.lit(b"\0"))
        return F.when(plain, number.cast("int").cast("bigint")).when(name.isNotNull(), hashed)

    def _body(self, side: Side) -> Column:
        value, name = F.col(side), F.col(f"{side}_name")
        if not self.size:
            return value
        body = F.substring(value, F.octet_length(name) + 1, F.lit(2**31 - 1))
        return F.when(F.substring(name, 1, 1) == F.lit(b"\0"), body).otherwise(value).alias(side)


CONFLUENT: Final = IdPlace()
"""Where Confluent's converters name a schema, but for Protocol Buffers."""


def _header(name: str) -> Column:
    return F.try_element_at(F.filter("headers", lambda header: header["key"] == name), F.lit(-1))["value"]


def _number(octets: Column) -> Column:
    return F.conv(F.hex(octets), 16, 10).cast("bigint")


def _with_indexes(before: Column, value: Column, length: int) -> Column:
    """The bytes of the id with the indexes that follow: their number and each of them, as varints; null if they are none."""
    rest = F.decode(F.substring(value, length + 1, 5 * (_DEEPEST + 1)), _LATIN)
    several = "|".join(rf"\x{2 * count:02x}(?:[\x80-\xff]{{0,4}}[\x00-\x7f]){{{count}}}" for count in range(1, _DEEPEST + 1))
    found = F.regexp_extract(rest, rf"(?s)^(?:\x00|{several})", 0)
    first = F.substring(value, length + 1, 1) == F.lit(b"\0")
    long = F.when(F.octet_length(found) > 0, F.concat(before, F.encode(found, _LATIN)))
    return F.when(before.isNotNull() & first, F.concat(before, F.lit(b"\0"))).when(before.isNotNull(), long)


def _indexes(octets: bytes) -> tuple[int, ...]:
    numbers, number, shift = [], 0, 0
    for octet in octets:
        number |= (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80:
            numbers.append(number >> 1)
            number, shift = 0, 0
    return tuple(numbers[1:]) or _FIRST


def is_hashed(layouts: Sequence[int | None]) -> bool:
    """Whether one of these layouts is the hash of a name, which only a record has."""
    return any(layout is not None and layout >= HASHED for layout in layouts)
