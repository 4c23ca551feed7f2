"""Which definitions of Protocol Buffers can read which: the documented rules, one example each."""

from __future__ import annotations

import re
from typing import Final

import pytest

from connector.converters.protobuf.compatibility import unreadable
from connector.converters.protobuf.declaration import DeclaredField, declared
from connector.converters.protobuf.mapping import protobuf_file
from connector.converters.protobuf.settings import ProtobufSettings
from connector.record.schema import INT16, INT32, STRING
from tests.support.avro_cases import TIMESTAMP, array, decimal, mapping, struct
from tests.support.each_case import each_case


def of(fields: str, rest: str = "") -> str:
    return f'syntax = "proto3"; package p; message A {{ {fields} }} {rest}'


COMPATIBLE: Final = {
    "nothing changed": (of("int32 a = 1;"), of("int32 a = 1;")),
    "a field is added": (of("int32 a = 1; string b = 2;"), of("int32 a = 1;")),
    "a field is removed": (of("int32 a = 1;"), of("int32 a = 1; string b = 2;")),
    "a field has another name": (of("int32 b = 1;"), of("int32 a = 1;")),
    "a message is added": (of("int32 a = 1;", "message B {}"), of("int32 a = 1;")),
    "messages are in another order": ("message B {} message A {}", "message A {} message B {}"),
    "varints": (of("int64 a = 1; bool b = 2; uint32 c = 3;"), of("uint32 a = 1; int32 b = 2; uint64 c = 3;")),
    "signed varints": (of("sint64 a = 1;"), of("sint32 a = 1;")),
    "four and eight bytes": (of("fixed32 a = 1; sfixed64 b = 2;"), of("sfixed32 a = 1; fixed64 b = 2;")),
    "string and bytes": (of("bytes a = 1;"), of("string a = 1;")),
    "an enum is a varint": (of("E a = 1; enum E { Z = 0; }"), of("int32 a = 1;")),
    "values of an enum": (of("E a = 1;", "enum E { Z = 0; Y = 1; }"), of("E a = 1;", "enum E { Z = 0; }")),
    "a text gets another label": (of("repeated string a = 1;"), of("optional string a = 1;")),
    "a label is left out": (of("int32 a = 1;"), of("optional int32 a = 1;")),
    "one field moves into a new oneof": (of("oneof o { int32 a = 1; string b = 2; }"), of("int32 a = 1;")),
    "a field of a oneof is added": (of("oneof o { int32 a = 1; string b = 2; }"), of("oneof o { int32 a = 1; }")),
    "a oneof is removed": (of("int32 b = 2;"), of("oneof o { int32 a = 1; }")),
    "a map of the same groups": (of("map<string, int64> a = 1;"), of("map<bytes, int32> a = 1;")),
    "one message by its full name": (of("B a = 1;", "message B {}"), of(".p.B a = 1;", "message B {}")),
    "an inner message by its path": (of("A.B a = 1; message B {}"), of("p.A.B a = 1; message B {}")),
    "a message of another file": (of("google.type.Date a = 1;"), of("google.type.Date a = 1;")),
    "options, reserved numbers and services": (
        of(
            'reserved 2, 9 to max; int32 a = 1 [deprecated = true, (x) = { y: "};" }];',
            "service S { rpc R (A) returns (A) { option z = 1; } }",
        ),
        of("int32 a = 1; // int32 b = 2;\n"),
    ),
}
INCOMPATIBLE: Final = {
    "a message is removed": ("message B {}", "message A {}", "it lacks the message A"),
    "an inner message is removed": (of(""), of("message B {}"), r"it lacks the message A\.B"),
    "a number becomes a text": (
        of("string a = 1;"),
        of("int32 a = 1;"),
        "the field 1 of the message A is a string or bytes, and not a varint",
    ),
    "a float becomes a double": (of("double a = 1;"), of("float a = 1;"), "is a double, and not a float"),
    "a varint gets a sign": (of("sint32 a = 1;"), of("int32 a = 1;"), "is a signed varint, and not a varint"),
    "a message becomes a text": (of("string a = 1;", "message B {}"), of("B a = 1;", "message B {}"), "and not the message B"),
    "another message": (
        of("C a = 1;", "message B {} message C {}"),
        of("B a = 1;", "message B {} message C {}"),
        "is the message C, and not",
    ),
    "a message of another file": (of("google.type.Date a = 1;"), of("google.protobuf.Timestamp a = 1;"), "google.protobuf.Timestamp"),
    "a number is repeated": (of("repeated int32 a = 1;"), of("optional int32 a = 1;"), "is repeated, and not optional"),
    "a map": (of("map<string, int32> a = 1;"), of("int32 a = 1;"), "is a map in one of them"),
    "the values of a map": (of("map<string, string> a = 1;"), of("map<string, int32> a = 1;"), "is a string or bytes, and not a varint"),
    "the field of an inner message": (
        of("message B { bool b = 7; }"),
        of("message B { double b = 7; }"),
        r"the field 7 of the message A\.B is a varint, and not a double",
    ),
    "a required field is added": (
        "message A { required int32 a = 1; }",
        "message A {}",
        r"the record's schema lacks the required field A\.a",
    ),
    "a required field is removed": ("message A {}", "message A { required int32 a = 1; }", r"it lacks the required field A\.a"),
    "a field of a oneof is removed": (of("oneof o { int32 a = 1; }"), of("oneof o { int32 a = 1; int32 b = 2; }"), "lacks the field 2"),
    "a field of a oneof": (of("oneof o { int32 a = 1; }"), of("oneof o { string a = 1; }"), "and not a string"),
    "two fields move into a oneof": (
        of("oneof o { int32 a = 1; int32 b = 2; }"),
        of("int32 a = 1; int32 b = 2;"),
        r"its oneof A\.o has fields",
    ),
    "a field moves into a oneof that there was": (
        of("oneof o { int32 a = 1; int32 b = 2; }"),
        of("oneof o { int32 a = 1; } int32 b = 2;"),
        r"its oneof A\.o has fields",
    ),
}


