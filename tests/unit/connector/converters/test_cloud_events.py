"""The converter of CloudEvents against what Debezium's made of the same events.

3.7.0 with Connect 4.3 and 3.6.3 with Connect 3.9 gave the same answers; 2.3.4 was recorded with Connect 3.4, beside which it loads. Where
the options ask for Avro, both sides have a JsonConverter in its place. :mod:`tests.support.record_cloud_events` records them.
"""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import pytest

from connector.configdef.options import OptionError, Options
from connector.converters.catalog import make_converter
from connector.converters.cloud_event_settings import KEYS, CloudEventSettings, MetadataSource, avro_choice
from connector.converters.cloud_events import NAME, CloudEventsConverter
from connector.converters.confluent_keys import HEADER_ID
from connector.converters.converter import Converted, ConverterChoice, SchemaNeededError
from connector.converters.json import JsonConverter
from connector.converters.registry import RegisteredSchema, Registry
from connector.emulation import DEBEZIUM_2_3_4, DEFAULT, Emulation
from connector.plugins.allowed import NO_PLUGINS
from connector.record.connect_record import DataError, Header
from connector.record.json_converter import ConverterSettings
from connector.record.json_reader import read_schema, value_reader
from connector.record.schema import FLOAT64, INT32, INT64, STRING, Field, Schema
from tests.support.cloud_event_cases import HEADERS
from tests.support.each_case import each_case

TOPIC: Final = "server.public.t"


def _recorded(name: str) -> Any:
    return json.loads(Path(__file__).with_name(name).read_text())


NEW: Final = _recorded("cloud_events_recorded.json")
OLD: Final = _recorded("cloud_events_2_3_4_recorded.json")


def _read(schema: Any, value: Any) -> tuple[Schema | None, Any]:
    if schema is None:
        return None, value
    made = read_schema(json.dumps(schema).encode())
    if made.type == "struct" and value is not None:
        # The recorded JsonConverter left out members that are no fields.
        value = {field.name: value[field.name] for field in made.fields}
    return made, value_reader(made)(json.loads(json.dumps(value)))


def _converter(options: dict[str, str], emulation: Emulation) -> CloudEventsConverter:
    read = Options(KEYS, options, emulation)
    return CloudEventsConverter(CloudEventSettings.of(read), JsonConverter(ConverterSettings()) if avro_choice(read) else None)


def _found(converter: CloudEventsConverter, schema: Schema | None, value: Any, headers: tuple[Header, ...]) -> object:
    try:
        found = converter.convert(TOPIC, schema, value, headers)
    except DataError:
        return "error"
    return None if found.payload is None else found.prefix + found.payload


def _wanted(answer: Any) -> object:
    if isinstance(answer, dict):
        return b64decode(answer["base64"]) if "base64" in answer else "error"
    return None if answer is None else answer.encode()


CASES: Final = [
    pytest.param(recorded, index, emulation, id=f"{emulation.version}-{recorded['answers'][index][0]}")
    for recorded, emulation in ((NEW, DEFAULT), (OLD, DEBEZIUM_2_3_4))
    for index in range(len(recorded["answers"]))
]


@each_case(("recorded", "index", "emulation"), CASES)
def test_events_become_the_recorded_ones(recorded: Any, index: int, emulation: Emulation) -> None:
    options, places, answers = recorded["answers"][index]
    if "error" in answers:
        with pytest.raises(OptionError):
            _converter(options, emulation)
        return
    converter = _converter(options, emulation)
    values = [_read(*recorded["values"][place]) for place in places]
    for name, reported in HEADERS.items():
        headers = tuple(Header(header, *_read(schema, value)) for header, schema, value in reported)
        texts = [recorded["texts"][number] for number in answers.get(name, answers["none"])]
        if len(texts) == len(values):
            assert [_found(converter, *each, headers) for each in values] == [_wanted(each) for each in texts], name


@pytest.mark.parametrize(("recorded", "emulation"), [(NEW, DEFAULT), (OLD, DEBEZIUM_2_3_4)])
def test_options_that_the_reference_refuses_are_refused(recorded: Any, emulation: Emulation) -> None:
    for options, problem in recorded["wrong"]:
        if problem is not None:
            with pytest.raises(OptionError):
                _converter(options, emulation)


@pytest.mark.parametrize(
    "text",
    [
        "header,id:generate,type:generate,traceparent:header,dataSchemaName:generate",
        "Header , id:Generate, type: GENERATE ,traceparent: header,dataSchemaName:generate",
    ],
)
def test_sources_of_metadata_are_trimmed_and_of_any_case(text: str) -> None:
    assert MetadataSource.of(text) == MetadataSource("header", "generate", "generate", "generate", "header")


@pytest.mark.parametrize("text", ["generate", "value,id:value", "value,id", "value,ID:header"])
def test_wrong_sources_of_metadata(text: str) -> None:
    with pytest.raises(OptionError):
        MetadataSource.of(text)


SOURCE: Final = {
    "version": "3.7.0.Final",
    "connector": "postgresql",
    "name": "server",
    "ts_ms": 1,
    "db": "d",
    "schema": "public",
    "table": "t",
    "txId": 1,
    "lsn": 2,
    "sequence": "[]",
}


