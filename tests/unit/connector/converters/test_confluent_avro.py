"""Confluent's AvroConverter: subjects, framing and options. The mapping itself is in test_avro_mapping.py."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from connector.configdef.options import OptionError, Options
from connector.converters.avro.confluent import DEFINITIONS
from connector.converters.avro.converter import AvroConverter
from connector.converters.avro.names import scrubbed, split_name
from connector.converters.confluent_keys import HEADER_ID, RECORD_NAME, TOPIC_RECORD_NAME
from connector.converters.converter import Converted, Converter, ConverterDefinition, SchemaNeededError, Side
from connector.converters.json_schema.confluent import DEFINITIONS as JSON_SCHEMA
from connector.converters.protobuf.confluent import DEFINITIONS as PROTOBUF
from connector.converters.registry import RegisteredSchema, Registry, RegistrySettings, SchemaAsk, TokenEndpoint
from connector.record.connect_record import DataError
from connector.record.schema import BYTES, INT32, INT64, STRING, Field, Schema
from tests.support.avro_cases import decimal
from tests.support.each_case import each_case

URL = {"schema.registry.url": "http://r:8081"}
NEWEST = {"auto.register.schemas": "false", "use.latest.version": "true"}
ROW = Schema("struct", name="s.t.Value", fields=(Field("id", INT32), Field("name", STRING.as_optional())))


def made(side: Any = "value", **options: str) -> Converter:
    values = URL | {name.replace("_", "."): value for name, value in options.items()}
    return DEFINITIONS[0].make(Options(DEFINITIONS[0].keys, values), side)


def asked(converter: Converter, schema: Schema | None, value: Any, topic: str = "t") -> SchemaNeededError:
    with pytest.raises(SchemaNeededError) as needed:
        converter.convert(topic, schema, value, ())
    return needed.value


def answered(converter: Converter, schema: Schema | None, value: Any, answer: RegisteredSchema, topic: str = "t") -> Converted:
    needed = asked(converter, schema, value, topic)
    assert isinstance(needed.registry, Registry)
    needed.registry.learn(needed.request, answer)
    return converter.convert(topic, schema, value, ())


def ask_of(needed: SchemaNeededError) -> SchemaAsk:
    assert isinstance(needed.request.ask, SchemaAsk)
    return needed.request.ask


def test_a_value_has_the_magic_byte_and_the_id() -> None:
    found = answered(made(), ROW, {"id": 3, "name": None}, RegisteredSchema(258))
    assert (found.prefix, found.payload, found.headers) == (b"\0\0\0\1\2", b"\6\0", ())


def test_bytes_and_decimals_have_no_length() -> None:
    price = decimal(2)
    converter = made()
    assert answered(converter, price, Decimal("1.25"), RegisteredSchema(1)).payload == b"\x7d"
    assert converter.convert("t", price, Decimal("-1.3"), ()).payload == b"\xff\x7e"
    with pytest.raises(DataError, match="more fraction digits"):
        converter.convert("t", price, Decimal("1.255"), ())
    assert answered(made(), BYTES, b"\0x", RegisteredSchema(1)).payload == b"\0x"
    with pytest.raises(DataError, match="Invalid type for BYTES: str"):
        answered(made(), BYTES, "x", RegisteredSchema(1))


def test_the_registry_is_asked_once_per_topic_and_schema() -> None:
    converter = made()
    answered(converter, ROW, {"id": 3, "name": None}, RegisteredSchema(1))
    equal = Schema("struct", name="s.t.Value", fields=(Field("id", INT32), Field("name", STRING.as_optional())))
    assert converter.convert("t", equal, {"id": 4, "name": "x"}, ()).payload == b"\10\2\2x"
    assert asked(converter, ROW, {"id": 3, "name": None}, "other").request.subject == "other-value"


def test_nulls_are_sent_as_null_and_ask_nothing() -> None:
    assert made().convert("t", None, None, ()).payload is None
    assert made().convert("t", ROW.as_optional(), None, ()).payload is None


def test_null_for_a_required_schema_is_refused() -> None:
    with pytest.raises(DataError, match=r"Found null value for non-optional schema s\.t\.Value"):
        made().convert("t", ROW, None, ())


@pytest.mark.parametrize(
    ("strategy", "side", "subject"),
    [
        ("", "value", "t-value"),
        ("", "key", "t-key"),
        (RECORD_NAME, "value", "s.t.Value"),
        (TOPIC_RECORD_NAME, "value", "t-s.t.Value"),
        (TOPIC_RECORD_NAME, "key", "t-s.t.Value"),
    ],
)
def test_subjects(strategy: str, side: Side, subject: str) -> None:
    options = {f"{side}_subject_name_strategy": strategy} if strategy else {}
    assert asked(made(side, **options), ROW, {"id": 1, "name": None}).request.subject == subject


def test_a_record_name_strategy_wants_a_record() -> None:
    with pytest.raises(DataError, match="the message key must only be a record schema"):
        made("key", key_subject_name_strategy=RECORD_NAME).convert("t", INT32, 1, ())


def test_schemas_are_registered_looked_up_or_taken_from_the_registry() -> None:
    assert ask_of(asked(made(), ROW, {"id": 1, "name": None})).action == "register"
    off = {"auto_register_schemas": "false"}
    assert ask_of(asked(made(**off, normalize_schemas="true"), ROW, {"id": 1, "name": None})).normalize
    assert ask_of(asked(made(**off), ROW, {"id": 1, "name": None})).action == "look up"
    assert ask_of(asked(made(**off, use_latest_version="true"), ROW, {"id": 1, "name": None})).action == "latest"
    assert ask_of(asked(made(**off, use_schema_id="7"), ROW, {"id": 1, "name": None})).schema_id == 7
    # Registering prevails, as in Confluent's serializer.
    assert ask_of(asked(made(use_latest_version="true"), ROW, {"id": 1, "name": None})).action == "register"


def latest(**fields: object) -> RegisteredSchema:
    schema = {"type": "record", "name": "Value", "namespace": "s.t", "fields": fields["fields"]}
    return RegisteredSchema(9, text=json.dumps(schema))


def test_the_newest_schema_writes_fields_by_name() -> None:
    converter = made(auto_register_schemas="false", use_latest_version="true")
    fields = [
        {"name": "name", "type": ["null", "string"], "default": None},
        {"name": "added", "type": "string", "default": "d"},
        {"name": "id", "type": "long"},
    ]
    found = answered(converter, ROW, {"id": 3, "name": "n"}, latest(fields=fields))
    assert (found.prefix[-1:], found.payload) == (b"\t", b"\2\2n\2d\6")


def test_the_newest_schema_must_be_able_to_read_the_record() -> None:
    fields = [{"name": "id", "type": "int"}, {"name": "added", "type": "string"}]
    with pytest.raises(DataError, match="its field added has no default"):
        answered(made(auto_register_schemas="false", use_latest_version="true"), ROW, {"id": 3, "name": "n"}, latest(fields=fields))
    loose = made(auto_register_schemas="false", use_latest_version="true", latest_compatibility_strict="false")
    fields = [{"name": "id", "type": "int"}]
    assert answered(loose, ROW, {"id": 3, "name": "n"}, latest(fields=fields)).payload == b"\6"


@pytest.mark.parametrize("converter_definition", [*DEFINITIONS, *JSON_SCHEMA, *PROTOBUF], ids=lambda definition: definition.name)
def test_newest_schemas_are_asked_for_again_once_forgotten(converter_definition: ConverterDefinition) -> None:
    options = URL | NEWEST | {"latest.cache.ttl.sec": "60", "latest.compatibility.strict": "false"}
    converter = converter_definition.make(Options(converter_definition.keys, options), "value")
    texts = {"Avro": '"long"', "JsonSchema": "{}", "Protobuf": 'syntax = "proto3"; message V { int64 a = 1; }'}
    text = next(text for name, text in texts.items() if f".{name}Converter" in converter_definition.name)
    schema = INT64 if text == '"long"' else Schema("struct", name="V", fields=(Field("a", INT64),))
    value = 1 if schema is INT64 else {"a": 1}
    for number in (1, 2):
        needed = asked(converter, schema, value)
        assert isinstance(needed.registry, Registry)
        assert needed.registry.newest_seconds == 60
        needed.registry.learn(needed.request, RegisteredSchema(number, text=text))
        assert converter.convert("t", schema, value, ()).prefix[4] == number
        needed.registry.forget_newest()


def test_a_schema_that_is_asked_for_again_is_not_the_records_own() -> None:
    """Others keep what is prepared with an own schema."""
    converter = DEFINITIONS[0].make(Options(DEFINITIONS[0].keys, URL | NEWEST | {"latest.cache.ttl.sec": "60"}), "value")
    answered(converter, INT64, 1, RegisteredSchema(1, text='"long"'))
    assert isinstance(converter, AvroConverter)
    assert not converter.prepared("t", INT64).own


def test_the_newest_schema_is_asked_for_once_by_default() -> None:
    converter = DEFINITIONS[0].make(Options(DEFINITIONS[0].keys, URL | NEWEST), "value")
    answered(converter, INT64, 1, RegisteredSchema(1, text='"long"'))
    assert isinstance(converter, AvroConverter)
    assert converter.prepared("t", INT64).own


def test_the_id_in_a_header() -> None:
    guid = "00112233-4455-6677-8899-aabbccddeeff"
    found = answered(made(value_schema_id_serializer=HEADER_ID), ROW, {"id": 3, "name": None}, RegisteredSchema(1, guid=guid))
    assert found.prefix == b""
    assert found.headers == (("__value_schema_id", b"\1" + bytes.fromhex(guid.replace("-", ""))),)
    with pytest.raises(DataError, match="GUID"):
        answered(made(value_schema_id_serializer=HEADER_ID), ROW, {"id": 3, "name": None}, RegisteredSchema(1))


def test_bytes_alone_have_no_length() -> None:
    assert answered(made(), BYTES, b"abc", RegisteredSchema(1)).payload == b"abc"
    assert answered(made(), BYTES.as_optional(), b"abc", RegisteredSchema(1)).payload == b"\2\6abc"


@pytest.mark.parametrize(
    ("text", "payload"), [('"bytes"', b"\x7d"), ('{"type":"bytes","doc":"d"}', b"\x7d"), ('["null","bytes"]', b"\2\2\x7d")]
)
def test_bytes_of_the_newest_schema_have_no_length(text: str, payload: bytes) -> None:
    converter = made(auto_register_schemas="false", use_latest_version="true")
    assert answered(converter, decimal(2), Decimal("1.25"), RegisteredSchema(1, text=text)).payload == payload


def test_values_without_a_schema() -> None:
    found = answered(made(), None, {"a": [1, True, None, "x", 1.5, 1 << 40]}, RegisteredSchema(1))
    assert found.payload is not None
    assert found.payload.startswith(bytes(8) + b"\2\2")
    with pytest.raises(DataError, match="Unknown type of a value without a schema: bytes"):
        answered(made(), None, [b"x"], RegisteredSchema(1))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"id": None, "name": None}, "Found null value for non-optional schema of field id: it has the type int32"),
        ({"id": "secret", "name": None}, "Invalid type for INT32 of field id: str"),
        ({"id": 1, "name": 5}, "Invalid type for STRING of field name: int"),
        ({"id": 1}, "The struct lacks the field name of its schema"),
        ("secret", "Invalid type for STRUCT: str"),
    ],
)
def test_errors_name_fields_and_types(value: object, text: str) -> None:
    with pytest.raises(DataError) as error:
        answered(made(), ROW, value, RegisteredSchema(1))
    assert str(error.value) == text


@each_case(
    ("options", "text"),
    [
        ({"schema_registry_url": "mock://x"}, "schema.registry.url"),
        ({"value_subject_name_strategy": "a.B"}, "Java classes cannot be loaded"),
        ({"basic_auth_credentials_source": "USER_INFO"}, "UserInfo must be provided"),
        ({"basic_auth_credentials_source": "SASL_INHERIT"}, "sasl.jaas.config"),
        ({"basic_auth_credentials_source": "X"}, "Choose one of URL, USER_INFO, SASL_INHERIT"),
        ({"bearer_auth_credentials_source": "STATIC_TOKEN"}, "bearer.auth.token"),
        ({"bearer_auth_credentials_source": "OAUTHBEARER"}, "bearer.auth.client.secret"),
        ({"bearer_auth_credentials_source": "CUSTOM"}, "STATIC_TOKEN, OAUTHBEARER"),
        ({"connect_meta_data": "x"}, "true or false"),
    ],
)
def test_wrong_options(options: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        made(**options)


def test_the_registry_must_be_named() -> None:
    with pytest.raises(OptionError, match=r'Missing required configuration "schema\.registry\.url" which has no default value\.'):
        DEFINITIONS[0].make(Options(DEFINITIONS[0].keys, {}), "value")


def test_settings_keep_secrets_out_of_their_text() -> None:
    needed = asked(
        made(
            basic_auth_credentials_source="USER_INFO",
            basic_auth_user_info="u:secret",
            schema_registry_ssl_key_password="secret",
        ),
        ROW,
        {"id": 1, "name": None},
    )
    assert isinstance(needed.registry, Registry)
    assert needed.registry.settings.user_info == "u:secret"
    assert ("ssl.key.password", "secret") in needed.registry.settings.ssl
    assert "secret" not in repr(needed.registry.settings)


def test_headers_of_requests() -> None:
    converter = DEFINITIONS[0].make(
        Options(DEFINITIONS[0].keys, URL | {"request.header.X-A": "1", "proxy.host": "p", "proxy.port": "3128"}), "key"
    )
    needed = asked(converter, INT64, 1)
    assert isinstance(needed.registry, Registry)
    assert (needed.registry.settings.headers, needed.registry.settings.proxy) == ((("X-A", "1"),), "http://p:3128")


def _settings(**options: str) -> RegistrySettings:
    needed = asked(made(**options), INT64, 1)
    assert isinstance(needed.registry, Registry)
    return needed.registry.settings


@pytest.mark.parametrize(
    "options",
    [
        {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "u:secret"},
        {"bearer_auth_credentials_source": "STATIC_TOKEN", "bearer_auth_token": "t", "bearer_auth_logical_cluster": "lsrc"},
        {"proxy_host": "p", "proxy_port": "3128"},
        {
            "http_connect_timeout_ms": "1",
            "http_read_timeout_ms": "2",
            "max_retries": "4",
            "retries_wait_ms": "5",
            "retries_max_wait_ms": "6",
        },
    ],
)
def test_the_options_of_the_client_may_have_its_prefix(options: dict[str, str]) -> None:
    prefixed = {f"schema_registry_{name}": value for name, value in options.items()}
    assert _settings(**prefixed) == _settings(**options) != _settings()


def test_the_options_of_the_token_endpoint() -> None:
    options = {"credentials_source": "OAUTHBEARER", "issuer_endpoint_url": "http://a/t", "client_id": "c", "client_secret": "s"}
    given = {f"bearer_auth_{name}": value for name, value in options.items()}
    assert _settings(**given).token_endpoint == TokenEndpoint("http://a/t", "c", "s", "", 300)
    assert _settings(**given, bearer_auth_cache_expiry_buffer_seconds="10").token_endpoint == TokenEndpoint("http://a/t", "c", "s", "", 10)


def test_an_option_with_the_prefix_prevails() -> None:
    assert _settings(max_retries="1", schema_registry_max_retries="2").retries == 2
    assert _settings(max_retries="1", schema_registry_max_retries="").retries == 1


@pytest.mark.parametrize("word", ["none", ""])
def test_the_name_in_a_certificate_need_not_be_checked(word: str) -> None:
    assert _settings(schema_registry_ssl_endpoint_identification_algorithm=word).ssl == (("ssl.endpoint.identification.algorithm", ""),)


def test_scrubbed_namespaces() -> None:
    assert split_name("9 bad.my-schema.täble.Va~l*ue", scrub=True) == ("x9_bad.my_schema.t_C3_A4ble", "Va_7El_ue")
    assert (split_name("a..b", scrub=False), split_name("a.b.", scrub=False), scrubbed("")) == (("a.", "b"), ("a", "b"), "")
