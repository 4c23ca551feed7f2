r"""A value of every mapped type, as PostgreSQL prints it, for the page about types.

``property`` names what changes how the values look. The sections are those of the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.types.codec import TypeInfo

DECIMALS: Final = "decimal.handling.mode"
TIMES: Final = "time.precision.mode"
INTERVALS: Final = "interval.handling.mode"
BYTES: Final = "binary.handling.mode"
HSTORES: Final = "hstore.handling.mode"
MODES: Final[dict[str, tuple[str, ...]]] = {
    DECIMALS: ("precise", "double", "string"),
    TIMES: ("adaptive", "adaptive_time_microseconds", "connect", "microseconds", "nanoseconds", "isostring", "structured"),
    INTERVALS: ("numeric", "string"),
    BYTES: ("bytes", "base64", "base64-url-safe", "hex"),
    HSTORES: ("json", "map"),
}
"""The values of each property, the default first."""


@dataclass(frozen=True, slots=True)
class Sample:
    """``declared`` is the type in SQL, ``name`` that of pg_type, ``text`` PostgreSQL's output, ``modifier`` the column's atttypmod."""

    declared: str
    name: str
    text: str
    modifier: int = -1
    property: str | None = None
    extension: bool = False

    def info(self, oid: int = 1) -> TypeInfo:
        """Return the type as the catalog describes it."""
        return TypeInfo(oid, self.name, "public" if self.extension else "pg_catalog")


def _numeric(precision: int, scale: int) -> int:
    return (precision << 16 | scale) + 4


SECTIONS: Final[dict[str, tuple[Sample, ...]]] = {
    "Numbers": (
        Sample("smallint", "int2", "7"),
        Sample("integer", "int4", "7"),
        Sample("bigint", "int8", "7"),
        Sample("oid", "oid", "16384"),
        Sample("real", "float4", "0.1"),
        Sample("double precision", "float8", "0.1"),
        Sample("numeric(5,2)", "numeric", "13.90", _numeric(5, 2), DECIMALS),
        Sample("numeric", "numeric", "13.90", -1, DECIMALS),
        Sample("money", "money", "$13.90", -1, DECIMALS),
    ),
    "Boolean and bit strings": (
        Sample("boolean", "bool", "t"),
        Sample("bit(1)", "bit", "1", 1),
        Sample("bit(4)", "bit", "1010", 4),
        Sample("bit varying(4)", "varbit", "101", 4),
        Sample("bit varying", "varbit", "101"),
    ),
    "Text": (
        Sample("text", "text", "Blue mug"),
        Sample("character varying(20)", "varchar", "Blue mug", 24),
        Sample("character(10)", "bpchar", "Blue mug  ", 14),
        Sample('"char"', "char", "r"),
        Sample("name", "name", "orders"),
        Sample("citext", "citext", "Blue mug", extension=True),
        Sample("uuid", "uuid", "0b5a2ae4-6c3b-4d64-9d1c-3a1f5e7f2b10"),
        Sample("json", "json", '{"a": 1}'),
        Sample("jsonb", "jsonb", '{"a": 1}'),
        Sample("xml", "xml", "<a>1</a>"),
        Sample("tsvector", "tsvector", "'blue':1 'mug':2"),
        Sample("ltree", "ltree", "shop.mugs", extension=True),
        Sample("isbn", "isbn", "978-0-393-04002-9", extension=True),
        Sample("hstore", "hstore", '"color"=>"blue", "size"=>NULL', -1, HSTORES, extension=True),
    ),
    "Binary data": (Sample("bytea", "bytea", "\\xfbff01", -1, BYTES),),
    "Dates and times": (
        Sample("date", "date", "2026-02-01", -1, TIMES),
        Sample("time(3)", "time", "13:51:02.123", 3, TIMES),
        Sample("time", "time", "13:51:02.123789", -1, TIMES),
        Sample("time with time zone", "timetz", "13:51:02.123789+02", -1, TIMES),
        Sample("timestamp(3)", "timestamp", "2026-02-01 13:51:02.123", 3, TIMES),
        Sample("timestamp", "timestamp", "2026-02-01 13:51:02.123789", -1, TIMES),
        Sample("timestamp(3) with time zone", "timestamptz", "2026-02-01 11:51:02.12+00", 3, TIMES),
        Sample("timestamp with time zone", "timestamptz", "2026-02-01 11:51:02.123789+00", -1, TIMES),
        Sample("interval", "interval", "1 year 2 mons 3 days 04:05:06.78", -1, INTERVALS),
    ),
    "Network addresses": (
        Sample("inet", "inet", "192.0.2.1"),
        Sample("cidr", "cidr", "192.0.2.0/24"),
        Sample("macaddr", "macaddr", "08:00:2b:01:02:03"),
        Sample("macaddr8", "macaddr8", "08:00:2b:01:02:03:04:05"),
    ),
    "Ranges": (
        Sample("int4range", "int4range", "[1,10)"),
        Sample("int8range", "int8range", "[1,10)"),
        Sample("numrange", "numrange", "[1.5,2.5)"),
        Sample("daterange", "daterange", "[2026-02-01,2026-03-01)"),
        Sample("tsrange", "tsrange", '["2026-02-01 00:00:00","2026-03-01 00:00:00")'),
        Sample("tstzrange", "tstzrange", '["2026-02-01 00:00:00+00","2026-03-01 00:00:00+00")'),
    ),
    "Geometric types and PostGIS": (
        Sample("point", "point", "(1,2)"),
        Sample("box", "box", "(1,1),(0,0)"),
        Sample("circle", "circle", "<(1,2),3>"),
        Sample("line", "line", "{1,-1,0}"),
        Sample("lseg", "lseg", "[(0,0),(1,1)]"),
        Sample("path", "path", "[(0,0),(1,1)]"),
        Sample("polygon", "polygon", "((0,0),(1,0),(0,1))"),
        Sample("geometry (PostGIS)", "geometry", "0101000020E6100000000000000000F03F0000000000000040", extension=True),
        Sample("geography (PostGIS)", "geography", "0101000020E6100000000000000000F03F0000000000000040", extension=True),
    ),
    "Vectors": (
        Sample("int2vector", "int2vector", "1 3"),
        Sample("oidvector", "oidvector", "23 25"),
        Sample("vector (pgvector)", "vector", "[1,2.5]", extension=True),
        Sample("halfvec (pgvector)", "halfvec", "[1,2.5]", extension=True),
        Sample("sparsevec (pgvector)", "sparsevec", "{1:0.5,7:2}/9", extension=True),
    ),
}