def _with_registry(options: dict[str, str]) -> Converted:
    """What an event becomes with a real Avro converter, whose schemas get the ids 4661, 4662."""
    converter = make_converter(ConverterChoice(NAME, {"data.serializer.type": "avro"} | options), "value", DEFAULT, NO_PLUGINS)
    row = Schema("struct", name="server.public.t.Value", fields=(Field("id", INT32),))
    source = Schema("struct", fields=tuple(Field(name, INT64 if name.endswith(("_ms", "Id", "lsn")) else STRING) for name in SOURCE))
    fields = (Field("before", row.as_optional()), Field("after", row), Field("source", source), Field("op", STRING))
    schema = Schema("struct", name="server.public.t.Envelope", fields=fields)
    value = {"before": None, "after": {"id": 77}, "source": SOURCE, "op": "c"}
    number = 4660
    while True:
        try:
            return converter.convert(TOPIC, schema, value, ())
        except SchemaNeededError as needed:
            number += 1
            cast("Registry", needed.registry).learn(needed.request, RegisteredSchema(number, number, guid="3" * 32))


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({"avro.apicurio.registry.url": "http://registry/apis/registry/v2"}, 8),
        ({"avro.apicurio.registry.url": "http://registry/apis/registry/v2", "avro.apicurio.registry.as-confluent": "true"}, 4),
        ({"avro.apicurio.registry.url": "http://registry/apis/registry/v3", "avro.apicurio.registry.headers.enabled": "true"}, 4),
    ],
)
@pytest.mark.parametrize("envelope", ["json", "avro"])
def test_the_ids_of_apicurio_stand_before_values_whatever_the_option_of_headers(options: dict[str, str], size: int, envelope: str) -> None:
    found = _with_registry({"serializer.type": envelope} | options)
    assert found.headers == ()
    if envelope == "avro":
        assert found.prefix[: size + 1] == b"\0" + (4662).to_bytes(size, "big")
        return
    event = json.loads(found.payload or b"")
    raw = b64decode(event["data"])
    assert raw[: size + 1] == b"\0" + (4661).to_bytes(size, "big")
    # As in the reference, which reads four bytes, whatever the size of the id.
    assert event["dataschema"].endswith(f"/schemas/ids/{int.from_bytes(raw[1:5], 'big')}")


def test_an_id_of_confluent_in_a_header_is_an_error() -> None:
    with pytest.raises(DataError, match=r"avro\.value\.schema\.id\.serializer"):
        _with_registry({"avro.schema.registry.url": "http://registry", "avro.value.schema.id.serializer": HEADER_ID})


def _event(*fields: str) -> tuple[Schema, dict[str, Any]]:
    kept = {name: value for name, value in SOURCE.items() if name in fields}
    source = Schema("struct", fields=tuple(Field(name, INT64 if name.endswith(("_ms", "Id", "lsn")) else STRING) for name in kept))
    row = Schema("struct", fields=(Field("id", INT32),))
    parts = (Field("before", row.as_optional()), Field("after", row), Field("source", source), Field("op", STRING))
    return Schema("struct", name="s.t.Envelope", fields=parts), {"before": None, "after": {"id": 1}, "source": kept, "op": "c"}


def test_a_source_block_without_a_field_that_is_needed_fails_the_record() -> None:
    schema, value = _event("connector", "name", "ts_ms")
    with pytest.raises(DataError, match="lacks the field lsn"):
        _converter({}, DEFAULT).convert(TOPIC, schema, value, ())
    by_header = _converter({"metadata.source": "value,id:header,type:generate"}, DEFAULT)
    assert by_header.convert(TOPIC, schema, value, (Header("id", STRING, "x"),)).payload is not None


def test_an_event_without_operation_fails_only_with_extension_attributes() -> None:
    schema, value = _event(*SOURCE)
    schema = replace(schema, fields=schema.fields[:3])
    value.pop("op")
    with pytest.raises(DataError, match="lacks the field op"):
        _converter({}, DEFAULT).convert(TOPIC, schema, value, ())
    assert _converter({"extension.attributes.enable": "false"}, DEFAULT).convert(TOPIC, schema, value, ()).payload is not None


def test_a_mistake_of_the_converter_of_avro_is_not_told_as_a_missing_field() -> None:
    class Wrong:
        def convert(self, topic: str, schema: Schema | None, value: Any, headers: Any) -> Converted:
            raise KeyError("secret")

    settings = CloudEventSettings.of(Options(KEYS, {"serializer.type": "avro", "data.serializer.type": "avro"}, DEFAULT))
    with pytest.raises(KeyError):
        CloudEventsConverter(settings, Wrong()).convert(TOPIC, *_event(*SOURCE), ())


def test_fields_of_other_types_matter_to_extension_attributes_alone() -> None:
    schema, value = _event(*SOURCE)
    source = schema.fields[2]
    odd = replace(source, schema=replace(source.schema, fields=(*source.schema.fields, Field("ratio", FLOAT64.as_optional()))))
    schema = replace(schema, fields=(*schema.fields[:2], odd, *schema.fields[3:]))
    value = {**value, "source": {**SOURCE, "ratio": None}}
    with pytest.raises(DataError, match="cannot be converted into CloudEvents extension attribute"):
        _converter({}, DEFAULT).convert(TOPIC, schema, value, ())
    assert _converter({"extension.attributes.enable": "false"}, DEFAULT).convert(TOPIC, schema, value, ()).payload is not None


def test_a_name_of_the_data_that_no_header_gives_is_generated() -> None:
    schema, value = _event(*SOURCE)
    options = {"metadata.source": "value,id:generate,type:generate", "schema.data.name.source.header.enable": "true"}
    found = _converter(options, DEFAULT).convert(TOPIC, schema, value, ())
    assert b'"name":"io.debezium.connector.postgresql.Data"' in (found.payload or b"")