@each_case(("reader", "writer"), COMPATIBLE.values(), ids=COMPATIBLE)
def test_definition_can_be_read(reader: str, writer: str) -> None:
    assert unreadable(reader, writer) is None


@each_case(("reader", "writer", "said"), INCOMPATIBLE.values(), ids=INCOMPATIBLE)
def test_definition_cannot_be_read(reader: str, writer: str, said: str) -> None:
    found = unreadable(reader, writer)
    assert found is not None
    assert re.search(said, found), found


@pytest.mark.parametrize(
    "text", ["message A {", "{}", "message A { int32 a = b; }", "message A { repeated group B = 1 { } }", "message A { int32 a 1; }"]
)
def test_text_that_is_no_definition_is_named(text: str) -> None:
    assert unreadable(text, "message A {}") is not None


def test_words_are_names_too() -> None:
    file = declared(
        "message message { message.enum message = 1; enum enum { Z = 0; } message oneof { oneof oneof { int32 package = 0x10; } } }"
    )
    (found,) = file.messages
    assert found.fields == [DeclaredField("message", 1, "message.enum")]
    assert found.messages[0].oneofs == {"oneof": [DeclaredField("package", 16, "int32")]}
    assert file.enums == {"message.enum"}


@pytest.mark.parametrize("settings", [ProtobufSettings(), ProtobufSettings(optionals=True), ProtobufSettings(wrappers=True)])
def test_what_the_converter_registers_reads_itself_and_what_was_before(settings: ProtobufSettings) -> None:
    row = {"id": INT32, "name": STRING.as_optional(), "small": INT16, "price": decimal(2, 10), "at": TIMESTAMP, "tags": array(STRING)}
    old = struct("s.t.Envelope", before=struct("s.t.Value", **row).as_optional(), pairs=mapping(STRING, STRING))
    new = struct("s.t.Envelope", before=struct("s.t.Value", **row, more=STRING.as_optional()).as_optional(), pairs=mapping(STRING, STRING))
    texts = [protobuf_file(schema, settings).file.text() for schema in (old, new)]
    assert [unreadable(reader, writer) for reader in texts for writer in texts] == [None] * 4
