from __future__ import annotations

import dataclasses
from decimal import Decimal

import pytest

from connector.emulation import DEBEZIUM_2_3_4
from connector.record.json_converter import value_json
from connector.record.schema import NO_DEFAULT
from connector.types.codec import Column, TypeInfo, TypeSettings
from connector.types.defaults import default_value
from connector.types.registry import resolve
from tests.support.column_kinds import KINDS
from tests.support.each_case import each_case
from tests.support.type_catalog import OIDS, TYPES, column, settings

PLAIN = TypeSettings()
VERSION_2 = TypeSettings(emulation=DEBEZIUM_2_3_4)


def extension(name: str, kind: str = "b") -> dict[int, TypeInfo]:
    return {1: TypeInfo(1, name, "public", kind), 2: TypeInfo(2, f"_{name}", "public", "b", "A", element=1)}


def test_a_type_that_the_catalog_does_not_hold_has_no_codec() -> None:
    assert resolve(Column("c", 999), {}, PLAIN) is None


def test_a_type_of_a_user_never_counts_as_the_built_in_one_of_its_name() -> None:
    types = {1: TypeInfo(1, "int4", "public", "c")}
    assert resolve(Column("c", 1), types, PLAIN) is None


def test_an_enum_may_be_called_like_an_extensions_type() -> None:
    codec = resolve(Column("c", 1), {1: TypeInfo(1, "vector", "public", "e", labels=("x", "y z"))}, PLAIN)
    assert codec is not None
    assert codec.schema.parameters == (("allowed", "x,y z"),)


def test_a_domain_takes_the_innermost_modifier_that_was_declared() -> None:
    types = {
        1: TypeInfo(1, "numeric", "pg_catalog"),
        2: TypeInfo(2, "price", "public", "d", base=1, base_modifier=(8 << 16 | 3) + 4),
        3: TypeInfo(3, "low_price", "public", "d", base=2),
    }
    codec = resolve(Column("c", 3), types, PLAIN)
    assert codec is not None
    assert dict(codec.schema.parameters) == {"scale": "3", "connect.decimal.precision": "8"}


# Recorded from Debezium 3.7.0. Earlier versions do not start in such a database.
def test_arrays_of_domains_over_an_enum_do_not_name_its_labels() -> None:
    types = {
        1: TypeInfo(1, "mood", "public", "e", labels=("sad", "ok")),
        2: TypeInfo(2, "feeling", "public", "d", base=1),
        3: TypeInfo(3, "sentiment", "public", "d", base=2),
        4: TypeInfo(4, "_sentiment", "public", "b", "A", element=3),
    }
    one, many = resolve(Column("c", 3), types, PLAIN), resolve(Column("c", 4), types, PLAIN)
    assert one is not None
    assert many is not None
    assert (one.schema.name, dict(one.schema.parameters)) == ("io.debezium.data.Enum", {"allowed": "sad,ok"})
    items = many.schema.items
    assert items is not None
    assert (items.name, dict(items.parameters), items.optional) == ("io.debezium.data.Enum", {"allowed": ""}, False)
    assert many.encode(b"{sad,ok}") == b'["sad","ok"]'


def test_vectors() -> None:
    vector = resolve(Column("c", 1), extension("vector"), PLAIN)
    half = resolve(Column("c", 1), extension("halfvec"), PLAIN)
    sparse = resolve(Column("c", 1), extension("sparsevec"), PLAIN)
    assert vector is not None
    assert half is not None
    assert sparse is not None
    for codec, text, wanted in (
        (vector, b"[1,2.5,1e-05]", b"[1.0,2.5,1.0E-5]"),
        (half, b"[0.1,65504]", b"[0.1,65504.0]"),
        (sparse, b"{1:0.5,7:2}/9", b'{"dimensions":9,"vector":[[1,0.5],[7,2.0]]}'),
        (sparse, b"{}/5", b'{"dimensions":5,"vector":[]}'),
    ):
        assert codec.encode(text) == wanted
        assert value_json(codec.schema, codec.decode(text)) == wanted
    with pytest.raises(ValueError, match="more than 32767 dimensions"):
        sparse.encode(b"{}/32768")
    with pytest.raises(ValueError, match="not in the form"):
        vector.decode(b"1,2")


def test_geometry_is_optional_even_where_the_column_is_not() -> None:
    codec = resolve(Column("c", 1, not_null=True), extension("geometry"), PLAIN)
    assert codec is not None
    assert codec.schema.optional


def test_arrays_of_postgis_types_have_colons_between_their_elements() -> None:
    codec = resolve(Column("c", 2), extension("geometry"), PLAIN)
    assert codec is not None
    assert codec.decode(b"{010700000000000000:NULL:010700000000000000}") == [
        {"wkb": bytes.fromhex("010700000000000000"), "srid": None},
        None,
        {"wkb": bytes.fromhex("010700000000000000"), "srid": None},
    ]


