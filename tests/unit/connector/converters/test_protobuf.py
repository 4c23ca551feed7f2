"""Confluent's ProtobufConverter: files, names, subjects, references and framing. Values are read back in test_protobuf_properties.py."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import pytest
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from connector.configdef.options import OptionError, Options
from connector.converters.catalog import make_converter
from connector.converters.confluent_keys import HEADER_ID, RECORD_NAME
from connector.converters.converter import Converted, Converter, ConverterChoice, SchemaNeededError
from connector.converters.protobuf.confluent import DEFINITIONS
from connector.converters.protobuf.indexes import find_message, index_bytes
from connector.converters.protobuf.keys import QUALIFIED_REFERENCE
from connector.converters.protobuf.known_files import FILES
from connector.converters.protobuf.logical import date, time_of_day, timestamp
from connector.converters.protobuf.mapping import protobuf_file
from connector.converters.protobuf.names import map_entry, scrubbed, split_name
from connector.converters.protobuf.settings import ProtobufSettings
from connector.converters.protobuf.writer import value_writer
from connector.converters.registry import RegisteredSchema, Registry, SchemaAsk
from connector.emulation import DEFAULT
from connector.plugins.allowed import NO_PLUGINS
from connector.record.connect_record import DataError
from connector.record.schema import FLOAT64, INT16, INT32, INT64, STRING, Schema
from tests.support.avro_cases import DATE, SUM, TIME, TIMESTAMP, array, decimal, mapping, struct
from tests.support.protobuf_reader import KNOWN, compiled, message_class

NS: Final = "io.confluent.connect.protobuf"
ROW: Final = struct("s.t.Value", id=INT32, name=STRING.as_optional())
EVENT: Final = struct(
    "s.t.Envelope",
    before=ROW.as_optional(),
    after=ROW.as_optional(),
    price=decimal(2, 10),
    small=INT16.as_optional(),
    notes=array(STRING),
    tags=mapping(STRING, STRING),
)
EVENT_TEXT: Final = """syntax = "proto3";
package s.t;

import "confluent/type/decimal.proto";

message Envelope {
  Value before = 1;
  Value after = 2;
  confluent.type.Decimal price = 3 [(confluent.field_meta) = {
    params: [
      {
        value: "10",
        key: "precision"
      },
      {
        value: "2",
        key: "scale"
      }
    ]
  }];
  int32 small = 4 [(confluent.field_meta) = {
    params: [
      {
        key: "connect.type",
        value: "int16"
      }
    ]
  }];
  repeated string notes = 5;
  repeated ConnectDefault1Entry tags = 6;

  message Value {
    int32 id = 1;
    string name = 2;
  }
  message ConnectDefault1Entry {
    string key = 1;
    string value = 2;
  }
}
"""
PLAIN: Final = ProtobufSettings()


def text(schema: Schema, settings: ProtobufSettings = PLAIN) -> str:
    return protobuf_file(schema, settings).file.text()


def written(schema: Schema, value: Any, settings: ProtobufSettings = PLAIN) -> bytes:
    return value_writer(schema, settings)(value)


def read(schema: Schema, value: Any, settings: ProtobufSettings = PLAIN) -> Any:
    """The message that Google's library reads."""
    mapped = protobuf_file(schema, settings)
    return message_class(mapped.file.text(), mapped.full_name).FromString(written(schema, value, settings))


def with_parameters(schema: Schema, **parameters: str) -> Schema:
    return schema.with_parameters({f"{NS}.{name.replace('_', '.')}": value for name, value in parameters.items()})


def made(**options: str) -> Converter:
    values = {"schema.registry.url": "http://r"} | {name.replace("_", "."): value for name, value in options.items()}
    return DEFINITIONS[0].make(Options(DEFINITIONS[0].keys, values), "value")


def converted(schema: Schema | None, value: object, answer: RegisteredSchema | None = None, **options: str) -> tuple[Converted, str]:
    """The record, and the subject that was asked for."""
    converter = made(**options)
    with pytest.raises(SchemaNeededError) as needed:
        converter.convert("t", schema, value, ())
    registry, request = needed.value.registry, needed.value.request
    assert isinstance(registry, Registry)
    registry.learn(request, answer or RegisteredSchema(7))
    return converter.convert("t", schema, value, ()), request.subject


