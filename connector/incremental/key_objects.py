"""The keys of an incremental snapshot as Debezium stores them in its offset: a serialized Java ``Object[]`` in hexadecimal digits.

``incremental_snapshot_primary_key`` and ``incremental_snapshot_maximum_key`` hold the objects that Debezium's JDBC driver returns for the
key's columns. This module reads and writes them, so Understudy and Debezium can each resume the other's snapshot. The class of each type,
and which objects are shared, are as recorded from 3.6.3 and 2.3.4. PostgreSQL's texts have DateStyle ISO, IntervalStyle postgres and time
zone UTC. Java's dates, and its timestamps without time zone, are those of a worker in UTC; :func:`text_from_key` describes the effect of
another zone.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from connector.emulation import DEFAULT, Emulation
from connector.incremental.java_calendar import java_civil, java_days
from connector.java.floats import as_float32, java_double, java_float
from connector.java.hash_map import LEAST, grown, java_order
from connector.java.object_stream import (
    WITH_METHOD,
    JavaArray,
    JavaClass,
    JavaObject,
    JavaStreamError,
    JavaString,
    Node,
    read_stream,
    write_stream,
)
from connector.types.codec import Column, Types
from connector.types.hstore import parse as parse_hstore
from connector.types.money import amount
from connector.types.registry import base_type
from connector.types.temporal.calendar import DAY_MICROS, parse_date, parse_time
from connector.types.temporal.interval import parts

_OBJECTS: Final = JavaClass("[Ljava.lang.Object;", 0x90CE589F1073296C)
_BYTES: Final = JavaClass("[B", 0xACF317F8060854E0)
_NUMBER: Final = JavaClass("java.lang.Number", 0x86AC951D0B94E08B)
_INTEGER: Final = JavaClass("java.lang.Integer", 0x12E2A0A4F7818738, fields=(("value", "I"),), parent=_NUMBER)
_LONG: Final = JavaClass("java.lang.Long", 0x3B8BE490CC8F23DF, fields=(("value", "J"),), parent=_NUMBER)
_FLOAT: Final = JavaClass("java.lang.Float", 0xDAEDC9A2DB3CF0EC, fields=(("value", "F"),), parent=_NUMBER)
_DOUBLE: Final = JavaClass("java.lang.Double", 0x80B3C24A296BFB04, fields=(("value", "D"),), parent=_NUMBER)
_BOOLEAN: Final = JavaClass("java.lang.Boolean", 0xCD207280D59CFAEE, fields=(("value", "Z"),))
_BIG_INTEGER: Final = JavaClass(
    "java.math.BigInteger",
    0x8CFC9F1FA93BFB1D,
    WITH_METHOD,
    (
        ("bitCount", "I"),
        ("bitLength", "I"),
        ("firstNonzeroByteNum", "I"),
        ("lowestSetBit", "I"),
        ("signum", "I"),
        ("magnitude", "[B"),
    ),
    _NUMBER,
)
_BIG_DECIMAL: Final = JavaClass(
    "java.math.BigDecimal", 0x54C71557F981284F, WITH_METHOD, (("scale", "I"), ("intVal", "Ljava/math/BigInteger;")), _NUMBER
)
_UUID: Final = JavaClass("java.util.UUID", 0xBC9903F7986D852F, fields=(("leastSigBits", "J"), ("mostSigBits", "J")))
_UTIL_DATE: Final = JavaClass("java.util.Date", 0x686A81014B597419, WITH_METHOD)
_DATE: Final = JavaClass("java.sql.Date", 0x14FA46683F356697, parent=_UTIL_DATE)
_TIMESTAMP: Final = JavaClass("java.sql.Timestamp", 0x2618D5C80153BF65, fields=(("nanos", "I"),), parent=_UTIL_DATE)
_HASH_MAP: Final = JavaClass("java.util.HashMap", 0x0507DAC1C31660D1, WITH_METHOD, (("loadFactor", "F"), ("threshold", "I")))
_PG_OBJECT: Final = JavaClass(
    "org.postgresql.util.PGobject", 0x4BF895CAAC6F6444, fields=(("type", "Ljava/lang/String;"), ("value", "Ljava/lang/String;"))
)
_PG_INTERVAL: Final = JavaClass(
    "org.postgresql.util.PGInterval",
    0x882BE40E2CBD59BB,
    fields=(
        ("days", "I"),
        ("hours", "I"),
        ("isNull", "Z"),
        ("microSeconds", "I"),
        ("minutes", "I"),
        ("months", "I"),
        ("wholeSeconds", "I"),
        ("years", "I"),
    ),
    parent=_PG_OBJECT,
)
_INTERVAL_UNITS: Final = ("years", "months", "days", "hours", "minutes", "wholeSeconds", "microSeconds")
_STRING: Final = "java.lang.String"

_KNOWN: Final = {
    known.name: known
    for known in (
        _OBJECTS,
        _BYTES,
        _NUMBER,
        _INTEGER,
        _LONG,
        _FLOAT,
        _DOUBLE,
        _BOOLEAN,
        _BIG_INTEGER,
        _BIG_DECIMAL,
        _UUID,
        _UTIL_DATE,
        _DATE,
        _TIMESTAMP,
        _HASH_MAP,
        _PG_OBJECT,
        _PG_INTERVAL,
    )
}

_DAY_MILLIS: Final = DAY_MICROS // 1000
_INFINITIES: Final = {"infinity": 9223372036825200000, "-infinity": -9223372036832400000}
"""The driver's milliseconds for infinite dates and timestamps (``PGStatement.DATE_POSITIVE_INFINITY``)."""
_INFINITE_MILLIS: Final = {millis: text for text, millis in _INFINITIES.items()}
_CACHED: Final = range(-128, 128)
"""Java has one shared object for each of these integers and longs (``Integer.valueOf``)."""
_CACHED_DECIMALS: Final = 10
_CACHED_ZEROS: Final = 15
_CACHED_BIG: Final = 16
"""Java also shares BigDecimal's 0 to 10 without fraction and 0 with up to 15 fraction digits, and BigInteger's -16 to 16."""
_MOST_DIGITS: Final = 131_072
"""A numeric has at most this many digits before the decimal point, and fewer after it."""
_LOAD_FACTOR: Final = 0.75


