"""What a column's values are: how JSON carries them, what Spark makes of them, and how they compare with PostgreSQL's.

A :class:`Kind` is chosen by a Connect schema (Debezium documentation, "Data type mappings"); without embedded schemas
the catalog's columns stand in for it (:mod:`workers.spark.catalog`). Expressions only: nothing here runs Python on rows.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from workers.spark.binding import let
from workers.spark.digits import plain, unscaled, with_point

Expression = Callable[[Column], Column]

UNAVAILABLE: Final = "__debezium_unavailable_value"
"""Debezium's stand-in for a value that PostgreSQL did not send again (TOAST); ``unavailable.value.placeholder``."""

MICROS: Final = 1_000_000
SPARK_DIGITS: Final = 38
"""The most digits of a Spark decimal."""
INFINITE_MICROS: Final = {9223372036825200000: "infinity", -9223372036832400000: "-infinity"}
"""What Debezium sends for infinite timestamps: the JDBC driver's two far dates."""
INFINITE_DAYS: Final = {
    -2147472692: "infinity",
    -2147472691: "-infinity",
}


def _same(value: Column) -> Column:
    return value


def _as_text(value: Column) -> Column:
    return value.cast("string")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value.

    ``raw`` is what ``from_json`` reads it as, ``type`` what :attr:`decode` makes of that. :attr:`text` writes a decoded value
    as text that is equal for equal values; :attr:`read` reads PostgreSQL's text into ``type`` (null when the type cannot hold it).
    ``sql`` is the SELECT item that gives PostgreSQL's text for it, ``{c}`` being the column. :attr:`held` tells of a raw value
    whether it is the placeholder for "unchanged, not sent". ``comparable`` is False where the source's text says something else.
    """

    raw: DataType
    type: DataType
    decode: Expression = _same
    text: Expression = _as_text
    read: Expression = _same
    sql: str = "case when {c} is not null then format('%s', {c}) end"
    held: Expression | None = None
    comparable: bool = True
    item: Kind | None = None

    def normal(self, source: Column) -> Column:
        """PostgreSQL's text as :attr:`text` would write the value; text that the type cannot hold stays as it is."""
        if self.item is None:
            return let(source, lambda text: F.coalesce(self.text(self.read(text)), text))
        return F.to_json(F.transform(F.from_json(source, "array<string>"), self.item.normal))


def kind_of(schema: Mapping[str, object]) -> Kind:
    """The kind for a Connect schema as JsonConverter writes it. Types without a rule of their own become JSON text."""
    logical = _LOGICAL.get(str(schema.get("name")))
    if logical is not None:
        return logical(schema)
    match schema.get("type"):
        case "array":
            items = schema.get("items")
            return _array(kind_of(items if isinstance(items, Mapping) else {}))
        case "map":
            return _JSON_MAP
        case "struct":
            return _OPAQUE
        case str(name) if name in _PLAIN:
            return _PLAIN[name]
        case other:
            raise ValueError(f"{other!r} is no Connect type")


def _parameter(schema: Mapping[str, object], name: str) -> int | None:
    parameters = schema.get("parameters")
    value = parameters.get(name) if isinstance(parameters, Mapping) else None
    return None if value is None else int(str(value))


# --- text, bytes, booleans and plain numbers


def _held_text(raw: Column) -> Column:
    return raw == UNAVAILABLE


def _held_bytes(raw: Column) -> Column:
    return raw == base64.b64encode(UNAVAILABLE.encode()).decode()


def _bytea(text: Column) -> Column:
    return F.unhex(F.when(text.startswith("\\x"), F.substr(text, F.lit(3))))


_TEXT: Final = Kind(StringType(), StringType(), held=_held_text)
_BYTES: Final = Kind(
    StringType(), BinaryType(), F.unbase64, lambda value: F.concat(F.lit("\\x"), F.lower(F.hex(value))), _bytea, held=_held_bytes
)


def _number(of: DataType) -> Kind:
    return Kind(of, of, read=lambda text: text.try_cast(of))


def _boolean(text: Column) -> Column:
    return F.when(text.isin("t", "true", "1"), F.lit(True)).when(text.isin("f", "false", "0"), F.lit(False))