def asked(schema: Schema, value: object, **options: str) -> SchemaAsk:
    with pytest.raises(SchemaNeededError) as needed:
        made(**options).convert("t", schema, value, ())
    assert isinstance(needed.value.request.ask, SchemaAsk)
    return needed.value.request.ask


def test_the_text_that_is_registered() -> None:
    assert text(EVENT) == EVENT_TEXT


def test_labels_and_wrappers_of_nullable_fields() -> None:
    assert "optional string name = 2;" in text(ROW, ProtobufSettings(optionals=True))
    wrapped = text(ROW, ProtobufSettings(wrappers=True))
    assert 'import "google/protobuf/wrappers.proto";' in wrapped
    assert "google.protobuf.StringValue name = 2;" in wrapped
    for settings in (ProtobufSettings(optionals=True), ProtobufSettings(wrappers=True)):
        assert read(ROW, {"id": 0, "name": ""}, settings).HasField("name")
        assert not read(ROW, {"id": 0, "name": None}, settings).HasField("name")


def test_zero_and_null_take_no_bytes_without_presence() -> None:
    assert written(ROW, {"id": 0, "name": ""}) == written(ROW, {"id": 0, "name": None}) == b""
    assert written(struct("V", a=FLOAT64), {"a": -0.0}) == b"\x09" + bytes(7) + b"\x80"


def test_null_or_default() -> None:
    holder = struct("V", a=INT32.with_default(5).as_optional())
    assert read(holder, {"a": None}).a == 5
    assert written(holder, {"a": None}, ProtobufSettings(ignore_defaults=True)) == b""
    late = struct("V", at=TIMESTAMP.with_default(1 << 62))
    assert read(late, {"at": 1000}).at.seconds == 1
    with pytest.raises(DataError, match="within the years"):
        written(late, {"at": None})
    members = {"number": with_parameters(INT32.with_default(4).as_optional(), Tag="1")}
    union = struct("V", choice=struct(f"{NS}.Union.choice", **members))
    assert read(union, {"choice": {"number": None}}).number == 4


def test_known_files_are_the_published_ones() -> None:
    published = {file.name: file for file in KNOWN.file}
    for path, file in FILES.items():
        own, other = compiled(file.text()), published[path]
        assert own.package == other.package
        fields = [[(message.name, field.name, field.number, field.type) for field in message.field] for message in own.message_type]
        assert fields == [
            [(message.name, field.name, field.number, field.type) for field in message.field] for message in other.message_type
        ]
        if path.startswith("google/type/"):
            # The Java client has another version of these than the Python client.
            assert own.options.cc_enable_arenas
            own.options.ClearField("cc_enable_arenas")
        if path != "confluent/type/decimal.proto":  # the Python client's has no options
            assert own.options == other.options


def test_files_of_protocol_buffers_themselves_have_names_for_json() -> None:
    """As the Java client makes them of its compiled files; found by ``tests.differential.converters``."""
    assert '  int64 value = 1 [json_name = "value"];\n' in FILES["google/protobuf/wrappers.proto"].text()
    assert '  int32 nanos = 2 [json_name = "nanos"];\n' in FILES["google/protobuf/timestamp.proto"].text()
    assert "json_name" not in FILES["google/type/date.proto"].text()


def test_scalar_values_are_wrapped_and_have_indexes() -> None:
    found, subject = converted(STRING, "x", value_subject_name_strategy=RECORD_NAME)
    assert (found.prefix, found.payload) == (b"\0\0\0\0\7\x02\x0e", b"\n\1x")
    assert subject == "google.protobuf.StringValue"


@pytest.mark.parametrize("schema", [DATE, decimal(1), array(STRING), mapping(STRING, STRING)])
def test_values_that_only_a_struct_can_hold(schema: Schema) -> None:
    with pytest.raises(DataError, match="Put it into a struct"):
        text(schema)


def test_names() -> None:
    assert [scrubbed(name) for name in ("odd-id", "2nd col", "_a", "a*~.b", "ä", "", "fine_1")] == [
        "odd_id",
        "x2nd_col",
        "x_a",
        "a__7E_b",
        "_C3_A4",
        "",
        "fine_1",
    ]
    assert split_name("a-b.c.2d", scrub=True) == ("a_b.c", "x2d")
    assert split_name("Key", scrub=False) == (None, "Key")
    assert [map_entry(name) for name in ("Tags", "my_Map", "a_b_c")] == ["TagsEntry", "MyMapEntry", "ABCEntry"]
    with pytest.raises(DataError, match=r"'odd-id' .*scrub\.invalid\.names=true"):
        text(struct("V", **{"odd-id": INT32}))
    assert read(struct("V", **{"odd-id": INT32}), {"odd-id": 3}, ProtobufSettings(scrub=True)).odd_id == 3
    assert text(struct(None, a=struct(None, b=INT32))).startswith(
        'syntax = "proto3";\n\nmessage ConnectDefault1 {\n  ConnectDefault2 a = 1;\n'
    )