@dataclass(frozen=True, slots=True)
class JavaValue:
    """The value of one column of a key.

    ``java_class`` decides the type of ``value``: an int (Integer, Long), a float (Float, Double), a bool, a str, bytes (``[B``), a Decimal
    with its scale (BigDecimal) or a uuid.UUID; milliseconds (java.sql.Date) or nanoseconds (Timestamp) since 1970 in Java's calendar; the
    text of a PGobject, whose type is ``type_name``; a tuple of years to microseconds (PGInterval); a dict of str to str or None (HashMap).
    """

    java_class: str
    value: Any
    type_name: str = ""


def read_array(hex_text: str) -> tuple[JavaValue | None, ...] | None:
    """Return the key of a stored text; None for Java's null, which means that no chunk was read yet.

    Raises JavaStreamError for a text that is not a key; for a class that no key has, the error names it. The table must then be read from
    its beginning.
    """
    try:
        data = bytes.fromhex(hex_text)
    except ValueError:
        raise JavaStreamError("Stored key is not made of hexadecimal digits") from None
    found = read_stream(data, _KNOWN)
    if found is None:
        return None
    if not isinstance(found, JavaArray) or isinstance(found.items, bytes):
        raise JavaStreamError("Stored key is not an array of objects")
    return tuple([_value(item) for item in found.items])


def write_array(values: Sequence[JavaValue | None] | None) -> str:
    """Return the text that Debezium stores for a key. The bytes are Java's own: small numbers of equal value are one object."""
    nodes = _Nodes()
    return write_stream(None if values is None else JavaArray(_OBJECTS, tuple([nodes.node(value) for value in values]))).hex()


def key_from_text(column: Column, types: Types, text: str | None, emulation: Emulation = DEFAULT) -> JavaValue | None:
    """Return the object that the emulated Debezium stores for PostgreSQL's text of a key column; None for NULL.

    Debezium cannot store an array; Understudy stores its text as a string. Raises ValueError for a text that is not a value of the type.
    """
    if text is None:
        return None
    info, _ = base_type(column, types)
    if info is None or info.kind == "e" or info.element:
        return JavaValue(_STRING, text)
    if info.schema == "pg_catalog":
        if info.name == "money":
            return _money(amount(text.encode(), info.fraction_digits), as_double=emulation.stores_keys_as_driver_objects)
        make = _DRIVER_OBJECTS.get(info.name) if emulation.stores_keys_as_driver_objects else None
        make = make or _BUILT_IN.get(info.name)
        if make is not None:
            return make(text)
    elif info.name == "hstore" and info.kind == "b":
        return JavaValue(_HASH_MAP.name, parse_hstore(text.encode()))
    return JavaValue(_PG_OBJECT.name, text, info.name if info.visible else f'"{info.schema}"."{info.name}"')