_PLAIN: Final[dict[str, Kind]] = {
    "boolean": Kind(BooleanType(), BooleanType(), read=_boolean),
    "int8": _number(ShortType()),
    "int16": _number(ShortType()),
    "int32": _number(IntegerType()),
    "int64": _number(LongType()),
    "float": _number(FloatType()),
    "double": _number(DoubleType()),
    "string": _TEXT,
    "bytes": _BYTES,
}

# --- decimals


def _decimal(schema: Mapping[str, object]) -> Kind:
    """Connect's Decimal: a Spark decimal while its 38 digits are enough, decimal text beyond. money has no precision."""
    scale = _parameter(schema, "scale") or 0
    precision = _parameter(schema, "connect.decimal.precision") or SPARK_DIGITS
    sql = "{c}::numeric::text"

    def digits(raw: Column) -> Column:
        return with_point(unscaled(F.unbase64(raw)), F.lit(scale))

    if 0 <= scale <= precision <= SPARK_DIGITS:
        exact = DecimalType(precision, scale)
        return Kind(StringType(), exact, lambda raw: digits(raw).try_cast(exact), read=lambda text: text.try_cast(exact), sql=sql)
    return Kind(StringType(), StringType(), lambda raw: plain(digits(raw)), read=plain, sql=sql)


def _variable_decimal(_schema: Mapping[str, object]) -> Kind:
    raw = StructType([StructField("scale", IntegerType()), StructField("value", StringType())])
    return Kind(
        raw,
        StringType(),
        lambda value: plain(with_point(unscaled(F.unbase64(value["value"])), value["scale"])),
        read=plain,
    )


# --- dates and times


def _ad(text: Column) -> Column:
    """PostgreSQL's ``0044-03-15 … BC`` with an astronomical year, ``-0043-03-15 …``, as Spark reads it."""

    def before(text: Column) -> Column:
        year = F.regexp_extract(text, r"^(\d+)", 1).try_cast("int") - 1
        return F.concat(F.lit("-"), F.lpad(year.cast("string"), 4, "0"), F.regexp_extract(text, r"^\d+(.*) BC$", 1))

    return let(text, lambda once: F.when(once.endswith(" BC"), before(once)).otherwise(once))


def _named(value: Column, names: Mapping[int, str], of: Expression) -> Column:
    """The value's text, or its name where it stands for infinity."""

    def shown(value: Column) -> Column:
        text = value.cast("string")
        for number, name in names.items():
            text = F.when(value == of(F.lit(number)), F.lit(name)).otherwise(text)
        return text

    return let(value, shown)


def _micros_to_timestamp(micros: Column) -> Column:
    return F.timestamp_micros(micros).cast("timestamp_ntz")


def _date(_schema: Mapping[str, object]) -> Kind:
    return Kind(
        IntegerType(),
        DateType(),
        F.date_from_unix_date,
        lambda value: _named(value, INFINITE_DAYS, lambda days: F.date_from_unix_date(days.cast("int"))),
        lambda text: _ad(text).try_cast("date"),
    )