def test_messages_of_one_name() -> None:
    assert "  PointMessage Point = 1;" in text(struct("V", Point=struct("Point", x=INT32)))
    same = struct("V", a=struct("x.P", m=mapping(STRING, INT32)), b=struct("y.P", m=mapping(STRING, INT32)).as_optional())
    assert text(same).count("message P {") == 1
    messages = struct("y.P", m=replace(mapping(STRING, INT32), doc="two"))
    counted = text(struct("V", a=struct("x.P", m=mapping(STRING, INT32)), m=mapping(STRING, INT32), b=messages, c=mapping(STRING, INT32)))
    assert "ConnectDefault2Entry m = 2;" in counted
    assert "ConnectDefault3Entry c = 4;" in counted
    assert counted.count("message P {") == 1
    renamed = struct("V", a=struct("x.P", m=replace(INT32, doc="one")), b=struct("x.P", m=INT32))
    assert text(renamed).count("message P {") == 1
    with pytest.raises(DataError, match="Two structs with the name P"):
        text(struct("V", a=struct("x.P", m=INT32), b=struct("y.P", m=INT64)))
    with pytest.raises(DataError, match="the name P twice"):
        text(struct("V", a=struct("x.P", m=INT32), P=INT32))


def test_tags_and_types() -> None:
    holder = struct("V", late=with_parameters(INT32, Tag="9"), first=INT64, signed=with_parameters(INT64, Tag="4", Type="sint64"))
    assert "int32 late = 9;" in text(holder)
    assert written(holder, {"late": 1, "first": 2, "signed": -3}) == b"\x08\x02\x20\x05\x48\x01"
    for kind, value in (("uint64", -1), ("uint32", 7), ("fixed32", 7), ("fixed64", -1), ("sfixed64", -5), ("sint64", -(1 << 63))):
        found = read(struct("V", a=with_parameters(INT64, Type=kind)), {"a": value}).a
        assert found == (value if value > 0 or kind.startswith("s") else (1 << 64) - 1)
    with pytest.raises(DataError, match="must be one of"):
        text(struct("V", a=with_parameters(INT32, Type="string")))
    with pytest.raises(DataError, match="the number 2 twice"):
        text(struct("V", a=INT32, b=INT32, c=with_parameters(INT32, Tag="2")))


def test_enums() -> None:
    colour = with_parameters(replace(STRING, name="p.Colour"), Enum="Colour", Enum_RED="0", Enum_BLUE="3")
    holder = struct("V", a=colour, b=colour.as_optional(), many=array(colour))
    found = read(holder, {"a": "BLUE", "b": None, "many": ["RED", "BLUE"]})
    assert (found.a, found.b, list(found.many)) == (3, 0, [0, 3])
    numbers = with_parameters(replace(INT32, name="p.Colour"), Enum="Colour", Enum_RED="0", Enum_BLUE="3")
    assert read(struct("V", a=numbers), {"a": 3}).a == 3
    with pytest.raises(DataError, match="does not fit") as problem:
        written(holder, {"a": "secret", "b": None, "many": []})
    assert "secret" not in str(problem.value)
    general = replace(STRING, name="C", parameters=((f"{SUM}.Enum", "C"), (f"{SUM}.Enum.X", "0"), (f"{SUM}.Enum.Y", "1")))
    assert read(struct("V", a=general), {"a": "Y"}, ProtobufSettings(sum_types=True)).a == 1
    with pytest.raises(DataError, match="first value of the enum C"):
        text(struct("V", a=general))
    with pytest.raises(DataError, match="last part of its schema's name"):
        text(struct("V", a=replace(colour, name="p.Other")))