def text_from_key(value: JavaValue | None) -> str | None:
    """Return a text that PostgreSQL can cast to this value of the column's type; None for NULL.

    A date is rounded to the nearest midnight, so a Debezium worker in a zone up to twelve hours from UTC causes no error. Timestamps are
    interpreted as UTC. An amount of money is a number, which must be cast to numeric first.
    """
    return None if value is None else _TEXTS.get(value.java_class, str)(value.value)


def _value(node: Node) -> JavaValue | None:
    match node:
        case None:
            return None
        case JavaString():
            return JavaValue(_STRING, node.text)
        case JavaArray(items=bytes() as items):
            return JavaValue(_BYTES.name, items)
        case JavaObject():
            return _object_value(node)
        case _:
            raise JavaStreamError("Stored key has an array of objects within itself")


def _object_value(node: JavaObject) -> JavaValue | None:
    name, fields = node.java_class.name, node.fields
    match name:
        case _BIG_DECIMAL.name:
            return JavaValue(name, _decimal(fields["scale"], fields["intVal"]))
        case _UUID.name:
            high, low = (fields[half] & 2**64 - 1 for half in ("mostSigBits", "leastSigBits"))  # type: ignore[operator]
            return JavaValue(name, uuid.UUID(int=high << 64 | low))
        case _DATE.name:
            return JavaValue(name, _millis(node))
        case _TIMESTAMP.name:
            return JavaValue(name, _millis(node) * 1_000_000 + _int(fields["nanos"]))
        case _PG_OBJECT.name:
            text = _text(fields["value"])
            return None if text is None else JavaValue(name, text, _text(fields["type"]) or "")
        case _PG_INTERVAL.name:
            return None if fields["isNull"] else JavaValue(name, tuple([fields[unit] for unit in _INTERVAL_UNITS]))
        case _HASH_MAP.name:
            return JavaValue(name, _pairs(node.more))
    if "value" not in fields:
        raise JavaStreamError(f"Java class {name} is not one that a key's column can have")
    return JavaValue(name, fields["value"])


def _int(node: Node) -> int:
    if not isinstance(node, int):
        raise JavaStreamError("Stored key has no number where one belongs")
    return node


def _text(node: Node) -> str | None:
    if node is None:
        return None
    if isinstance(node, JavaString):
        return node.text
    raise JavaStreamError("Stored key has no text where one belongs")


def _millis(node: JavaObject) -> int:
    if len(node.block) != 8:
        raise JavaStreamError(f"Java class {node.java_class.name} has no point in time")
    return int.from_bytes(node.block, "big", signed=True)


def _decimal(scale: Node, unscaled: Node) -> Decimal:
    magnitude = unscaled.fields.get("magnitude") if isinstance(unscaled, JavaObject) else None
    if not isinstance(unscaled, JavaObject) or not isinstance(magnitude, JavaArray) or not isinstance(magnitude.items, bytes):
        raise JavaStreamError("Java class java.math.BigDecimal has no digits")
    # A byte holds more than two decimal digits. The magnitude's length is checked before the conversion to a number.
    if abs(_int(scale)) > _MOST_DIGITS or len(magnitude.items) > _MOST_DIGITS // 2:
        raise JavaStreamError("Java class java.math.BigDecimal has more digits than a numeric")
    number = Decimal(int.from_bytes(magnitude.items, "big")).as_tuple()
    return Decimal((unscaled.fields["signum"] == -1, number.digits, -_int(scale)))


def _pairs(nodes: Sequence[Node]) -> dict[str, str | None]:
    keys, values = [_text(node) for node in nodes[::2]], [_text(node) for node in nodes[1::2]]
    if len(keys) != len(values) or None in keys:
        raise JavaStreamError("Java class java.util.HashMap has a key without a value, or no key")
    return {key: value for key, value in zip(keys, values, strict=True) if key is not None}


