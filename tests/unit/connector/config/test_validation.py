"""Validation against the answers of live Connect workers."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from connector.config.connector_config import parse
from connector.config.keys import BY_NAME, DEFAULT_VERSION
from connector.config.validation import Validation, error_lines, refusals, validate, warning_lines
from connector.configdef.kafka_validators import NULL_VALUE
from connector.errors import CdcError
from tests.support.each_case import each_case

RECORDED = json.loads((Path(__file__).parent / "validation_recorded.json").read_text())
BASE: dict[str, str | None] = RECORDED["base"]
NOT_ENABLED = "This worker does not have exactly-once source support enabled."
MINIMAL: dict[str, str | None] = {**BASE, "database.dbname": "d"}


def cases(kind: str) -> list[Any]:
    found = []
    for version, recorded in RECORDED["versions"].items():
        for case in recorded[kind]:
            name = case["keys"][0] if kind == "single" else ",".join(f"{k}={v}" for k, v in case["set"].items())[:60]
            found.append(pytest.param(version, case, id=f"{version}-{name}"))
    return found


def errors_of(config: dict[str, str | None], version: str) -> list[list[object]]:
    """Errors by property, without those of the missing database and without refusals of our own."""
    played = config if version == DEFAULT_VERSION else {**config, "connector.plugin.version": version}
    found: list[list[object]] = []
    for field in validate(played).fields:
        value = config.get(field.name)
        own = refusals(field.key, value) if field.key and value is not None else []
        errors = [error for error in field.errors if error not in own]
        if errors and field.name != "database.dbname":
            found.append([field.name, errors])
    return found


@each_case(("version", "case"), cases("single"))
def test_one_property_is_answered_as_the_real_worker_answers(version: str, case: dict[str, Any]) -> None:
    for name in case["keys"]:
        for value in case["accepted"]:
            assert errors_of({**BASE, name: value}, version) == [], (name, value)
        for value, answer in case["answers"].items():
            expected = [[key.replace("<key>", name), [text.replace("<key>", name) for text in texts]] for key, texts in answer]
            assert errors_of({**BASE, name: value}, version) == expected, (name, value)


@each_case(("version", "case"), cases("combined"))
def test_properties_together_are_answered_as_the_real_worker_answers(version: str, case: dict[str, Any]) -> None:
    config = {name: value for name, value in {**BASE, **case["set"]}.items() if value is not None}
    # What the recorded worker says of itself, this worker's plan of a task says.
    assert errors_of(config, version) == [error for error in case["errors"] if error[1] != [NOT_ENABLED]]


def texts(validation: Validation, name: str) -> tuple[str, ...]:
    return next(field.errors for field in validation.fields if field.name == name)


def test_error_lines_stand_in_the_order_of_the_post_message() -> None:
    config = {
        **MINIMAL,
        "snapshot.mode": "bogus",
        "decimal.handling.mode": "nope",
        "max.batch.size": "x",
        "tasks.max": "0",
        "heartbeat.interval.ms": "-1",
        "table.include.list": "a(",
        "slot.name": "Bad-Slot",
    }
    assert error_lines(validate(config)) == [
        "Invalid value 0 for configuration tasks.max: Value must be at least 1",
        (
            "The 'slot.name' value is invalid: Valid replication slot name must contain only digits, lowercase characters and underscores"
            " with length <= 63"
        ),
        "The 'max.batch.size' value is invalid: An integer is expected",
        "The 'max.batch.size' value is invalid: A positive, non-zero integer value is expected",
        "The 'decimal.handling.mode' value is invalid: Value must be one of string, double, precise",
        (
            "The 'snapshot.mode' value is invalid: Value must be one of always, initial_only, configuration_based, when_needed, initial,"
            " custom, no_data"
        ),
        "The 'heartbeat.interval.ms' value is invalid: An non-negative integer is expected",
        (
            "The 'table.include.list' value is invalid: A comma-separated list of valid regular expressions is expected, but"
            " Unclosed group near index 2\na("
        ),
    ]


def test_errors_are_counted_one_by_one() -> None:
    # Connect 4.3 counted 8 for 6 properties.
    validation = validate({**MINIMAL, "max.batch.size": "x", "slot.name": "B"})
    assert (validation.error_count, len(error_lines(validation))) == (3, 3)


def test_a_good_configuration_has_no_errors_and_may_connect() -> None:
    validation = validate(MINIMAL)
    assert error_lines(validation) == []
    assert validation.may_connect


@pytest.mark.parametrize("wrong", [{"slot.name": "B"}, {"plugin.name": "x"}, {"database.dbname": ""}])
def test_the_database_is_left_alone_when_its_properties_are_wrong(wrong: dict[str, str]) -> None:
    assert not validate({**MINIMAL, **wrong}).may_connect


def test_the_database_is_looked_at_beside_other_errors() -> None:
    assert validate({**MINIMAL, "tasks.max": "0"}).may_connect


def test_what_the_database_says_is_attached_in_place() -> None:
    validation = validate({**MINIMAL, "max.batch.size": "x"}).with_error("database.hostname", "no route")
    assert error_lines(validation)[0] == "no route"
    assert error_lines(validation.with_error("producer.override.acks", "not allowed"))[-1] == "not allowed"


@pytest.mark.parametrize("wanted", ["[", "[2,1]", "(2)", "3.6)", "[3.6.3.Final],[2.3.4.Final]"])
def test_an_invalid_range_is_reported_once(wanted: str) -> None:
    [line] = error_lines(validate({**MINIMAL, "connector.plugin.version": wanted}))
    assert line == f"Invalid version specification: {wanted}, available versions: [2.3.4.Final, 3.6.3.Final, 3.7.0.Final]"


def test_a_converter_that_is_not_there_has_no_version() -> None:
    fields = {field.name: field for field in validate({**MINIMAL, "value.converter": "no.such.Converter"}).fields}
    version = fields["value.converter.plugin.version"]
    assert version.key is not None
    assert (version.key.default, version.value, version.visible) == (None, None, False)


def test_null_values_are_reported_as_by_connect() -> None:
    validation = validate({**MINIMAL, "tasks.max": None, "foo.z": None, "database.port": None, "errors.tolerance": None})
    assert error_lines(validation) == [
        NULL_VALUE,
        "Invalid value null for configuration tasks.max: Value must be non-null",
        NULL_VALUE,
        "Invalid value null for configuration errors.tolerance: String must be one of: none, all",
        NULL_VALUE,
    ]
    assert validation.fields[0].name == "foo.z"
    assert texts(validation, "database.port") == ()


def test_missing_framework_properties_are_reported() -> None:
    validation = validate({"database.dbname": "d", "topic.prefix": "p", "database.hostname": "h", "database.user": "u"})
    assert error_lines(validation) == [
        'Missing required configuration "name" which has no default value.',
        'Missing required configuration "connector.class" which has no default value.',
    ]


def test_an_unsupported_version_is_reported_twice_and_ends_validation() -> None:
    validation = validate({**MINIMAL, "connector.plugin.version": "9", "slot.name": "B"})
    first, second = error_lines(validation)
    assert first == second
    assert first.startswith("Plugin io.debezium.connector.postgresql.PostgresConnector not found")
    assert validation.error_count == 2
    assert len(validation.fields) == 19
    assert validation.groups == ("Common", "Transforms", "Predicates", "Error Handling")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("sourceinfo.struct.maker", "com.example.Maker"),
        ("transaction.metadata.factory", "com.example.Factory"),
    ],
)
def test_unsupported_values_are_refused_with_an_alternative(setting: str, value: str) -> None:
    (text,) = texts(validate({**MINIMAL, setting: value}), setting)
    assert text.startswith(f"The '{setting}' value is invalid: ")
    assert "; use " in text or "; remove the property" in text


@each_case(
    ("setting", "value"),
    [
        ("transforms", ""),
        ("signal.enabled.channels", "source"),
        ("signal.enabled.channels", ""),
        ("notification.enabled.channels", ""),
        ("plugin.name", " PGOUTPUT "),
        ("plugin.name", "decoderbufs"),
        ("plugin.name", "wal2json"),
        ("plugin.name", "wal2json_rds_streaming"),
        ("snapshot.mode", "No_Data"),
        ("topic.naming.strategy", "io.debezium.schema.DefaultTopicNamingStrategy"),
        ("openlineage.integration.enabled", "true"),
        ("queue.provider.type", "chronicle"),
        ("signal.enabled.channels", "source,in-process"),
        ("signal.enabled.channels", "com.example.Channel"),
        ("notification.enabled.channels", "com.example.Channel"),
        ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
        ("header.converter", "org.apache.kafka.connect.storage.StringConverter"),
        ("database.sslfactory", "org.postgresql.ssl.DefaultJavaSSLFactory"),
        ("snapshot.query.mode", "select_all"),
        ("max.queue.size", "20000"),
    ],
)
def test_supported_or_harmless_values_are_accepted(setting: str, value: str) -> None:
    validation = validate({**MINIMAL, setting: value})
    assert (error_lines(validation), warning_lines(validation)) == ([], [])


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("topic.naming.strategy", {"topic.naming.strategy": "io.debezium.schema.SchemaRegexTopicNamingStrategy"}),
        ("converters", {"converters": "isbn", "isbn.type": "com.example.Isbn"}),
        ("post.processors", {"post.processors": "mine", "mine.type": "com.example.Mine"}),
        ("snapshot.mode.custom.name", {"snapshot.mode": "custom", "snapshot.mode.custom.name": "com.example.Mine"}),
    ],
)
def test_java_classes_that_the_reference_looks_for_when_the_task_starts_are_warnings(name: str, settings: dict[str, str]) -> None:
    validation = validate({**MINIMAL, **settings})
    assert error_lines(validation) == []
    [line] = warning_lines(validation)
    assert line.startswith(f"The '{name}' value is invalid: ")
    assert error_lines(validation.strictly()) == [line]
    with pytest.raises(CdcError, match=re.escape(line)):
        parse({"name": "a", **{key: value for key, value in MINIMAL.items() if value is not None}, **settings})


@pytest.mark.parametrize("settings", [{"database.server.name": "old"}, {"table.whitelist": "a.b", "table.include.list": "c.d"}])
def test_both_names_of_a_property_are_taken(settings: dict[str, str]) -> None:
    assert error_lines(validate({**MINIMAL, **settings})) == []


def test_jsonconverters_properties_come_in_with_the_converter() -> None:
    validation = validate({**MINIMAL, "value.converter": "org.apache.kafka.connect.json.JsonConverter"})
    shown = {field.name: field.value for field in validation.fields if field.name.startswith("value.converter.")}
    assert shown == {
        "value.converter.plugin.version": "4.3.0",
        "value.converter.decimal.format": "BASE64",
        "value.converter.converter.type": "value",
        "value.converter.schemas.cache.size": "1000",
        "value.converter.replace.null.with.default": "true",
        "value.converter.schemas.enable": "true",
        "value.converter.schema.content": None,
    }
    assert validation.groups[-2:] == ("Serialization", "Schemas")


def test_every_property_of_the_table_is_a_field() -> None:
    assert {field.name for field in validate(MINIMAL).fields} == {key.name for key in BY_NAME.values() if DEFAULT_VERSION in key.versions}
