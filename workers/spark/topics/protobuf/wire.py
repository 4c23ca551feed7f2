"""Messages of Protocol Buffers as Spark's values, by Spark's own functions (Protocol Buffers documentation, "Encoding").

Spark has a reader of Protocol Buffers, ``from_protobuf``, in the jar ``spark-protobuf``, which some repositories lack for this version.
Here a message is divided into its fields first, then each field is read by the type that is wanted. Fields that are not wanted are passed
over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from workers.spark.topics.protobuf.definition import WRAPPED, Field, Message
from workers.spark.types.binding import let

_VARINT: Final = 0
_FIXED64: Final = 1
_SIZED: Final = 2
_PLACES: Final = "array<struct<octets: binary, number: bigint>>"
_NATURAL: Final[Mapping[str, DataType]] = {
    "int32": IntegerType(),
    "int64": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "bool": BooleanType(),
    "string": StringType(),
    "bytes": BinaryType(),
}
_PACKED: Final = frozenset({"int32", "int64", "bool"})
_DAY_MS: Final = 86_400_000


def read_message(octets: Column, message: Message, of: StructType) -> Column:
    """The message in ``octets`` (binary) as ``of``. Fields of ``of`` that the message lacks are null, and so is a message that is null.

    Octets that are not the message's stop the job.
    """
    return _levels([_Node(octets, message, of)], lambda found: found[0])


@dataclass(frozen=True, slots=True)
class _Node:
    """A message that is to be read as ``of``."""

    octets: Column
    message: Message
    of: StructType

    def fields(self) -> list[tuple[StructField, Field | None]]:
        """What is wanted, with the message's fields."""
        known = {field.name: field for field in self.message.fields}
        return [(part, known.get(part.name)) for part in self.of.fields]


def _levels(nodes: Sequence[_Node], finish: Callable[[list[Column]], Column]) -> Column:
    """What ``finish`` makes of the messages' values.

    All messages of one depth are divided by one expression: planning takes time for each, and an event has dozens of messages.
    """
    most = max(len(node.message.fields) for node in nodes)
    repeats = any(field.repeated for node in nodes for field in node.message.fields)
    divided = F.transform(F.array(*(node.octets for node in nodes)), lambda each: _divided(each, most, repeats=repeats))

    def read(parts: Column) -> Column:
        inner: list[_Node] = []
        for at, node in enumerate(nodes):
            for part, field in node.fields():
                if field is not None and (message := _nested(field)) is not None:
                    octets = _place(F.get(parts, F.lit(at)), field)["octets"]
                    inner.append(_Node(octets, message, _shape(message, part.dataType)))

        def whole(values: list[Column]) -> Column:
            rest = iter(values)
            return finish([_struct(F.get(parts, F.lit(at)), node, rest) for at, node in enumerate(nodes)])

        return _levels(inner, whole) if inner else whole([])

    return let(divided, read)


def _struct(part: Column, node: _Node, nested: Iterator[Column]) -> Column:
    """A message's value. ``nested`` has the values of its messages, in the order of the fields."""
    members = []
    for wanted, field in node.fields():
        if field is None:
            value = F.lit(None)
        elif (message := _nested(field)) is not None:
            value = _finished(next(nested), message, wanted.dataType)
        elif field.repeated:
            value = _repeated(part, field, wanted.dataType)
        else:
            value = _single(_place(part, field), field, wanted.dataType)
        members.append(value.cast(wanted.dataType).alias(wanted.name))
    return F.when(part.isNotNull(), F.struct(*members))


def _nested(field: Field) -> Message | None:
    """The message of a field, if the field is read on the next level."""
    return None if field.repeated or field.message is None or field.message.name in WRAPPED else field.message


def _shape(message: Message, of: DataType) -> StructType:
    """What a message within another one is read as."""
    if message.name in _LOGICAL:
        return _LOGICAL[message.name][0]
    return of if isinstance(of, StructType) else _natural_struct(message)