class _Nodes:
    """Creates a stream's objects. It creates each type name once, and each object that Java's own caches would share."""

    def __init__(self) -> None:
        self._made: dict[Hashable, JavaObject] = {}
        self._type_names: dict[str, JavaString] = {}

    def node(self, value: JavaValue | None) -> Node:
        """Return the object of one value. Raises ValueError for a class that no key has."""
        if value is None:
            return None
        it = value.value
        match value.java_class:
            case "java.lang.String":
                return JavaString(it)
            case _BYTES.name:
                return JavaArray(_BYTES, it)
            case _INTEGER.name | _LONG.name | _BOOLEAN.name:
                return self._once((value.java_class, it), it in _CACHED, lambda: self._boxed(value))
            case _FLOAT.name | _DOUBLE.name:
                return self._boxed(value)
            case _BIG_DECIMAL.name:
                return self._decimal(it)
            case _UUID.name:
                low, high = it.int & 2**64 - 1, it.int >> 64
                return JavaObject(_UUID, {"leastSigBits": _signed(low), "mostSigBits": _signed(high)})
            case _DATE.name:
                return JavaObject(_DATE, block=it.to_bytes(8, "big", signed=True))
            case _TIMESTAMP.name:
                # Java stores whole seconds in the block and the entire fraction in ``nanos``.
                seconds, nanos = divmod(it, 1_000_000_000)
                return JavaObject(_TIMESTAMP, {"nanos": nanos}, (seconds * 1000).to_bytes(8, "big", signed=True))
            case _PG_OBJECT.name:
                return JavaObject(_PG_OBJECT, {"type": self._type_name(value.type_name), "value": JavaString(it)})
            case _PG_INTERVAL.name:
                units: dict[str, Node] = dict(zip(_INTERVAL_UNITS, it, strict=True))
                return JavaObject(_PG_INTERVAL, units | {"isNull": False, "type": self._type_name("interval"), "value": None})
            case _HASH_MAP.name:
                return _hash_map(it)
            case other:
                raise ValueError(f"Java class {other} is not one that a key's column can have")

    def _once(self, name: Hashable, cached: bool, make: Callable[[], JavaObject]) -> JavaObject:
        return self._made.setdefault(name, make()) if cached else make()

    def _type_name(self, name: str) -> JavaString:
        return self._type_names.setdefault(name, JavaString(name))

    def _boxed(self, value: JavaValue) -> JavaObject:
        return JavaObject(_KNOWN[value.java_class], {"value": value.value})

    def _decimal(self, value: Decimal) -> Node:
        sign, digits, exponent = value.as_tuple()
        scale, unscaled = -int(exponent), int(Decimal((sign, digits, 0)))
        cached = 0 <= unscaled <= _CACHED_DECIMALS if scale == 0 else unscaled == 0 and 0 <= scale <= _CACHED_ZEROS

        def make() -> JavaObject:
            whole = self._once(("big", unscaled), abs(unscaled) <= _CACHED_BIG, lambda: _big_integer(unscaled))
            return JavaObject(_BIG_DECIMAL, {"scale": scale, "intVal": whole})

        return self._once((unscaled, scale), cached, make)


