from __future__ import annotations

import json
from decimal import Decimal

import pytest

from connector.converters.json import JsonConverter
from connector.record.connect_record import DataError
from connector.record.json_converter import ConverterSettings, quote, schema_json, twos_complement, unscaled, value_encoder, value_json
from connector.record.schema import (
    BOOLEAN,
    BYTES,
    CONNECT_DATE,
    CONNECT_TIMESTAMP,
    DECIMAL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    STRING,
    Field,
    Schema,
)
from tests.support.each_case import each_case

PRICE = Schema("bytes", name=DECIMAL, version=1, parameters=(("scale", "2"), ("connect.decimal.precision", "6")))
NUMERIC = ConverterSettings(decimal_format="NUMERIC")
KEEP_NULL = ConverterSettings(replace_null_with_default=False)


@each_case(
    ("schema", "value", "wanted"),
    [
        (BOOLEAN, True, b"true"),
        (Schema("int8"), -1, b"-1"),
        (INT64, 2**63 - 1, b"9223372036854775807"),
        (FLOAT32, 0.10000000149011612, b"0.1"),
        (FLOAT64, 100.0, b"100.0"),
        (FLOAT64, float("nan"), b'"NaN"'),
        (FLOAT64, float("-inf"), b'"-Infinity"'),
        (STRING, "", b'""'),
        (BYTES, b"\x00\xff\x10", b'"AP8Q"'),
        (BYTES, b"", b'""'),
        (PRICE, Decimal("1.50"), b'"AJY="'),
        (PRICE, Decimal(-1), b'"nA=="'),
        (Schema("int32", name=CONNECT_DATE, version=1), 18295, b"18295"),
        (Schema("int64", name=CONNECT_TIMESTAMP, version=1), -1, b"-1"),
        (Schema("array", items=INT32.as_optional()), [1, None], b"[1,null]"),
        (Schema("map", keys=STRING, values=STRING.as_optional()), {"k": "v", "n": None}, b'{"k":"v","n":null}'),
        (Schema("map", keys=INT32, values=FLOAT64), {3: 0.5}, b"[[3,0.5]]"),
        (Schema("map", keys=STRING.as_optional(), values=INT32), {"k": 1, None: 2}, b'{"k":1,"null":2}'),
        (Schema("struct", fields=(Field("b", INT32), Field("a", STRING.as_optional()))), {"a": None, "b": 1}, b'{"b":1,"a":null}'),
        (Schema("struct", fields=(Field("a", STRING.as_optional()),)), {}, b'{"a":null}'),
    ],
)
def test_values(schema: Schema, value: object, wanted: bytes) -> None:
    assert value_json(schema, value) == wanted


def test_numeric_decimals_are_numbers_as_java_prints_them() -> None:
    assert value_json(PRICE, Decimal("1.50"), NUMERIC) == b"1.50"
    assert value_json(PRICE, Decimal("1E-7"), NUMERIC) == b"1E-7"
    assert value_json(PRICE.with_default(Decimal("0.00")), None, NUMERIC) == b"0.00"


def test_null_is_replaced_by_the_default_unless_configured_otherwise() -> None:
    schema = INT32.as_optional().with_default(5)
    assert value_json(schema, None) == b"5"
    assert value_json(schema, None, KEEP_NULL) == b"null"
    assert value_json(Schema("struct", fields=(Field("n", schema),)), {"n": None}) == b'{"n":5}'
    assert value_json(INT32.with_default(5), None) == b"5"


def test_null_in_a_required_field_is_refused() -> None:
    with pytest.raises(ValueError, match="null value for field that is required and has no default value"):
        value_json(INT32, None)
    with pytest.raises(ValueError, match="required"):
        value_json(INT32.with_default(5), None, KEEP_NULL)


