"""Geometries and vectors: structs and arrays of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    MapType,
    ShortType,
    StructField,
    StructType,
)

from workers.spark.types.binding import let
from workers.spark.types.kind import Builder, Kind, Placeholder, Schema, fixed

_NUMBER: Final = r"([^,<>(){}]+)"


def _struct(**fields: DataType) -> StructType:
    return StructType([StructField(name, of) for name, of in fields.items()])


def _coordinates(pattern: str, *names: str) -> Callable[[Column], Column]:
    """Read the numbers that ``pattern`` finds in a text into a struct; null if one is not a number."""

    def read(text: Column) -> Column:
        numbers = [F.regexp_extract(text, pattern, at + 1).try_cast("double") for at in range(len(names))]
        filled = [number.isNotNull() for number in numbers]
        every = filled[0]
        for one in filled[1:]:
            every &= one
        return F.when(every, F.struct(*(number.alias(name) for number, name in zip(numbers, names, strict=True))))

    return read


# --- PostgreSQL's own

_POINT_TYPE: Final = _struct(x=DoubleType(), y=DoubleType())
_POINT: Final = Kind(_POINT_TYPE, _POINT_TYPE, text=F.to_json, read=_coordinates(rf"^\({_NUMBER},{_NUMBER}\)$", "x", "y"))
_LINE_TYPE: Final = _struct(a=DoubleType(), b=DoubleType(), c=DoubleType())
_LINE: Final = Kind(_LINE_TYPE, _LINE_TYPE, text=F.to_json, read=_coordinates(rf"^\{{{_NUMBER},{_NUMBER},{_NUMBER}\}}$", "a", "b", "c"))
_CIRCLE_TYPE: Final = _struct(center=_POINT_TYPE, radius=DoubleType())


def _circle(text: Column) -> Column:
    flat = _coordinates(rf"^<\({_NUMBER},{_NUMBER}\),{_NUMBER}>$", "x", "y", "radius")(text)
    return let(
        flat,
        lambda of: F.when(
            of.isNotNull(), F.struct(F.struct(of["x"].alias("x"), of["y"].alias("y")).alias("center"), of["radius"].alias("radius"))
        ),
    )


_CIRCLE: Final = Kind(_CIRCLE_TYPE, _CIRCLE_TYPE, text=F.to_json, read=_circle)

# --- PostGIS: the bytes are EWKB as the server sends it, with the SRID inside, and its text is their hex digits

_SRID_FLAG: Final = 0x20


def _srid(digits: Column) -> Column:
    """The SRID in EWKB's hex digits: byte order, type with a flag in its highest byte, then the SRID if the flag is set (PostGIS)."""
    little = digits.substr(1, 2) == "01"
    flags = F.conv(F.when(little, digits.substr(9, 2)).otherwise(digits.substr(3, 2)), 16, 10).cast("int")
    turned = F.concat(*(digits.substr(at, 2) for at in (17, 15, 13, 11)))
    number = F.conv(F.when(little, turned).otherwise(digits.substr(11, 8)), 16, 10)
    return F.when(flags.bitwiseAND(_SRID_FLAG) != 0, number.cast("bigint").cast("int"))


def _ewkb(text: Column) -> Column:
    return let(
        F.unhex(text),
        lambda wkb: F.when(wkb.isNotNull(), F.struct(_srid(F.hex(wkb)).alias("srid"), wkb.alias("wkb"))),
    )


def _geometry(schema: Schema, _placeholder: Placeholder) -> Kind:
    """Geometry and Geography. With ``extensions`` (Debezium 3.7) box, lseg, path and polygon come as one too: their text is no EWKB."""
    fields = schema.get("fields")
    mixed = isinstance(fields, list) and any(field.get("field") == "extensions" for field in fields)
    return Kind(
        _struct(wkb=BinaryType(), srid=IntegerType()),
        _struct(srid=IntegerType(), wkb=BinaryType()),
        lambda raw: F.when(raw.isNotNull(), F.struct(raw["srid"].alias("srid"), raw["wkb"].alias("wkb"))),
        lambda value: F.concat(F.coalesce(F.concat(F.lit("SRID="), value["srid"], F.lit(";")), F.lit("")), F.hex(value["wkb"])),
        _ewkb,
        comparable=not mixed,
    )


# --- pgvector


def _vector(of: DataType) -> Kind:
    numbers = ArrayType(of)
    return Kind(numbers, numbers, text=F.to_json, read=lambda text: F.from_json(text, numbers))


_SPARSE_TYPE: Final = _struct(dimensions=IntegerType(), vector=MapType(IntegerType(), DoubleType()))


def _sparse(dimensions: Column, pairs: Column, part: Callable[[Column, int], Column]) -> Column:
    """``part`` gives a pair's index (0) and number (1)."""
    entries = F.transform(
        pairs, lambda pair: F.struct(part(pair, 0).try_cast("int").alias("key"), part(pair, 1).try_cast("double").alias("value"))
    )
    return F.struct(dimensions.cast("int").alias("dimensions"), F.map_from_entries(entries).alias("vector"))


def _read_sparse(text: Column) -> Column:
    """``{1:0.5,7:2}/9``."""
    body = F.regexp_extract(text, r"^\{(.*)\}/\d+$", 1)
    pairs = F.filter(F.split(body, ","), lambda pair: pair != "")
    dimensions = F.regexp_extract(text, r"\}/(\d+)$", 1).try_cast("int")
    return F.when(dimensions.isNotNull(), _sparse(dimensions, pairs, lambda pair, at: F.split_part(pair, F.lit(":"), F.lit(at + 1))))


def _sparse_text(value: Column) -> Column:
    entries = F.array_sort(F.map_entries(value["vector"]))
    members = F.transform(entries, lambda entry: F.concat(entry["key"].cast("string"), F.lit(":"), entry["value"].cast("string")))
    return F.concat(F.lit("{"), F.array_join(members, ","), F.lit("}/"), value["dimensions"].cast("string"))


_SPARSE: Final = Kind(
    # JsonConverter writes a map with keys other than strings as pairs.
    _struct(dimensions=ShortType(), vector=ArrayType(ArrayType(DoubleType()))),
    _SPARSE_TYPE,
    lambda raw: F.when(raw.isNotNull(), _sparse(raw["dimensions"], raw["vector"], lambda pair, at: pair[at])),
    _sparse_text,
    _read_sparse,
)

NAMED: Final[dict[str, Builder]] = {
    "io.debezium.data.geometry.Point": fixed(_POINT),
    "io.debezium.data.geometry.Line": fixed(_LINE),
    "io.debezium.data.geometry.Circle": fixed(_CIRCLE),
    "io.debezium.data.geometry.Geometry": _geometry,
    "io.debezium.data.geometry.Geography": _geometry,
    "io.debezium.data.DoubleVector": fixed(_vector(DoubleType())),
    "io.debezium.data.FloatVector": fixed(_vector(FloatType())),
    "io.debezium.data.SparseDoubleVector": fixed(_SPARSE),
}
