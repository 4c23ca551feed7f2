"""Every type in every mode: the event's value, made by the connector's own codecs of PostgreSQL's text, against PostgreSQL's text."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import psycopg
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StringType, StructField, StructType

from connector.record.json_converter import schema_json
from connector.types.codec import Column, TypeInfo, TypeSettings
from connector.types.registry import resolve
from tests.support.spark.local_frame import local_frame
from workers.spark.source.relation import SETTINGS
from workers.spark.types import Kind, kind_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.fix_pg import PgServer

PLAIN: Final = TypeSettings()
MODES: Final = {
    "default": PLAIN,
    "connect": replace(PLAIN, time_precision_mode="connect"),
    "microseconds": replace(PLAIN, time_precision_mode="microseconds"),
    "nanoseconds": replace(PLAIN, time_precision_mode="nanoseconds"),
    "isostring": replace(PLAIN, time_precision_mode="isostring"),
    "double": replace(PLAIN, decimal_handling_mode="double"),
    "string": replace(PLAIN, decimal_handling_mode="string", interval_handling_mode="string"),
}
TEMPORAL: Final = ("default", "connect", "microseconds", "nanoseconds", "isostring")
DECIMAL: Final = ("default", "double", "string")
NUMBERS: Final = ["0", "1.1", "-99999999.99", "0.01", None]
MOMENTS: Final = ["2016-11-04 13:51:30.123456", "1969-12-31 23:59:59.999", "infinity", "-infinity", "2000-01-01", None]
TIMES: Final = ["00:00:00", "13:51:02.123456", "13:51:02.1", "23:59:59", None]
ALWAYS: Final = ("default",)
# Type, the modes that matter to it, values.
TYPES: Final[list[tuple[str, tuple[str, ...], list[str | None]]]] = [
    ("bool", ALWAYS, ["t", "f", None]),
    ("int2", ALWAYS, ["-32768", "32767", None]),
    ("int4", ALWAYS, ["-2147483648", "0", None]),
    ("int8", ALWAYS, ["9223372036854775807", "-1", None]),
    ("oid", ALWAYS, ["4294967295"]),
    ("float4", ALWAYS, ["1e-10", "3.4028235e38", "0.1", "-0", None]),
    ("float8", ALWAYS, ["1e300", "0.1", "123456789.125", "5e-324", None]),
    ("numeric(10,2)", DECIMAL, NUMBERS),
    ("numeric(38,9)", ALWAYS, ["-12345678901234567890123456789.123456789", "99999999999999999999999999999.999999999", "0.000000001"]),
    ("numeric(60,5)", ALWAYS, ["-1234567890123456789012345678901234567890.12345", "0", None]),
    ("numeric(5,-2)", ALWAYS, ["1234500", "-100", None]),
    ("numeric", ("default", "string"), ["1.10", "1e40", "-1e-20", "0", "100", None]),
    ("money", ALWAYS, ["-92233720368547758.08", "0.05", None]),
    ("text", ALWAYS, ['q"\\ \t漢😀', "", None]),
    ("char(5)", ALWAYS, ["ab", None]),
    ("uuid", ALWAYS, ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None]),
    ("json", ALWAYS, ['{"b":1.50, "a":[null,true]}', "null", None]),
    ("jsonb", ALWAYS, ['{"b":1.50, "a":[null,true], "c":"é\\u0001"}', "12", None]),
    ("inet", ALWAYS, ["10.0.0.1/8", "::1"]),
    ("int4range", ALWAYS, ["[1,5)", "empty"]),
    ("bytea", ALWAYS, ["\\x00ff10", "\\x", None]),
    ("bit(5)", ALWAYS, ["00011", "10000", "00000", None]),
    ("bit(1)", ALWAYS, ["1", "0", None]),
    ("varbit(70)", ALWAYS, ["1" + "0" * 68 + "1", "101", None]),
    ("date", TEMPORAL, ["2020-02-29", "0044-03-15 BC", "5874897-12-31", "infinity", "-infinity", None]),
    ("time", TEMPORAL, TIMES),
    ("time(3)", ("default",), [*TIMES, "24:00:00"]),
    ("timestamp", TEMPORAL, MOMENTS),
    ("timestamp(3)", ("default", "isostring"), [*MOMENTS, "0044-03-15 01:02:03 BC"]),
    ("timetz", ALWAYS, ["13:51:02.123789+02", "00:00:00+00", None]),
    ("timestamptz", ALWAYS, ["2016-11-04 13:51:30.12+02", "0044-03-15 01:02:03+00 BC", "infinity", "-infinity", None]),
    ("timestamptz(0)", ALWAYS, ["2016-11-04 13:51:30+02"]),
    ("interval", ("default", "string"), ["1 year 2 mons -3 days 04:05:06.789", "1.005 s", "-0.5 s", "170000 years", "-7 mons", None]),
    ("point", ALWAYS, ["(1.5,-2)", "(1e300,0)", None]),
    ("int2vector", ALWAYS, ["1 2 3"]),
    ("bool[]", ALWAYS, ["{t,NULL,f}", "{}", None]),
    ("int4[]", ALWAYS, ["{1,NULL,-3}", None]),
    ("float8[]", ALWAYS, ["{0.1,1e300,NULL}"]),
    ("text[]", ALWAYS, ['{"a",NULL,"q\\"","{}"}', "{}", None]),
    ("numeric(10,2)[]", ("default", "double"), ["{1.1,NULL,-0.05}"]),
    ("numeric[]", ALWAYS, ["{1.10,1e30,NULL}"]),
    ("uuid[]", ALWAYS, ["{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}"]),
    ("jsonb[]", ALWAYS, ['{"{\\"b\\": 1, \\"a\\": 2}",NULL}']),
    ("bytea[]", ALWAYS, ['{"\\\\x01ff",NULL}']),
    ("date[]", ("default", "isostring"), ["{2016-11-04,NULL,infinity,-infinity}"]),
    ("time[]", ("default", "isostring"), ["{13:51:02.123456,NULL,24:00:00}"]),
    ("timestamp[]", ("default", "isostring"), ['{"2016-11-04 13:51:30.123456",NULL,infinity}']),
    ("timestamptz[]", ALWAYS, ['{"2016-11-04 13:51:30.1+02",NULL}']),
    ("timetz[]", ALWAYS, ["{13:51:02.123789+02,NULL}"]),
]


@dataclass(frozen=True, slots=True)
class Probe:
    """One type in one mode: the JSON of its events and the source's texts, row by row."""

    name: str
    kind: Kind
    events: list[str]
    texts: list[str | None]


