"""A field that gets the value of another field: the answers are those of Kafka Connect 4.3."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import BYTES, CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, DECIMAL, INT32, INT64, STRING, Field, Schema
from connector.transforms.kafka.fields.replace_field import DEFINITIONS, KEYS
from tests.support.each_case import each_case

STRUCT = Schema("struct", fields=(Field("x", INT32),))
STRINGS = Schema("array", items=STRING)


def decimal(scale: int) -> Schema:
    return Schema("bytes", name=DECIMAL, version=1, parameters=(("scale", str(scale)),))


FIELDS: dict[str, tuple[Schema, Any]] = {
    "id": (INT32, 1),
    "oi": (INT32.as_optional(), None),
    "oi5": (INT32.as_optional(), 5),
    "di": (INT32.with_default(7), 9),
    "b": (INT64, 2),
    "s": (STRING, "s"),
    "os": (STRING.as_optional(), None),
    "day": (Schema("int32", name=CONNECT_DATE, version=1), 3),
    "oday": (Schema("int32", True, CONNECT_DATE, 1), 4),
    "time": (Schema("int32", name=CONNECT_TIME, version=1), 60_000),
    "ts": (Schema("int64", name=CONNECT_TIMESTAMP, version=1), 86_400_000),
    "dec": (decimal(2), Decimal("1.25")),
    "odec": (decimal(2).as_optional(), Decimal("2.25")),
    "dec3": (decimal(3), Decimal("1.250")),
    "dbzd": (Schema("int32", name="io.debezium.time.Date", version=1), 3),
    "bin": (BYTES, b"1"),
    "obin": (BYTES.as_optional(), None),
    "arr": (Schema("array", items=INT32), [1]),
    "arrs": (STRINGS, ["a"]),
    "oarrs": (STRINGS.as_optional(), None),
    "m": (Schema("map", keys=STRING, values=INT32), {"k": 1}),
    "om": (Schema("map", True, keys=STRING, values=INT32.as_optional()), {"o": None}),
    "st": (STRUCT, {"x": 1}),
    "ost": (STRUCT.as_optional(), None),
}
ROW = Schema("struct", fields=tuple(Field(name, schema) for name, (schema, _) in FIELDS.items()))


def replaced(source: str, target: str) -> Any:
    options = Options(KEYS, {"include": target, "renames": f"{source}:{target}"})
    [step] = [definition.make(options) for definition in DEFINITIONS if definition.name.endswith("$Value")]
    record = step.apply(ConnectRecord("t", value_schema=ROW, value={name: value for name, (_, value) in FIELDS.items()}))
    assert record is not None
    assert record.value_schema is not None
    assert record.value_schema.fields == (Field(target, FIELDS[target][0]),)
    return record.value[target]


@each_case(
    ("source", "target", "expected"),
    [
        ("oi5", "id", 5),
        ("di", "id", 9),
        ("id", "oi", 1),
        ("s", "os", "s"),
        ("day", "oday", 3),
        ("day", "ts", 259_200_000),
        ("time", "ts", 60_000),
        ("ts", "day", 1),
        ("odec", "dec", Decimal("2.25")),
        ("dbzd", "id", 3),
        ("id", "dbzd", 1),
        ("obin", "os", None),
        ("ost", "oi", None),
        ("arrs", "oarrs", ["a"]),
        ("m", "om", {"k": 1}),
    ],
)
def test_a_value_that_fits_is_taken(source: str, target: str, expected: object) -> None:
    assert replaced(source, target) == expected


@each_case(
    ("source", "target", "text"),
    [
        ("oi", "id", 'null used for required field: "id"'),
        ("oi", "di", 'null used for required field: "di"'),
        ("ost", "st", 'null used for required field: "st"'),
        ("om", "m", 'null used for required field: "m"'),
        ("b", "id", 'int64 does not fit field "id"'),
        ("id", "day", 'int32 does not fit field "day"'),
        ("dec3", "dec", 'does not fit field "dec"'),
        ("time", "day", 'does not fit field "day"'),
        ("ts", "time", 'does not fit field "time"'),
        ("s", "bin", 'string does not fit field "bin"'),
        ("bin", "s", 'bytes does not fit field "s"'),
        ("arr", "arrs", 'int32 does not fit field "arrs"'),
        ("st", "ost", 'does not fit field "ost"'),
        ("m", "arr", 'map does not fit field "arr"'),
        ("nope", "id", "nope is not a valid field name"),
    ],
)
def test_another_value_fails_the_record(source: str, target: str, text: str) -> None:
    with pytest.raises(DataError, match=text):
        replaced(source, target)