def _finished(value: Column, message: Message, of: DataType) -> Column:
    """A message that was read as its :func:`_shape`, as ``of``."""
    if message.name in _LOGICAL:
        return let(value, _LOGICAL[message.name][1])
    return value if isinstance(of, StructType) else F.to_json(value, {"ignoreNullFields": "false"})


def _place(part: Column, field: Field) -> Column:
    """The content of a field; null without it, because get returns null for an index outside of the array."""
    return F.get(part["places"], F.array_position(part["numbers"], F.lit(field.number)).cast("int") - 1)


def _single(place: Column, field: Field, of: DataType) -> Column:
    if field.message is not None:
        scalar = WRAPPED[field.message.name]
        return let(place["octets"], lambda octets: F.when(octets.isNotNull(), _wrapped(octets, scalar).cast(of)))
    found = _scalar(place, field.type)
    return found if field.has_presence else F.coalesce(found.cast(of), _zero(field.type).cast(of))


def _zero(kind: str) -> Column:
    match kind:
        case "string":
            return F.lit("")
        case "bytes":
            return F.lit(b"")
        case "bool":
            return F.lit(False)
        case _:
            return F.lit(0)


def _scalar(place: Column, kind: str) -> Column:
    match kind:
        case "int32" | "int64":
            return place["number"].cast(_NATURAL[kind])
        case "bool":
            return place["number"] != 0
        case "string":
            return place["octets"].cast("string")
        case "bytes":
            return place["octets"]
        case _:
            return _real(place["octets"], kind)


def _wrapped(octets: Column, kind: str) -> Column:
    """The scalar in a wrapper: a message of one field, which is absent for the zero of its type."""
    size = F.octet_length(octets)
    match kind:
        case "int32" | "int64":
            found = _varint(octets, F.lit(2)).cast(_NATURAL[kind])
        case "bool":
            return size > 0
        case "string" | "bytes":
            # The tag is a byte. How long the length is follows from the whole.
            start = F.when(size < 130, 3).when(size < 16_387, 4).when(size < 2_097_156, 5).when(size < 268_435_461, 6).otherwise(7)
            content = F.substring(octets, start, F.lit(2**31 - 1))
            found = content.cast("string") if kind == "string" else content
        case _:
            found = _real(F.substring(octets, 2, 8), kind)
    return F.when(size > 0, found).otherwise(_zero(kind).cast(_NATURAL[kind]))


def _real(octets: Column, kind: str) -> Column:
    """A float or double. Avro has the same form."""
    return from_avro(octets, f'"{kind}"', {"mode": "FAILFAST"})


def _repeated(part: Column, field: Field, of: DataType) -> Column:
    zipped = F.arrays_zip(part["numbers"].alias("number"), part["places"].alias("place"))
    mine = F.filter(zipped, lambda each: each["number"] == F.lit(field.number))
    message = field.message
    if message is not None and message.is_entry:
        return _map(mine, message, of)
    items = of.elementType if isinstance(of, ArrayType) else _item(field)
    if message is not None:
        found = F.transform(mine, lambda each: _inner(each["place"]["octets"], message, items))
    elif field.type in ("string", "bytes"):
        found = F.transform(mine, lambda each: _scalar(each["place"], field.type).cast(items))
    else:
        found = F.flatten(F.transform(mine, lambda each: _packed(each["place"]["octets"], field.type))).cast(ArrayType(items))
    return F.to_json(found) if isinstance(of, StringType) else found


def _inner(octets: Column, message: Message, of: DataType) -> Column:
    """A message in an array."""
    if message.name in WRAPPED:
        return let(octets, lambda once: _wrapped(once, WRAPPED[message.name])).cast(of)
    return _finished(read_message(octets, message, _shape(message, of)), message, of).cast(of)