def test_schema_members_come_in_the_converters_order() -> None:
    schema = Schema(
        "struct",
        name="a.b",
        version=1,
        doc="About",
        fields=(
            Field("id", INT32),
            Field("price", PRICE.as_optional().with_default(Decimal("1.50"))),
            Field("tags", Schema("array", optional=True, items=STRING)),
            Field("pairs", Schema("map", keys=STRING, values=STRING.as_optional())),
        ),
    )
    assert schema_json(schema, "value").decode() == (
        '{"type":"struct","fields":['
        '{"type":"int32","optional":false,"field":"id"},'
        '{"type":"bytes","optional":true,"name":"org.apache.kafka.connect.data.Decimal","version":1,'
        '"parameters":{"scale":"2","connect.decimal.precision":"6"},"default":"AJY=","field":"price"},'
        '{"type":"array","items":{"type":"string","optional":false},"optional":true,"field":"tags"},'
        '{"type":"map","keys":{"type":"string","optional":false},"values":{"type":"string","optional":true},"optional":false,"field":"pairs"}'
        '],"optional":false,"name":"a.b","version":1,"doc":"About","field":"value"}'
    )


def test_a_default_follows_the_decimal_format() -> None:
    assert b'"default":1.50' in schema_json(PRICE.with_default(Decimal("1.50")), None, NUMERIC)


def test_strings_are_escaped_as_jackson_does() -> None:
    assert quote('"\\/\b\t\n\f\r\x00\x1f\x7f') == b'"\\"\\\\/\\b\\t\\n\\f\\r\\u0000\\u001F\x7f"'
    assert quote("é\u2028漢") == '"é\u2028漢"'.encode()
    assert quote("😀\x01") == b'"\\uD83D\\uDE00\\u0001"'
    assert quote("\\u00e9") == b'"\\\\u00e9"'
    assert json.loads(quote("a\U0010ffff\x1f")) == "a\U0010ffff\x1f"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(0, b"\x00"), (127, b"\x7f"), (128, b"\x00\x80"), (-1, b"\xff"), (-128, b"\x80"), (-129, b"\xff\x7f"), (-256, b"\xff\x00")],
)
def test_integers_take_as_few_bytes_as_java_gives_them(value: int, wanted: bytes) -> None:
    assert twos_complement(value) == wanted


def test_unscaled_values_may_have_any_length_and_never_lose_digits() -> None:
    assert unscaled(Decimal("1E+6000"), 0) == 10**6000
    assert unscaled(Decimal(12300), -2) == 123
    with pytest.raises(ValueError, match="more fraction digits"):
        unscaled(Decimal("0.001"), 2)
    with pytest.raises(ValueError, match="NaN or an infinity"):
        unscaled(Decimal("NaN"), 2)


def test_unknown_types_and_lacking_members_are_refused() -> None:
    with pytest.raises(ValueError, match="not one of Kafka Connect's"):
        value_encoder(Schema("float64"))
    with pytest.raises(ValueError, match="lacks the schema"):
        value_encoder(Schema("map"))


def test_members_of_several_types_have_no_schema() -> None:
    several = Schema("array")
    assert schema_json(several) == b'{"type":"array","items":null,"optional":false}'
    assert value_json(several, [1, "x", None, [True]]) == b'[1,"x",null,[true]]'
    mixed = Schema("map", keys=STRING)
    assert schema_json(mixed) == b'{"type":"map","keys":{"type":"string","optional":false},"values":null,"optional":false}'
    assert value_json(mixed, {"a": 1, "b": "x"}) == b'{"a":1,"b":"x"}'


def test_a_null_key_and_the_key_null_are_one_member() -> None:
    counts = Schema("map", keys=STRING.as_optional(), values=INT32)
    assert value_json(counts, {"null": 1, "a": 2, None: 3}) == b'{"null":3,"a":2}'


def test_a_text_in_place_of_a_number_does_not_fit() -> None:
    for schema, settings in ((FLOAT32, KEEP_NULL), (PRICE, NUMERIC)):
        with pytest.raises(TypeError):
            value_json(schema, "x", settings)


def test_a_default_that_does_not_fit_fails_the_record() -> None:
    listed = Schema("array", items=STRING).with_default([None])
    with pytest.raises(DataError, match="does not fit its schema"):
        JsonConverter(ConverterSettings()).convert("t", listed, [], ())


def test_a_member_that_connect_has_no_type_for_is_named() -> None:
    with pytest.raises(DataError, match="of the type Decimal has no schema"):
        JsonConverter(ConverterSettings()).convert("t", Schema("array"), [Decimal(1), "x"], ())
