"""Definitions of ProtobufConverter as Connect's schemas: those that the connector writes, and what is refused. No Spark is started."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from connector.converters.protobuf.mapping import protobuf_file
from connector.converters.protobuf.settings import ProtobufSettings
from connector.record.json_reader import read_schema
from connector.record.schema import INT64, STRING
from tests.support.avro_cases import DATE, TIME, TIMESTAMP, decimal, struct
from tests.support.spark.converted_topic import ROW, envelope, flat, key_schema
from workers.spark.failure import JobError
from workers.spark.source.catalog import Catalog, CatalogColumn
from workers.spark.topics.id_place import SchemaName
from workers.spark.topics.protobuf.definition import Field, message_at
from workers.spark.topics.protobuf.schema import protobuf_language

WRAPPERS: Final = ProtobufSettings(wrappers=True)
OPTIONALS: Final = ProtobufSettings(optionals=True)
NAMES: Final = {"io.debezium.time.MicroTimestamp", "io.debezium.time.Date", "io.debezium.data.Json"}
"""Names of scalar types, which only the catalog has."""

UNUSED: Final = {"io.debezium.data.Enum"}
"""The jobs read such a text like any other."""


def connect(definition: str, catalog: Catalog | None = None, indexes: tuple[int, ...] = (0,)) -> Any:
    language = protobuf_language(catalog)
    return language.connect(language.stored(definition, SchemaName(1, indexes)))


def definition(schema: Any, settings: ProtobufSettings) -> str:
    return protobuf_file(read_schema(json.dumps(schema).encode()), settings).file.text()


def columns(schema: str, table: str) -> list[CatalogColumn]:
    assert (schema, table) == ("public", "items")
    types = {"at": "timestamp", "day": "date", "document": "jsonb", "id": "text", "price": "numeric"}
    return [CatalogColumn(name, kind, "b", -1, False) for name, kind in types.items()]


def outline(schema: Any, *, names: bool) -> Any:
    """Type, name and parts of a schema. Nulls, documentation and defaults are left out, and names of scalar types unless ``names``."""
    found: dict[str, Any] = {"type": schema["type"]}
    name = str(schema.get("name"))
    if name.startswith(("io.debezium.data", "io.debezium.time")) and name not in UNUSED and (names or name not in NAMES):
        found["name"] = schema["name"]
    if schema.get("name") == "org.apache.kafka.connect.data.Decimal":
        found |= {"name": schema["name"], "scale": schema["parameters"]["scale"]}
    if "fields" in schema:
        found["fields"] = [(field["field"], outline(field, names=names)) for field in schema["fields"]]
    for part in ("items", "keys", "values"):
        if part in schema:
            found[part] = outline(schema[part], names=names)
    return found


@pytest.mark.parametrize("schema", [envelope(), flat(), key_schema()], ids=["envelope", "row", "key"])
def test_schema_is_that_of_the_events(schema: dict[str, Any]) -> None:
    found = connect(definition(schema, WRAPPERS), columns)
    assert outline(found, names=True) == outline(schema, names=True)
    bare = connect(definition(schema, WRAPPERS))
    assert outline(bare, names=False) == outline(schema, names=False)


def test_column_of_another_form_keeps_its_own_type() -> None:
    # In the catalog the id is a text, and the price a number of any scale.
    (before, *_) = connect(definition(envelope(), WRAPPERS), columns)["fields"]
    known = {field["field"]: field for field in before["fields"]}
    assert (known["id"]["type"], known["price"]["name"]) == ("int32", "org.apache.kafka.connect.data.Decimal")


def test_nulls_are_shown_by_labels_and_wrappers() -> None:
    row: dict[str, Any] = dict(flat())
    row["fields"] = [each for each in row["fields"] if each["field"] != "pairs"]
    for settings in (WRAPPERS, OPTIONALS):
        nullable = {field["field"]: field["optional"] for field in connect(definition(row, settings))["fields"]}
        assert (nullable["id"], nullable["small"], nullable["name"], nullable["price"]) == (False, False, True, True)


def test_logical_types_are_connects() -> None:
    schema = struct("s.t.Value", a=DATE, b=TIME, c=TIMESTAMP, d=decimal(3, 9))
    found = connect(protobuf_file(schema, WRAPPERS).file.text())
    names = [(field["type"], field["name"].rpartition(".")[2]) for field in found["fields"]]
    assert names == [("int32", "Date"), ("int32", "Time"), ("int64", "Timestamp"), ("bytes", "Decimal")]
    assert found["fields"][3]["parameters"] == {"scale": "3", "connect.decimal.precision": "9"}


@pytest.mark.parametrize("schema", [envelope(), flat()], ids=["envelope", "row"])
def test_definition_that_lacks_nulls_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(JobError, match=r"Set optional\.for\.nullables=true or wrapper\.for\.nullables=true"):
        connect(definition(schema, ProtobufSettings()))


def test_map_that_lacks_nulls_is_refused() -> None:
    assert any(field["field"] == "pairs" for field in ROW)
    with pytest.raises(JobError, match=r"wrapper\.for\.nullables=true in the converter, or hstore\.handling\.mode=json"):
        connect(definition(envelope(), OPTIONALS))


def test_message_is_found_by_its_indexes() -> None:
    text = """
    syntax = "proto3"; package p; import "x.proto"; option java_package = "message A {";
    // message No {}
    enum E { ZERO = 0; }
    message Other { reserved 2; }
    message A { message B { int64 n = 1; } enum F { Z = 0; } repeated B many = 3 [deprecated = true]; map<string, int32> m = 4; }
    service S { rpc R (A) returns (A) { option y = true; } }
    """
    assert message_at(text, (0,)).fields == []
    many, pairs = message_at(text, (1,)).fields
    assert (many.number, many.repeated, many.message) == (3, True, message_at(text, (1, 0)))
    assert message_at(text, (1, 0)).fields == [Field("n", 1, "int64")]
    assert pairs.message is not None
    assert [each.type for each in pairs.message.fields] == ["string", "int32"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("message A { oneof o { int32 a = 1; } }", "a oneof"),
        ("message A { sint32 a = 1; }", "a field of the type sint32"),
        ("message A { A a = 1; }", "a message within itself"),
        ("message A { E e = 1; enum E { Z = 0; } }", "a field of the type E"),
    ],
)
def test_definition_that_is_no_tables_is_refused(text: str, said: str) -> None:
    with pytest.raises(JobError, match=said):
        message_at(text, (0,))


@pytest.mark.parametrize("text", ["{}", "message A {", "", "message A { int32 a = b; }"])
def test_other_text_is_an_error(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        message_at(text, (0,))


def test_scalar_is_no_table() -> None:
    for schema in (INT64, STRING):
        mapped = protobuf_file(schema, WRAPPERS)
        assert connect(mapped.file.text(), None, mapped.indexes)["type"] == schema.type