def _timestamp(unit: int) -> Callable[[Mapping[str, object]], Kind]:
    """``unit`` is the number of the value's units in a second; finer digits of the source are dropped as Debezium does."""

    def decode(raw: Column) -> Column:
        if unit > MICROS:
            return _micros_to_timestamp(F.call_function("div", raw - F.pmod(raw, F.lit(unit // MICROS)), F.lit(unit // MICROS)))
        return _micros_to_timestamp(raw * (MICROS // unit))

    def read(text: Column) -> Column:
        value = _ad(text).try_cast("timestamp_ntz")
        return value if unit >= MICROS else F.date_trunc("MILLISECOND", value).cast("timestamp_ntz")

    kind = Kind(LongType(), TimestampNTZType(), decode, lambda value: _named(value, INFINITE_MICROS, _micros_to_timestamp), read)
    return lambda _schema: kind


def _zoned_timestamp(_schema: Mapping[str, object]) -> Kind:
    def decode(raw: Column) -> Column:
        far = F.when(raw == "infinity", F.lit(max(INFINITE_MICROS))).when(raw == "-infinity", F.lit(min(INFINITE_MICROS)))
        return F.coalesce(F.timestamp_micros(far.cast("bigint")), raw.try_cast("timestamp"))

    return Kind(
        StringType(),
        TimestampType(),
        decode,
        lambda value: _named(value, INFINITE_MICROS, F.timestamp_micros),
        lambda text: _ad(text).try_cast("timestamp"),
        sql="({c} at time zone 'UTC')::text",
    )


def _time(unit: int) -> Callable[[Mapping[str, object]], Kind]:
    """Time of day as PostgreSQL's text: Spark's TIME ends before 24:00:00."""
    places = len(str(unit)) - 1

    def two(value: Column) -> Column:
        return F.lpad(value.cast("string"), 2, "0")

    def clock(raw: Column) -> Column:
        seconds = F.call_function("div", raw, F.lit(unit))
        fraction = plain(F.concat(F.lit("."), F.lpad((raw % unit).cast("string"), places, "0")))
        hours, rest = F.call_function("div", seconds, F.lit(3600)), seconds % 3600
        return F.concat(two(hours), F.lit(":"), two(F.call_function("div", rest, F.lit(60))), F.lit(":"), two(rest % 60), fraction)

    finer = rf"(\.\d{{{places}}})\d+$"
    kind = Kind(LongType(), StringType(), lambda raw: let(raw, clock), read=lambda text: F.regexp_replace(text, finer, "$1"))
    return lambda _schema: kind


def _iso(of: DataType) -> Callable[[Mapping[str, object]], Kind]:
    """ISO text with a trailing Z (``time.precision.mode=isostring``)."""
    kind = Kind(
        StringType(),
        of,
        lambda raw: F.regexp_replace(raw, "Z$", "").try_cast(of),
        read=lambda text: _ad(text).try_cast(of),
    )
    return lambda _schema: kind


_ZONED_TIME: Final = Kind(
    StringType(), StringType(), read=lambda text: F.regexp_replace(text, r"\+00$", "Z"), sql="({c} at time zone 'UTC')::text"
)
_DURATION: Final = Kind(
    LongType(),
    LongType(),
    read=lambda text: text.try_cast("bigint"),
    # Debezium counts a month as 365.25 / 12 days.
    sql="((extract(year from {c}) * 12 + extract(month from {c})) * 2629800000000 + extract(day from {c}) * 86400000000"
    " + extract(hour from {c}) * 3600000000 + extract(minute from {c}) * 60000000 + extract(microseconds from {c}))::bigint::text",
)
_INTERVAL: Final = Kind(
    StringType(),
    StringType(),
    sql="case when {c} is not null then format('P%sY%sM%sDT%sH%sM%sS',"
    " extract(year from {c}), extract(month from {c}), extract(day from {c}),"
    " extract(hour from {c}), extract(minute from {c}), trim_scale(extract(second from {c})::numeric)) end",
)

# --- JSON, bits, points, arrays


def _canonical(text: Column) -> Column:
    """JSON with members in order and no blanks, whoever wrote it; text that is no single JSON value stays as it is."""
    return let(text, lambda once: F.coalesce(F.to_json(F.try_parse_json(once)), once))


def _held_hstore(raw: Column) -> Column:
    return (raw == UNAVAILABLE) | (raw == f'{{"{UNAVAILABLE}":"{UNAVAILABLE}"}}')


_JSON: Final = Kind(StringType(), StringType(), _canonical, read=_canonical, sql="to_json({c})::text", held=_held_hstore)
_JSON_MAP: Final = Kind(
    MapType(StringType(), StringType()),
    StringType(),
    lambda raw: _canonical(F.to_json(raw, {"ignoreNullFields": "false"})),
    read=_canonical,
    sql="to_json({c})::text",
    held=lambda raw: F.element_at(raw, UNAVAILABLE) == UNAVAILABLE,
)
_OPAQUE: Final = Kind(StringType(), StringType(), _canonical, comparable=False)


def _bits(raw: Column) -> Column:
    """Debezium's little-endian bytes as binary digits without leading zeros: the schema does not tell bit(n) from varbit(n)."""
    pairs = F.regexp_extract_all(F.hex(F.unbase64(raw)), F.lit("(..)"), F.lit(1))
    octets = F.transform(F.reverse(pairs), lambda pair: F.lpad(F.conv(pair, 16, 2), 8, "0"))
    return F.ltrim(F.concat_ws("", octets), F.lit("0"))


_BITS: Final = Kind(
    StringType(), StringType(), lambda raw: F.when(raw.isNotNull(), _bits(raw)), read=lambda text: F.ltrim(text, F.lit("0"))
)

_POINT_TYPE: Final = StructType([StructField("x", DoubleType()), StructField("y", DoubleType())])


def _point(text: Column) -> Column:
    return F.when(
        text.isNotNull(),
        F.struct(
            F.regexp_extract(text, r"^\(([^,]*),", 1).try_cast("double").alias("x"),
            F.regexp_extract(text, r",([^,]*)\)$", 1).try_cast("double").alias("y"),
        ),
    )


_POINT: Final = Kind(_POINT_TYPE, _POINT_TYPE, text=F.to_json, read=_point)


def _array(item: Kind) -> Kind:
    """An array of one dimension, as Debezium models it; PostgreSQL's side is sent through JSON, element by element."""
    element = item.sql.replace("{c}", "e.v")
    alone = [UNAVAILABLE, base64.b64encode(UNAVAILABLE.encode()).decode(), str(_PLACEHOLDER_UUID)]
    octets = list(UNAVAILABLE.encode())

    def held(raw: Column) -> Column:
        if isinstance(item.raw, StringType):
            return (F.size(raw) == 1) & F.element_at(raw, 1).isin(alone)
        if isinstance(item.raw, IntegerType | LongType):
            return raw == F.array(*(F.lit(octet) for octet in octets)).cast(ArrayType(item.raw))
        return F.lit(False)

    return Kind(
        ArrayType(item.raw),
        ArrayType(item.type),
        lambda raw: F.transform(raw, item.decode),
        lambda value: F.to_json(F.transform(value, item.text)),
        lambda text: F.transform(F.from_json(text, "array<string>"), item.read),
        sql="case when {c} is not null then"
        f" to_json(array(select {element} from unnest({{c}}) with ordinality e(v, n) order by e.n))::text end",
        held=held,
        comparable=item.comparable,
        item=item,
    )


# Java's UUID.nameUUIDFromBytes is a version 3 UUID without a namespace.
_PLACEHOLDER_UUID: Final = uuid.UUID(bytes=hashlib.md5(UNAVAILABLE.encode(), usedforsecurity=False).digest(), version=3)

_LOGICAL: Final[dict[str, Callable[[Mapping[str, object]], Kind]]] = {
    "org.apache.kafka.connect.data.Decimal": _decimal,
    "io.debezium.data.VariableScaleDecimal": _variable_decimal,
    "org.apache.kafka.connect.data.Date": _date,
    "io.debezium.time.Date": _date,
    "io.debezium.time.IsoDate": _iso(DateType()),
    "org.apache.kafka.connect.data.Time": _time(1000),
    "io.debezium.time.Time": _time(1000),
    "io.debezium.time.MicroTime": _time(MICROS),
    "io.debezium.time.NanoTime": _time(1000 * MICROS),
    "io.debezium.time.IsoTime": _iso(StringType()),
    "org.apache.kafka.connect.data.Timestamp": _timestamp(1000),
    "io.debezium.time.Timestamp": _timestamp(1000),
    "io.debezium.time.MicroTimestamp": _timestamp(MICROS),
    "io.debezium.time.NanoTimestamp": _timestamp(1000 * MICROS),
    "io.debezium.time.IsoTimestamp": _iso(TimestampNTZType()),
    "io.debezium.time.ZonedTimestamp": _zoned_timestamp,
    "io.debezium.time.ZonedTime": lambda _schema: _ZONED_TIME,
    "io.debezium.time.MicroDuration": lambda _schema: _DURATION,
    "io.debezium.time.Interval": lambda _schema: _INTERVAL,
    "io.debezium.data.Json": lambda _schema: _JSON,
    "io.debezium.data.Bits": lambda _schema: _BITS,
    "io.debezium.data.geometry.Point": lambda _schema: _POINT,
}