def test_unions_are_oneofs() -> None:
    members = {"number": with_parameters(INT32.as_optional(), Tag="2"), "word": with_parameters(STRING.as_optional(), Tag="3")}
    holder = struct("V", id=INT32, choice=struct(f"{NS}.Union.choice", **members).as_optional())
    assert "  oneof choice {\n    int32 number = 2;\n    string word = 3;\n  }\n" in text(holder)
    for settings in (PLAIN, ProtobufSettings(optionals=True, wrappers=True)):
        assert read(holder, {"id": 1, "choice": {"number": 0, "word": None}}, settings).WhichOneof("choice") == "number"
        assert read(holder, {"id": 1, "choice": {"number": None, "word": "x"}}, settings).word == "x"
        assert read(holder, {"id": 1, "choice": None}, settings).WhichOneof("choice") is None
    with pytest.raises(DataError, match=r"does not fit.*All fields of a union are null"):
        written(holder, {"id": 1, "choice": {"number": None, "word": None}})
    with pytest.raises(DataError, match=r"needs the parameter .*Tag"):
        text(struct("V", choice=struct(f"{NS}.Union.choice", number=INT32)))


def test_dates_have_the_calendar_of_java() -> None:
    assert date(-141_427) == b"\x08\xae\x0c\x10\x0a\x18\x0f"  # 1582-10-15
    assert date(-141_428) == b"\x08\xae\x0c\x10\x0a\x18\x04"  # the day before, 1582-10-04
    assert date(-719_162) == b"\x08\x01\x10\x01\x18\x03"
    assert date(-719_165) == b"\x08\x01\x10\x0c\x18\x1f"  # the last day of 1 BC


def test_limits_of_logical_types() -> None:
    assert time_of_day(0) == time_of_day(86_400_000) == b""
    for write, value in ((time_of_day, -1), (time_of_day, 86_400_001), (timestamp, -62_135_596_800_001), (timestamp, 253_402_300_800_000)):
        with pytest.raises(ValueError, match="must be"):
            write(value)
    holder = struct("V", at=TIMESTAMP, t=TIME, d=decimal(2))
    with pytest.raises(DataError, match="within the years"):
        written(holder, {"at": 1 << 62, "t": 0, "d": Decimal(1)})
    with pytest.raises(DataError, match="more fraction digits"):
        written(holder, {"at": 0, "t": 0, "d": Decimal("1.234")})
    with pytest.raises(DataError, match="32 bits"):
        written(ROW, {"id": 1 << 31, "name": None})


def test_errors_name_the_field_and_no_value() -> None:
    for row, messages in (
        ({"id": "secret", "name": None}, "Invalid type for INT32 of field id: str"),
        ({"id": 1}, "lacks the field name"),
    ):
        with pytest.raises(DataError, match=messages) as problem:
            written(ROW, row)
        assert "secret" not in str(problem.value)
    for items in (STRING.as_optional(), INT32.as_optional(), struct("P", x=INT32).as_optional(), DATE.as_optional()):
        for settings in (PLAIN, ProtobufSettings(wrappers=True)):
            with pytest.raises(DataError, match="of field list has a null item"):
                written(struct("V", list=array(items)), {"list": [None]}, settings)
    with pytest.raises(DataError, match="Array cannot be nested"):
        text(struct("V", list=array(array(STRING))))
    with pytest.raises(DataError, match="needs a schema"):
        made().convert("t", None, "x", ())
    assert made().convert("t", ROW, None, ()).payload is None


def test_confluents_deserializer_reads_the_framing() -> None:
    found, subject = converted(ROW, {"id": 7, "name": "ä"})
    assert subject == "t-value"
    assert found.payload is not None
    deserializer = ProtobufDeserializer(message_class(text(ROW), "s.t.Value"), {"use.deprecated.format": False})
    message = deserializer(found.prefix + found.payload, SerializationContext("t", MessageField.VALUE))
    assert (message.id, message.name) == (7, "ä")


def test_the_id_in_a_header() -> None:
    answer = RegisteredSchema(7, guid="89791762-2336-4186-9674-299b90a802e2")
    found, _ = converted(ROW, {"id": 1, "name": None}, answer, value_schema_id_serializer=HEADER_ID)
    assert found.prefix == b""
    assert [(name, (value or b"")[-1:]) for name, value in found.headers] == [("__value_schema_id", b"\0")]