@pytest.mark.parametrize(
    ("text", "length"),
    [(b"{{1,2},{3,4}}", 2), (b'{{"a,{","\\""},{"}","b"},{x,y}}', 3), (b"[1:1][2:3]={{1,2}}", 1), (b"{{{1},{2}},{{3},{4}}}", 2)],
)
def test_of_several_dimensions_only_the_first_one_has_its_length(text: bytes, length: int) -> None:
    codec = resolve(column("text[]"), TYPES, PLAIN)
    numbers = resolve(column("int4[]"), TYPES, PLAIN)
    assert codec is not None
    assert numbers is not None
    assert codec.decode(text) == [None] * length
    assert numbers.encode(text) == b"[" + b",".join([b"null"] * length) + b"]"


def test_bounds_before_an_array_do_not_count() -> None:
    codec = resolve(column("int4[]"), TYPES, PLAIN)
    assert codec is not None
    assert codec.encode(b"[2:4]={7,NULL,9}") == b"[7,null,9]"


@pytest.mark.parametrize(
    ("text", "json"),
    [
        (b"{{ok,sad},{sad,ok}}", b'["{ok,sad}","{sad,ok}"]'),
        (b'[1:1][0:1]={{"a ,{\\"",ok}}', b'["{\\"a ,{\\\\\\"\\",ok}"]'),
        (b"{{{ok}}}", b'["{{ok}}"]'),
    ],
)
def test_sub_arrays_of_enums_are_texts(text: bytes, json: bytes) -> None:
    codec = resolve(column("mood[]"), TYPES, PLAIN)
    assert codec is not None
    assert codec.encode(text) == json


def test_a_domain_over_an_array_has_no_placeholder() -> None:
    types = {
        25: TypeInfo(25, "text", "pg_catalog"),
        1009: TypeInfo(1009, "_text", "pg_catalog", category="A", element=25),
        1: TypeInfo(1, "texts", "public", "d", base=1009),
        2: TypeInfo(2, "word", "public", "d", base=25),
    }
    shown = [codec.unavailable for oid in (1009, 1, 2) if (codec := resolve(Column("c", oid), types, PLAIN)) is not None]
    assert shown == [["__debezium_unavailable_value"], None, "__debezium_unavailable_value"]


@pytest.mark.parametrize(
    ("mode", "plain", "domain"),
    [
        ("json", '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', "__debezium_unavailable_value"),
        ("map", {"__debezium_unavailable_value": "__debezium_unavailable_value"}, None),
    ],
)
def test_a_domain_over_hstore_has_the_placeholder_of_a_text(mode: str, plain: object, domain: object) -> None:
    types = {1: TypeInfo(1, "hstore", "public"), 2: TypeInfo(2, "pairs", "public", "d", base=1)}
    codecs = [resolve(Column("c", oid), types, settings({"hstore_handling_mode": mode})) for oid in (1, 2)]
    assert [codec and codec.unavailable for codec in codecs] == [plain, domain]


def test_only_texts_of_numerics_have_a_placeholder() -> None:
    for mode, wanted in (("string", "__debezium_unavailable_value"), ("precise", None), ("double", None)):
        for modifier in (-1, (8 << 16 | 3) + 4):
            codec = resolve(Column("c", 1700, modifier), KINDS, settings({"decimal_handling_mode": mode}))
            assert codec is not None
            assert codec.unavailable == wanted
        items = resolve(Column("c", 1231), KINDS, settings({"decimal_handling_mode": mode}))
        assert items is not None
        assert items.unavailable is None


def test_enum_arrays_hold_no_nulls() -> None:
    codec = resolve(column("mood[]"), TYPES, PLAIN)
    assert codec is not None
    with pytest.raises(ValueError, match="null element"):
        codec.encode(b"{ok,NULL}")


@each_case(
    ("name", "text"),
    [
        ("bool", b"yes"),
        ("bytea", b"\\000"),
        ("date", b"01/02/2020"),
        ("date", b"noday"),
        ("time", b"1:2"),
        ("time", b"25:00:00"),
        ("timestamptz", b"2020-01-01 00:00:00+02"),
        ("timetz", b"00:00:00"),
        ("interval", b"PT1S"),
        ("interval", b""),
        ("money", b"$"),
        ("numeric", b"NaN"),
        ("hstore", b"a=>1"),
        ("text[]", b"a,b"),
        ("text[]", b'{"a}'),
        ("point", b"1,2"),
        ("geometry", b"0101"),
    ],
)
def test_invalid_text_of_a_type_is_refused_without_being_quoted(name: str, text: bytes) -> None:
    codec = resolve(column(name), TYPES, PLAIN)
    assert codec is not None
    with pytest.raises(ValueError, match=r"^[A-Z]") as refused:
        codec.decode(text)
    assert not text or text.decode() not in str(refused.value).split()