def types_of(connection: psycopg.Connection) -> dict[int, TypeInfo]:
    rows = connection.execute(
        "select t.oid::int8, typname, typtype::text, typcategory::text, case when typcategory = 'A' then typelem else 0 end::int8"
        " from pg_type t where typnamespace = 'pg_catalog'::regnamespace"
    )
    return {row[0]: TypeInfo(row[0], row[1], "pg_catalog", row[2], row[3], row[4]) for row in rows}


def probes(connection: psycopg.Connection) -> list[Probe]:
    types, found = types_of(connection), []
    for at, (name, modes, values) in enumerate(TYPES):
        connection.execute(f"create temp table t{at} (n serial, c {name})".encode())
        for value in values:
            connection.execute(f"insert into t{at} (c) values (%s::text::{name})".encode(), (value,))
        oid, modifier = connection.execute(
            f"select atttypid::int8, atttypmod from pg_attribute where attrelid = 't{at}'::regclass and attname = 'c'".encode()
        ).fetchall()[0]
        printed = [row[0] for row in connection.execute(f"select format('%s', c), c is null from t{at} order by n".encode()) if not row[1]]
        missing = [value is None for value in values]
        for mode in modes:
            codec = resolve(Column("c", oid, modifier), types, MODES[mode])
            assert codec is not None, name
            rest = iter(printed)
            sent = [b"null" if none else codec.encode(next(rest).encode()) for none in missing]
            kind = kind_of(json.loads(schema_json(codec.schema)))
            texts = connection.execute(f"select {kind.sql.replace('{c}', 'c')} from t{at} order by n".encode()).fetchall()
            found.append(Probe(f"{name} {mode}", kind, [f'{{"v":{one.decode()}}}' for one in sent], [row[0] for row in texts]))
    return found


@pytest.mark.pg(">= 15")
@pytest.mark.pg_once
def test_events_equal_the_source_in_every_mode(spark: SparkSession, pg: PgServer) -> None:
    with psycopg.connect(pg.database("sparkkinds").dsn) as connection:
        for name, value in (*SETTINGS, ("intervalstyle", "postgres")):
            connection.execute("select set_config(%s, %s, false)", (name, value))
        found = probes(connection)
    unequal: list[str] = []
    # Plans of some dozen kinds; one of all would take Spark longer to plan than all of these.
    for start in range(0, len(found), 12):
        part = found[start : start + 12]
        rows = [
            [cell for probe in part for cell in ((probe.events[at], probe.texts[at]) if at < len(probe.events) else (None, None))]
            for at in range(max(len(probe.events) for probe in part))
        ]
        columns = StructType([StructField(f"{side}{at}", StringType()) for at in range(len(part)) for side in "et"])
        frame = local_frame(spark, rows, columns)
        for row in frame.select(*(shown(at, probe.kind) for at, probe in enumerate(part))).collect():
            unequal += [f"{probe.name}: {row[at]}" for at, probe in enumerate(part) if row[at][0] != row[at][1]]
    assert unequal == []


def shown(at: int, kind: Kind) -> SparkColumn:
    raw = F.from_json(f"e{at}", StructType([StructField("v", kind.raw)]), {"mode": "FAILFAST"})["v"]
    return F.array(kind.text(kind.decode(raw)), kind.normal(F.col(f"t{at}"))).alias(f"c{at}")