def test_references_of_imported_files() -> None:
    event: dict[str, Any] = {"before": None, "after": None, "price": Decimal(1), "small": None, "notes": [], "tags": {}}
    assert asked(EVENT, event).references == ()
    chosen: tuple[tuple[dict[str, str], str, str], ...] = (
        ({}, "confluent/type/decimal.proto", "register"),
        ({"reference_subject_name_strategy": QUALIFIED_REFERENCE}, "confluent.type.decimal", "register"),
        ({"reference_lookup_only": "true"}, "confluent/type/decimal.proto", "look up"),
        ({"auto_register_schemas": "false"}, "confluent/type/decimal.proto", "look up"),
    )
    for options, subject, action in chosen:
        ask = asked(EVENT, event, skip_known_types="false", **options)
        (reference,) = ask.references
        assert (reference.name, reference.request.subject) == ("confluent/type/decimal.proto", subject)
        assert isinstance(reference.request.ask, SchemaAsk)
        assert (reference.request.ask.action, ask.type, reference.request.ask.type) == (action, "PROTOBUF", "PROTOBUF")
    with pytest.raises(OptionError, match=r"reference\.subject\.name\.strategy"):
        made(reference_subject_name_strategy="com.example.Mine")


def test_the_newest_schema_says_where_the_message_stands() -> None:
    off = {"auto_register_schemas": "false", "use_latest_version": "true"}
    value = {"id": 1, "name": None}
    spaced = RegisteredSchema(3, text="// a comment\n" + text(ROW).replace("\n", "\n\n"))
    assert converted(ROW, value, spaced, **off)[0].prefix == b"\0\0\0\0\3\0"
    newer = RegisteredSchema(3, text=text(ROW).replace("int32 id = 1;", "int64 number = 1; bool more = 9;") + "message Other {}\n")
    assert converted(ROW, value, newer, **off)[0].prefix == b"\0\0\0\0\3\0"
    other = RegisteredSchema(3, text=text(ROW).replace("int32 id", "string id"))
    said = (
        r"cannot read .*: the field 1 of the message Value is a string or bytes, and not a varint\. .*latest\.compatibility\.strict=false"
    )
    with pytest.raises(DataError, match=said):
        converted(ROW, value, other, **off)
    assert converted(ROW, value, other, **off, latest_compatibility_strict="false")[0].prefix == b"\0\0\0\0\3\0"
    by_id = {"auto_register_schemas": "false", "use_schema_id": "3"}
    with pytest.raises(DataError, match=r"id\.compatibility\.strict=false"):
        converted(ROW, value, other, **by_id)
    moved = RegisteredSchema(3, text="package s.t; message Other {} message Value { int32 id = 1; }")
    assert converted(ROW, value, moved, **off, latest_compatibility_strict="false")[0].prefix == b"\0\0\0\0\3\x02\x02"
    away = RegisteredSchema(3, text="package other; message Value {}")
    with pytest.raises(DataError, match=r"has no message s\.t\.Value"):
        converted(ROW, value, away, **off, latest_compatibility_strict="false")


def test_messages_are_found_by_their_names() -> None:
    found = """syntax = "proto3"; package p; // message No {
    option x = "message No {";
    enum E { A = 0; }
    message A { message B {} E message = 1; oneof o { int32 package = 2; } message C { message D {} } }
    /* message No {} */
    service S { rpc R (A) returns (A) { option y = true; } }
    message Z { option (z) = { key: "}" }; }
    """
    places = {name: find_message(found, f"p.{name}") for name in ("A", "A.B", "A.C", "A.C.D", "Z", "No", "E")}
    assert places == {"A": (0,), "A.B": (0, 0), "A.C": (0, 1), "A.C.D": (0, 1, 0), "Z": (1,), "No": None, "E": None}
    assert find_message("message A { int32 package = 1; }", "A") == (0,)
    assert [index_bytes(indexes) for indexes in ((0,), (1,), (0, 1, 0))] == [b"\0", b"\x02\x02", b"\x06\0\x02\0"]


def test_a_configuration_with_use_latest_version_is_accepted() -> None:
    options = {
        "auto.register.schemas": "false",
        "latest.compatibility.strict": "false",
        "normalize.schemas": "true",
        "schema.registry.url": "http://localhost:8081",
        "use.latest.version": "true",
    }
    choice = ConverterChoice("io.confluent.connect.protobuf.ProtobufConverter", options)
    reported: list[Any] = []
    converter = make_converter(choice, "value", DEFAULT, NO_PLUGINS, reported.append)
    assert reported == []
    with pytest.raises(SchemaNeededError):
        converter.convert("t", ROW, {"id": 1, "name": None}, ())