def _big_integer(value: int) -> JavaObject:
    # Java no longer uses the first four fields; they are constant.
    fields: dict[str, Node] = {"bitCount": -1, "bitLength": -1, "firstNonzeroByteNum": -2, "lowestSetBit": -2}
    magnitude = abs(value).to_bytes((abs(value).bit_length() + 7) // 8, "big")
    return JavaObject(_BIG_INTEGER, fields | {"signum": (value > 0) - (value < 0), "magnitude": JavaArray(_BYTES, magnitude)})


def _hash_map(pairs: dict[str, str | None]) -> JavaObject:
    capacity = grown(LEAST, len(pairs))
    items: list[Node] = []
    for key in java_order(pairs):
        text = pairs[key]
        items += [JavaString(key), None if text is None else JavaString(text)]
    fields: dict[str, Node] = {"loadFactor": _LOAD_FACTOR, "threshold": int(capacity * _LOAD_FACTOR) if pairs else 0}
    return JavaObject(_HASH_MAP, fields, capacity.to_bytes(4, "big") + len(pairs).to_bytes(4, "big"), tuple(items))


def _signed(bits: int) -> int:
    return bits - 2**64 if bits >> 63 else bits


def _plain(java_class: JavaClass, convert: Callable[[str], object]) -> Callable[[str], JavaValue]:
    return lambda text: JavaValue(java_class.name, convert(text))


def _money(value: Decimal, *, as_double: bool) -> JavaValue:
    return JavaValue(_DOUBLE.name, float(value)) if as_double else JavaValue(_BIG_DECIMAL.name, value)


def _string(text: str) -> JavaValue:
    return JavaValue(_STRING, text)


def _numeric(text: str) -> JavaValue:
    # The driver returns doubles for NaN and the infinities, which BigDecimal cannot represent. (2.3.4 stored null and did not continue.)
    if not text[-1:].isdigit():
        return JavaValue(_DOUBLE.name, float(text))
    try:
        return JavaValue(_BIG_DECIMAL.name, Decimal(text))
    except InvalidOperation:
        raise ValueError("Numeric is not made of digits") from None


def _bool(text: str) -> bool:
    if text not in {"t", "f"}:
        raise ValueError("Boolean is neither t nor f")
    return text == "t"


def _bytea(text: str) -> bytes:
    if not text.startswith("\\x"):
        raise ValueError("Bytes are not in hexadecimal form. Set bytea_output to hex on the connection")
    return bytes.fromhex(text[2:])


def _date(text: str) -> int:
    return _INFINITIES[text] if text in _INFINITIES else java_days(*parse_date(text.encode())) * _DAY_MILLIS


def _timestamp(text: str) -> int:
    if text in _INFINITIES:
        return _INFINITIES[text] * 1_000_000
    bare = text.removesuffix(" BC")
    date, _, time = bare.partition(" ")
    clock = time.removesuffix("+00")
    if not clock or "+" in clock or "-" in clock:
        raise ValueError("Timestamp is not in ISO form and UTC. Set DateStyle to ISO and TimeZone to UTC on the connection")
    days = java_days(*parse_date((date + text[len(bare) :]).encode()))
    return (days * DAY_MICROS + parse_time(clock.encode())) * 1000


_BUILT_IN: Final[dict[str, Callable[[str], JavaValue]]] = {
    "int2": _plain(_INTEGER, int),
    "int4": _plain(_INTEGER, int),
    "int8": _plain(_LONG, int),
    "oid": _plain(_LONG, int),
    "float4": _plain(_FLOAT, lambda text: as_float32(float(text))),
    "float8": _plain(_DOUBLE, float),
    "numeric": _numeric,
    "bool": _plain(_BOOLEAN, _bool),
    "uuid": _plain(_UUID, uuid.UUID),
    "bytea": _plain(_BYTES, _bytea),
    "date": _plain(_DATE, _date),
    "interval": _plain(_PG_INTERVAL, lambda text: parts(text.encode())),
    **dict.fromkeys(("text", "varchar", "bpchar", "char", "name", "bit", "time", "timetz", "timestamp", "timestamptz"), _string),
}
"""The types of the schema pg_catalog that have a class of their own. All other base types, ranges and composites are PGobjects with their
text."""

_DRIVER_OBJECTS: Final[dict[str, Callable[[str], JavaValue]]] = {
    "timestamp": _plain(_TIMESTAMP, _timestamp),
    "timestamptz": _plain(_TIMESTAMP, _timestamp),
}
"""Types whose keys are the JDBC driver's objects in versions with ``stores_keys_as_driver_objects``."""


def _float_text(shown: bytes) -> str:
    """Return the number without an exponent, because PostgreSQL does not accept an exponent for money."""
    text = shown.decode().strip('"')
    return format(Decimal(text), "f") if text[-1].isdigit() else text


def _date_text(millis: int) -> str:
    return _INFINITE_MILLIS.get(millis) or "".join(_day((millis + _DAY_MILLIS // 2) // _DAY_MILLIS))


def _timestamp_text(nanos: int) -> str:
    millis, within = divmod(nanos, 1_000_000)
    if not within and millis in _INFINITE_MILLIS:
        return _INFINITE_MILLIS[millis]
    days, micros = divmod(nanos // 1000, DAY_MICROS)
    seconds, fraction = divmod(micros, 1_000_000)
    date, era = _day(days)
    shown = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{date} {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{shown}+00{era}"


def _day(days: int) -> tuple[str, str]:
    year, month, day = java_civil(days)
    return f"{year if year > 0 else 1 - year:04d}-{month:02d}-{day:02d}", "" if year > 0 else " BC"


def _interval_text(units: tuple[int, ...]) -> str:
    years, months, days, hours, minutes, seconds, micros = units
    return f"{years} years {months} mons {days} days {hours} hours {minutes} mins {seconds} secs {micros} microseconds"


def _hstore_text(pairs: dict[str, str | None]) -> str:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    return ", ".join([f"{quoted(key)}=>{'NULL' if text is None else quoted(text)}" for key, text in pairs.items()])


_TEXTS: Final[dict[str, Callable[[Any], str]]] = {
    _FLOAT.name: lambda value: _float_text(java_float(value)),
    _DOUBLE.name: lambda value: _float_text(java_double(value)),
    _BOOLEAN.name: lambda value: "t" if value else "f",
    _BYTES.name: lambda value: "\\x" + value.hex(),
    _BIG_DECIMAL.name: lambda value: format(value, "f"),
    _DATE.name: _date_text,
    _TIMESTAMP.name: _timestamp_text,
    _PG_INTERVAL.name: _interval_text,
    _HASH_MAP.name: _hstore_text,
}