@each_case(
    ("text", "digits", "wanted"),
    [
        ("1.234,56 €", 2, "1234.56"),
        ("-1.234.567,80 kr", 2, "-1234567.80"),
        ("($3.10)", 2, "-3.10"),
        ("￥1,234", 0, "1234"),
        ("￥-1,234,568", 0, "-1234568"),
        ("1\u202f234,56 €", 2, "1234.56"),
        ("CHF12'345.60", 2, "12345.60"),
        ("CHF 1\u2019234\u2019567.50", 2, "1234567.50"),
        ("CHF- 0.05", 2, "-0.05"),
        ("د.ك. 1,234.567", 3, "1234.567"),
        ("د.ك. 1.234", 3, "1.234"),
        ("د.ك. 0.050-", 3, "-0.050"),
        ("R$ 1.234,50", 2, "1234.50"),
    ],
)
def test_money_of_other_locales(text: str, digits: int, wanted: str) -> None:
    info = next(info for info in TYPES.values() if info.name == "money")
    types = {**TYPES, info.oid: dataclasses.replace(info, fraction_digits=digits)}
    codec = resolve(column("money"), types, settings({"decimal_handling_mode": "string"}))
    assert codec is not None
    assert codec.decode(text.encode()) == wanted
    precise = resolve(column("money"), types, settings({"money_fraction_digits": "3"}))
    assert precise is not None
    assert precise.decode(text.encode()) == Decimal(wanted)


@pytest.mark.parametrize(
    ("precision", "scale", "default"),
    [(65, 30, "1"), (38, 0, f"'{'9' * 38}'::numeric"), (100, 60, "-0.1"), (1000, 500, "1"), (1000, 0, "9" * 1000), (1000, 1000, "0.5")],
)
def test_default_of_a_wide_numeric(precision: int, scale: int, default: str) -> None:
    wide = Column("c", OIDS["numeric"], modifier=(precision << 16 | scale) + 4, not_null=True, default=default)
    codec = resolve(wide, TYPES, PLAIN)
    assert codec is not None
    value = default_value(wide, codec, TYPES, PLAIN)
    assert isinstance(value, Decimal)
    assert (value, value.as_tuple().exponent) == (Decimal(default.strip("':numeric")), -scale)


def test_version_2_differs_where_it_did() -> None:
    assert resolve(column("tsvector"), TYPES, VERSION_2) is None
    assert resolve(Column("c", 1), extension("vector"), VERSION_2) is None
    text = resolve(column("text"), TYPES, VERSION_2)
    assert text is not None
    assert default_value(column("text", default="'it''s'::text"), text, TYPES, VERSION_2) == "it"
    assert default_value(column("text", default="'it''s'::text"), text, TYPES, PLAIN) == "it's"
    times = resolve(column("time[]"), TYPES, dataclasses.replace(VERSION_2, time_precision_mode="connect"))
    assert times is not None
    assert times.schema.items is not None
    assert times.schema.items.name == "io.debezium.time.MicroTime"
    with pytest.raises(ValueError, match="cannot be converted"):
        times.encode(b"{01:02:03}")


@pytest.mark.parametrize(("kind", "bits"), [("int2", 16), ("int4", 32), ("int8", 64)])
def test_a_default_that_an_integer_column_cannot_hold_is_none(kind: str, bits: int) -> None:
    codec = resolve(column(kind), TYPES, PLAIN)
    assert codec is not None
    end = 2 ** (bits - 1)
    found = [default_value(column(kind, default=f"'{number}'::numeric"), codec, TYPES, PLAIN) for number in (-end - 1, -end, end - 1, end)]
    assert found == [NO_DEFAULT, -end, end - 1, NO_DEFAULT]


@pytest.mark.parametrize("generated", ["s", "v"])
def test_what_generates_a_column_is_read_as_its_default(generated: str) -> None:
    codec = resolve(column("int4"), TYPES, PLAIN)
    assert codec is not None
    assert default_value(Column("c", OIDS["int4"], default="5", generated=generated), codec, TYPES, PLAIN) == 5


def test_numerics_of_any_length() -> None:
    codec = resolve(column("numeric", (1000 << 16 | 2) + 4), TYPES, PLAIN)
    free = resolve(column("numeric"), TYPES, PLAIN)
    assert codec is not None
    assert free is not None
    digits = b"9" * 20_000
    assert value_json(codec.schema, codec.decode(digits + b".25")) == codec.encode(digits + b".25")
    assert value_json(free.schema, free.decode(b"-" + digits)) == free.encode(b"-" + digits)
