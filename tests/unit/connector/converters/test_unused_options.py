"""A converter reports the options that it neither knows nor passes on."""

from __future__ import annotations

import pytest

from connector.converters.catalog import make_converter, make_header_converter
from connector.converters.converter import ConverterChoice
from connector.delivery.record_conversion import ConversionPlan, RecordConversion
from connector.emulation import DEFAULT
from connector.errors import CdcError, ErrorKind
from connector.log import EventLog
from connector.plugins.allowed import NO_PLUGINS

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
BINARY = "io.debezium.converters.BinaryDataConverter"
URL = "http://127.0.0.1:8081"


def unknown(name: str, **options: str) -> list[str]:
    found: list[str] = []
    values = {option.replace("_", "."): value for option, value in options.items()}
    make_converter(ConverterChoice(name, values), "value", DEFAULT, NO_PLUGINS, found.append)
    return found


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (JSON, {"schemas_enable": "false", "schemas_cache_size": "10", "decimal_format": "NUMERIC"}),
        (STRING, {"converter_encoding": "UTF-8"}),
        (BINARY, {"delegate_converter_type": JSON, "delegate_converter_type_schemas_enable": "false"}),
        (
            "io.confluent.connect.avro.AvroConverter",
            {"schema_registry_url": URL, "schema_registry_proxy_host": "x", "schema_registry_ssl_key_password": "x"},
        ),
        ("io.apicurio.registry.utils.converter.AvroConverter", {"apicurio_registry_url": URL, "apicurio_registry_request_headers_x": "x"}),
        (
            "io.debezium.converters.CloudEventsConverter",
            {"serializer_type": "json", "json_schemas_enable": "false", "avro_schema_registry_url": URL},
        ),
    ],
)
def test_known_options_and_those_passed_on_are_not_reported(name: str, options: dict[str, str]) -> None:
    assert unknown(name, **options) == []
    assert unknown(name, **options, no_option="x") == ["value.converter.no.option"]


def test_unknown_options_below_the_prefix_of_a_registry_are_reported() -> None:
    options = {"schema_registry_url": URL, "schema_registry_url_randomize": "true", "schema_registry_ssl_provider": "x"}
    found = ["value.converter.schema.registry.url.randomize", "value.converter.schema.registry.ssl.provider"]
    assert unknown("io.confluent.connect.avro.AvroConverter", **options) == found
    options = {"apicurio_registry_url": URL, "apicurio_registry_tls_whatever": "x"}
    assert unknown("io.apicurio.registry.utils.converter.AvroConverter", **options) == ["value.converter.apicurio.registry.tls.whatever"]


def test_options_without_effect_are_named_with_the_reason() -> None:
    options = {"schema.registry.url": URL, "rule.executors": "x", "schemas.cache.config": "5", "max.retries": "1"}
    avro = ConverterChoice("io.confluent.connect.avro.AvroConverter", options)
    plan = ConversionPlan({}, ConverterChoice(STRING), avro, ConverterChoice(STRING), plugins=NO_PLUGINS)
    conversion = RecordConversion(plan, EventLog(__name__).warning)
    assert conversion.unused == ()
    assert conversion.idle == (
        ("value.converter.rule.executors", "Rules of a schema are not executed."),
        ("value.converter.schemas.cache.config", "All are kept."),
    )


def test_a_header_converter_reports_too() -> None:
    found: list[str] = []
    make_header_converter(ConverterChoice(STRING, {"schemas.enable": "false"}), DEFAULT, NO_PLUGINS, found.append)
    assert found == ["header.converter.schemas.enable"]


def test_a_conversion_names_the_options_of_its_steps_and_converters() -> None:
    config = {"transforms": "t", "transforms.t.type": "org.apache.kafka.connect.transforms.Filter", "transforms.t.foo": "x"}
    plan = ConversionPlan(config, ConverterChoice(STRING, {"bar": "x"}), ConverterChoice(JSON), ConverterChoice(STRING), plugins=NO_PLUGINS)
    assert RecordConversion(plan, EventLog(__name__).warning).unused == ("transforms.t.foo", "key.converter.bar")


def test_a_converter_that_was_renamed_is_refused_with_its_present_name() -> None:
    with pytest.raises(CdcError) as caught:
        unknown("io.debezium.converters.ByteBufferConverter")
    assert caught.value.kind is ErrorKind.CONFIG_INVALID
    assert BINARY in caught.value.message
