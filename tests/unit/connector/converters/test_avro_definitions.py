"""Names in Avro schemas: what Avro does not take, and names that stand for two types."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import fastavro
import pytest

from connector.converters.avro.avro_schema import AvroField, AvroSchema
from connector.converters.avro.definitions import same_form
from connector.converters.avro.mapping import avro_schema
from connector.converters.avro.settings import AvroSettings
from connector.converters.avro.writer import value_writer
from connector.record.connect_record import DataError
from connector.record.schema import INT32, INT64, STRING, Field, Schema

SETTINGS = AvroSettings()
ENUM = Schema("string", name="p.Colour", parameters=(("org.apache.kafka.connect.data.Enum", "p.Colour"),))


def struct(name: str | None, /, **fields: Schema) -> Schema:
    return Schema("struct", name=name, fields=tuple(Field(key, schema) for key, schema in fields.items()))


def named(*fields: str) -> Schema:
    return Schema("struct", name="p.V", fields=tuple(Field(name, INT32) for name in fields))


def enum(*symbols: str) -> Schema:
    numbers = tuple((f"org.apache.kafka.connect.data.Enum.{symbol}", str(number)) for number, symbol in enumerate(symbols))
    return replace(ENUM, parameters=ENUM.parameters + numbers)


def read(schema: Schema, value: Any) -> Any:
    """The value, written and read again with the schema that would be registered."""
    written = io.BytesIO(value_writer(schema, SETTINGS)(value))
    found = fastavro.schemaless_reader(written, fastavro.parse_schema(json.loads(avro_schema(schema, SETTINGS).text())), None)
    assert written.read() == b""
    return found


STREET = struct("p.address", street=STRING.as_optional()).as_optional()
CITY = struct("p.address", city=STRING.as_optional(), nr=INT32.as_optional()).as_optional()


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        (STREET, CITY, {"city": "c", "nr": 7}),
        (STREET, Schema("array", items=CITY), [{"city": "c", "nr": 7}]),
        (STREET, Schema("map", keys=STRING, values=CITY), {"k": {"city": "c", "nr": 7}}),
        (STREET, replace(STREET, fields=(Field("street", STRING),)), {"street": "s"}),
        (STREET, Schema("array", items=Schema("string", name="p.address")), ["s"]),
        (STREET, Schema("array", items=Schema("int32", name="p.address")), [1]),
    ],
)
def test_a_struct_with_other_fields_than_the_first_of_its_name_cannot_be_written(first: Schema, second: Schema, value: Any) -> None:
    schema = struct("p.V", a=first, b=second.as_optional())
    assert read(schema, {"a": {"street": "s"}, "b": None}) == {"a": {"street": "s"}, "b": None}
    with pytest.raises(DataError, match=r"The schema p\.address has other fields than the first schema of this name"):
        value_writer(schema, SETTINGS)({"a": None, "b": value})


def test_a_struct_that_differs_in_what_avro_does_not_write_is_written() -> None:
    described = replace(STREET, doc="d", fields=(Field("street", replace(STRING.as_optional(), doc="d", parameters=(("x", "y"),))),))
    value = {"a": {"street": "s"}, "b": {"street": "t"}}
    assert read(struct("p.V", a=STREET, b=described), value) == value


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (STREET.as_optional(False), CITY.as_optional(False)),
        (Schema("map", keys=INT32, values=STRING), Schema("map", keys=INT64, values=INT64)),
        (enum("RED", "BLUE"), enum("BLUE", "RED")),
        (
            Schema("bytes", name="p.F", parameters=(("connect.fixed.size", "4"),)),
            Schema("bytes", name="p.F", parameters=(("connect.fixed.size", "5"),)),
        ),
    ],
)
def test_a_name_cannot_be_defined_twice(first: Schema, second: Schema) -> None:
    with pytest.raises(DataError, match="different forms, and an Avro schema can define a name only once"):
        avro_schema(struct("p.V", a=first, b=second), AvroSettings(sum_types=True))


def test_parts_that_a_schema_has_often_are_compared_once() -> None:
    def deep(inner: str) -> AvroSchema:
        found = AvroSchema(inner)
        for _ in range(60):
            found = AvroSchema("record", "V", fields=[AvroField("a", found), AvroField("b", found)])
        return found

    assert same_form(deep("int"), deep("int"))
    assert not same_form(deep("int"), deep("long"))


def test_names_that_become_equal_are_one_name() -> None:
    schema = struct("p.V", a=struct("p.A-B", x=INT32), b=struct("p.A_B", y=STRING))
    with pytest.raises(DataError, match=r"p\.A_B"):
        avro_schema(schema, AvroSettings(scrub=True))


@pytest.mark.parametrize(
    "schema",
    [
        named("order-id"),
        named("1st"),
        named(""),
        named("a\N{MATHEMATICAL BOLD SMALL A}"),
        struct("p.my-type", a=INT32),
        struct("p.V", a=Schema("array", items=struct("p.a b", a=INT32))),
        enum("a-b"),
    ],
)
def test_names_that_avro_does_not_take(schema: Schema) -> None:
    with pytest.raises(DataError, match=r"Illegal character.*scrub\.invalid\.names=true.*field\.name\.adjustment\.mode=avro"):
        avro_schema(schema, AvroSettings(sum_types=True))


def test_names_that_avros_java_library_takes() -> None:
    schema = replace(named("größe", "_1", "a٣"), name="my-server.public.V")
    assert json.loads(avro_schema(schema, SETTINGS).text())["namespace"] == "my-server.public"


@pytest.mark.parametrize(("kind", "end"), [("int8", 1 << 7), ("int16", 1 << 15), ("int32", 1 << 31), ("int64", 1 << 63)])
def test_numbers_out_of_range_are_refused(kind: Any, end: int) -> None:
    schema = struct("p.V", a=Schema(kind), b=Schema(kind, optional=True), c=Schema("array", items=Schema(kind)))
    for fits in (-end, end - 1):
        value = {"a": fits, "b": fits, "c": [fits]}
        assert read(schema, value) == value
    for name in ("a", "b"):
        for wrong in (-end - 1, end, 1 << 70):
            with pytest.raises(DataError, match=f"The number of field {name} is out of the range of {kind}"):
                value_writer(schema, SETTINGS)({"a": 1, "b": 1, "c": [1], name: wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        Schema("int16", optional=True, default=70_000),
        Schema("struct", fields=(Field("i", CITY),), default={"i": {"city": "c", "nr": 7}}, optional=True),
    ],
)
def test_a_default_that_cannot_be_written_is_an_error_of_the_record(wrong: Schema) -> None:
    with pytest.raises(DataError, match=r"A default in the schema p\.V does not fit"):
        value_writer(struct("p.V", a=STREET, b=wrong), SETTINGS)