def _packed(octets: Column, kind: str) -> Column:
    """The numbers of a field that holds them one after the other."""
    if kind in _PACKED:
        size = F.octet_length(octets)

        def step(state: Column, _: Column) -> Column:
            def after(number: Column) -> Column:
                value = number != 0 if kind == "bool" else number.cast(_NATURAL[kind])
                return F.struct((state["at"] + _width(number)).alias("at"), F.concat(state["items"], F.array(value)).alias("items"))

            return F.when(state["at"] <= size, let(_varint(octets, state["at"]), after)).otherwise(state)

        start = F.struct(F.lit(1).alias("at"), F.array().cast(ArrayType(_NATURAL[kind])).alias("items"))
        steps = F.when(size > 0, F.sequence(F.lit(1), size)).otherwise(F.array().cast("array<int>"))
        return F.aggregate(steps, start, step)["items"]
    width = 4 if kind == "float" else 8
    count = (F.octet_length(octets) / width).cast("int")
    starts = F.when(count > 0, F.sequence(F.lit(0), count - 1)).otherwise(F.array().cast("array<int>"))
    return F.transform(starts, lambda each: _real(F.substring(octets, each * width + 1, F.lit(width)), kind))


def _map(mine: Column, entry: Message, of: DataType) -> Column:
    """A map; pairs, if an array of arrays is wanted; text, if a text is wanted."""
    if isinstance(of, ArrayType) and isinstance(of.elementType, ArrayType):
        part = of.elementType.elementType
        shape = StructType([StructField(name, part) for name in ("key", "value")])
        pairs = F.transform(mine, lambda each: read_message(each["place"]["octets"], entry, shape))
        return F.transform(pairs, lambda pair: F.array(pair["key"], pair["value"]))
    shape = _natural_struct(entry)
    if isinstance(of, MapType):
        shape = StructType([StructField("key", of.keyType), StructField("value", of.valueType)])
    found = F.map_from_entries(F.transform(mine, lambda each: read_message(each["place"]["octets"], entry, shape)))
    return F.to_json(found) if isinstance(of, StringType) else found


def _only(name: str, of: DataType) -> StructType:
    return StructType([StructField(name, of)])


def _natural(field: Field) -> DataType:
    """The Spark type that is closest to a field's."""
    if field.message is not None and field.message.is_entry:
        shape = _natural_struct(field.message)
        return MapType(shape["key"].dataType, shape["value"].dataType)
    return ArrayType(_item(field)) if field.repeated else _item(field)


def _item(field: Field) -> DataType:
    message = field.message
    if message is None:
        return _NATURAL[field.type]
    if message.name in WRAPPED:
        return _NATURAL[WRAPPED[message.name]]
    return _TYPES.get(message.name) or _natural_struct(message)


def _natural_struct(message: Message) -> StructType:
    return StructType([StructField(each.name, _natural(each)) for each in message.fields])


# --- logical types


def _days(date: Column) -> Column:
    """Days since 1970 of a date in Java's calendar, which is Julian before 1582-10-15."""
    shift = F.call_function("div", F.lit(14) - date["month"], F.lit(12))
    year, month = date["year"] + 4800 - shift, date["month"] + 12 * shift - 3
    quarters, within = F.call_function("div", year, F.lit(4)), F.call_function("div", 153 * month + 2, F.lit(5))
    julian = date["day"] + within + 365 * year + quarters - 32_083
    century = F.call_function("div", year, F.lit(100)) - F.call_function("div", year, F.lit(400)) - 38
    gregorian = date["year"] * 10_000 + date["month"] * 100 + date["day"] >= 15_821_015
    return (F.when(gregorian, julian - century).otherwise(julian) - 2_440_588).cast("int")


def _milliseconds(time: Column) -> Column:
    seconds = time["hours"] * 3600 + time["minutes"] * 60 + time["seconds"]
    return seconds * 1000 + F.call_function("div", time["nanos"], F.lit(1_000_000)).cast("int")


def _moment(time: Column) -> Column:
    return time["seconds"] * 1000 + F.call_function("div", time["nanos"], F.lit(1_000_000))


def _numbers(*names: str, **others: DataType) -> StructType:
    return StructType([StructField(name, others.get(name, IntegerType())) for name in (*names, *others)])


_LOGICAL: Final[Mapping[str, tuple[StructType, Callable[[Column], Column]]]] = {
    "confluent.type.Decimal": (_only("value", BinaryType()), lambda decimal: decimal["value"]),
    "google.type.Date": (_numbers("year", "month", "day"), _days),
    "google.type.TimeOfDay": (_numbers("hours", "minutes", "seconds", "nanos"), _milliseconds),
    "google.protobuf.Timestamp": (_numbers("nanos", seconds=LongType()), _moment),
}
_TYPES: Final[Mapping[str, DataType]] = {
    "confluent.type.Decimal": BinaryType(),
    "google.type.Date": IntegerType(),
    "google.type.TimeOfDay": IntegerType(),
    "google.protobuf.Timestamp": LongType(),
}


# --- the bytes


def _divided(whole: Column, most: int, *, repeats: bool) -> Column:
    """The numbers of a message's fields and their contents, in two arrays of one length; null stays null.

    A content is the field's bytes, and its number if it is a varint. One step reads one field. There are at most ``most`` of them, but if
    fields are repeated as many as two bytes each allow.
    """
    size = F.octet_length(whole)
    empty = F.struct(F.lit(1).alias("at"), F.array().cast("array<int>").alias("numbers"), F.array().cast(_PLACES).alias("places"))

    def step(state: Column, _: Column) -> Column:
        return F.when(state["at"] <= size, let(_tag(whole, state["at"]), lambda tag: _stepped(whole, state, tag))).otherwise(state)

    count = F.greatest(F.lit(most), F.shiftright(size, 1)) if repeats else F.lit(max(most, 1))
    wrong = F.raise_error(F.lit("A record does not fit its schema of Protocol Buffers.")).cast(_STATE)
    found = F.aggregate(F.sequence(F.lit(1), count), empty, step, lambda state: F.when(state["at"] == size + 1, state).otherwise(wrong))
    return F.when(whole.isNotNull(), found)


_STATE: Final = f"struct<at: int, numbers: array<int>, places: {_PLACES}>"


def _tag(whole: Column, at: Column) -> Column:
    """A field's number with its form, and where its value begins."""

    def read(tag: Column) -> Column:
        return F.struct(tag.cast("int").alias("tag"), (at + _width(tag)).alias("start"))

    return let(_varint(whole, at), read)


def _stepped(whole: Column, state: Column, tag: Column) -> Column:
    form = tag["tag"].bitwiseAND(F.lit(7))
    number = F.when(form.isin(_VARINT, _SIZED), _varint(whole, tag["start"]))

    def placed(found: Column) -> Column:
        begins = tag["start"] + F.coalesce(_width(found), F.lit(0))
        size = F.when(form == _SIZED, found.cast("int")).when(form == _VARINT, 0).when(form == _FIXED64, 8).otherwise(4)
        return F.struct(begins.alias("begins"), size.alias("size"), found.alias("number"))

    def added(place: Column) -> Column:
        octets = F.substring(whole, place["begins"], place["size"])
        return F.struct(
            (place["begins"] + place["size"]).alias("at"),
            F.concat(state["numbers"], F.array(F.shiftright(tag["tag"], 3))).alias("numbers"),
            F.concat(state["places"], F.array(F.struct(octets.alias("octets"), place["number"].alias("number")))).alias("places"),
        )

    return let(let(number, placed), added)


def _varint(whole: Column, at: Column) -> Column:
    """The varint at a place, as a bigint. Avro's long has the same form, but with the sign in the lowest bit."""
    long = let(
        from_avro(F.substring(whole, at, F.lit(10)), '"long"', {"mode": "FAILFAST"}),
        lambda zigzag: F.shiftleft(zigzag, 1).bitwiseXOR(F.shiftright(zigzag, 63)),
    )

    def read(first: Column) -> Column:
        # Most are a byte below 128, which is a character of ASCII.
        return F.when(first < F.lit(b"\x80"), F.ascii(first.cast("string")).cast("bigint")).otherwise(long)

    return let(F.substring(whole, at, F.lit(1)), read)


def _width(number: Column) -> Column:
    """The bytes of a varint."""
    width = F.when(number >= 0, 9).when(number < 0, 10)
    for size in range(8, 0, -1):
        width = F.when((number >= 0) & (number < 1 << 7 * size), size).otherwise(width)
    return width
