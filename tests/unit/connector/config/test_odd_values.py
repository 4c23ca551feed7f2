"""Odd values of properties, as Kafka Connect 4.3.0 with Debezium 3.6.3.Final answers them."""

from __future__ import annotations

from typing import Any

import pytest

from connector.config.validation import FieldValidation, validate
from tests.support.each_case import each_case

TRANSFORMS = "org.apache.kafka.connect.transforms."
JSON = "org.apache.kafka.connect.json.JsonConverter"
CONFIG: dict[str, str | None] = {
    "name": "shop",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "db",
    "database.user": "u",
    "database.dbname": "d",
    "topic.prefix": "p",
}


def fields_of(settings: dict[str, str | None]) -> dict[str, FieldValidation]:
    return {field.name: field for field in validate({**CONFIG, **settings}).fields}


@each_case(
    ("wanted", "found"),
    [
        ("Filter", TRANSFORMS + "Filter"),
        ("JsonConverter", JSON),
        (" Json ", JSON),
        ("HasHeaderKey", TRANSFORMS + "predicates.HasHeaderKey"),
        ("Postgres", CONFIG["connector.class"]),
        (TRANSFORMS + "Cast", TRANSFORMS + "Cast"),
        ("Cast", None),
        ("Key", None),
        ("ByteArrayConverter", None),
    ],
)
def test_a_name_finds_a_class_of_any_kind(wanted: str, found: str | None) -> None:
    field = fields_of({"transforms": "t", "transforms.t.type": wanted})["transforms.t.type"]
    assert field.value == found
    if found == TRANSFORMS + "Filter":
        assert field.errors == ()
    elif found == TRANSFORMS + "Cast":
        assert field.errors == (f"This class is abstract and cannot be created. Did you mean {found}$Key, {found}$Value?",)
    elif found:
        assert field.errors == (f"Class class {found} does not implement the Transformation interface",)
    else:
        assert field.errors == (f"Invalid value {wanted} for configuration transforms.t.type: Class {wanted} could not be found.",)


def test_a_converter_may_not_be_a_class_of_another_kind() -> None:
    found = fields_of({"key.converter": "RegexRouter"})
    assert found["key.converter"].errors == (f"Class class {TRANSFORMS}RegexRouter does not implement the Converter interface",)
    assert found["key.converter.plugin.version"].visible


def test_of_a_step_without_the_predicate_that_it_negates_the_class_is_not_checked() -> None:
    missing = (
        "Config 'transforms.t.negate' was provided but there is no config 'transforms.t.predicate' defining a predicate to be negated."
    )
    step: dict[str, str | None] = {"transforms": "t", "transforms.t.negate": "true"}
    of_another_kind = fields_of({**step, "transforms.t.type": "JsonConverter"})
    assert of_another_kind["transforms.t.type"].errors == (missing,)
    of_no_version = fields_of({**step, "transforms.t.type": TRANSFORMS + "RegexRouter", "transforms.t.plugin.version": "7"})
    assert of_no_version["transforms.t.type"].errors == (missing,)
    assert len(of_no_version["transforms.t.plugin.version"].errors) == 1


def test_options_keep_their_own_groups_below_that_of_the_step() -> None:
    validation = validate({**CONFIG, "transforms": "t", "transforms.t.type": "io.debezium.transforms.outbox.EventRouter"})
    [field] = [each for each in validation.fields if each.name == "transforms.t.table.field.event.id"]
    assert field.key is not None
    assert field.key.group == "Transforms: t: Table"
    assert [group for group in validation.groups if group.startswith("Transforms: t")] == [
        "Transforms: t",
        "Transforms: t: Table",
        "Transforms: t: Router",
        "Transforms: t: Tracing",
    ]


@pytest.mark.parametrize(("value", "shown"), [("\x00", ""), ("\u00a0", "\u00a0"), ("\u2003x ", "\u2003x"), ("\x1fx\t", "x")])
def test_javas_blanks_are_cut_off(value: str, shown: str) -> None:
    step: dict[str, str | None] = {"transforms": "t", "transforms.t.type": TRANSFORMS + "InsertField$Value"}
    assert fields_of({**step, "transforms.t.static.field": value})["transforms.t.static.field"].value == shown


@pytest.mark.parametrize(("value", "wrong"), [("\u00a0", 0), ("\x00", 0), ("", 0), ("a,\x01", 1)])
def test_javas_blanks_are_no_names(value: str, wrong: int) -> None:
    step: dict[str, str | None] = {"transforms": "t", "transforms.t.type": TRANSFORMS + "ReplaceField$Value", "transforms.t.exclude": value}
    assert len(fields_of(step)["transforms.t.exclude"].errors) == wrong


def test_digits_of_all_scripts_are_numbers() -> None:
    found = fields_of({"tasks.max": "\u0663", "heartbeat.interval.ms": "\u0663", "transaction.boundary.interval.ms": "\uff17"})
    assert (found["tasks.max"].value, found["transaction.boundary.interval.ms"].value) == ("3", "7")
    assert found["heartbeat.interval.ms"].errors == ()


@pytest.mark.parametrize(("value", "shown"), [("-0", "0"), ("-007", "-7")])
def test_the_error_of_a_number_shows_the_number(value: str, shown: str) -> None:
    error = f"Invalid value {shown} for configuration tasks.max: Value must be at least 1"
    assert fields_of({"tasks.max": value})["tasks.max"].errors == (error,)


@pytest.mark.parametrize(
    ("value", "right"), [(",", True), ("a=b,", True), ("a=b,,", True), ("a=b=", True), (",a=b", False), ("a=", False), ("a=b, c= ", False)]
)
def test_pairs_are_split_as_by_java(value: str, right: bool) -> None:
    assert (fields_of({"openlineage.integration.job.owners": value})["openlineage.integration.job.owners"].errors == ()) == right


@pytest.mark.parametrize(("value", "right"), [("a,", True), (",", True), (",a", False), (" , ", False), ("a,b", False)])
def test_one_signal_table_is_counted_as_by_java(value: str, right: bool) -> None:
    assert (fields_of({"signal.data.collection": value})["signal.data.collection"].errors == ()) == right


@pytest.mark.parametrize(("value", "wrong"), [(";", 0), ("", 2), (";a:b", 1), ("a:b;;", 0), (";;x", 3)])
def test_key_columns_are_split_as_by_java(value: str, wrong: int) -> None:
    assert len(fields_of({"message.key.columns": value})["message.key.columns"].errors) == wrong


@pytest.mark.parametrize("mode", ["snapshot.mode", "snapshot.locking.mode", "snapshot.query.mode"])
def test_a_name_is_missing_only_for_custom_without_blanks(mode: str) -> None:
    assert len(fields_of({mode: "Custom"})[f"{mode}.custom.name"].errors) == 1
    assert fields_of({mode: "custom "})[f"{mode}.custom.name"].errors == ()
    assert fields_of({mode: "custom", f"{mode}.custom.name": " "})[f"{mode}.custom.name"].errors == ()


@pytest.mark.parametrize(
    ("value", "right"),
    [("false", False), ("a.class.B", False), ("a.classy.B", True), ("throw", False), ("_", False), ("$1", True), ("a.$", True)],
)
def test_a_word_of_java_is_no_class(value: str, right: bool) -> None:
    assert (fields_of({"memory.management.tables.class": value})["memory.management.tables.class"].errors == ()) == right


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        ("5", "[5,5]"),
        ("[5]", "[5,5]"),
        ("[5, 6)", "[5,6)"),
        ("5,6", "[5,6]"),
        ("(,1.0],[1.2,2]", "(,1.0],[1.2,2]"),
        ("", "[,]"),
        ("\u2003x", "[\u2003x,\u2003x]"),
    ],
)
def test_a_range_is_shown_as_by_maven(wanted: str, shown: str) -> None:
    found = fields_of({"key.converter": "Json", "key.converter.plugin.version": wanted})
    error = f"Plugin {JSON} not found that matches the version range {shown}, available versions: [4.3.0, 4.3.0]"
    assert found["key.converter"].errors == found["key.converter.plugin.version"].errors == (error,)


def test_two_versions_without_brackets_are_a_range() -> None:
    assert fields_of({"key.converter": "Json", "key.converter.plugin.version": "4,5"})["key.converter"].errors == ()


@pytest.mark.parametrize("converter", [{}, {"key.converter": "Json"}])
def test_an_unreadable_range_is_an_error_of_the_version_only(converter: dict[str, str | None]) -> None:
    found = fields_of({**converter, "key.converter.plugin.version": "[4"})
    assert (len(found["key.converter"].errors), len(found["key.converter.plugin.version"].errors)) == (0, 1)


def test_the_version_of_the_workers_converter_is_not_looked_for() -> None:
    assert fields_of({"key.converter.plugin.version": "7"})["key.converter.plugin.version"].errors == ()


def test_a_null_converter_has_no_versions() -> None:
    field = fields_of({"header.converter": None})["header.converter.plugin.version"]
    assert (field.value, field.recommended, field.visible) == ("4.3.0", (), False)


def test_without_the_connectors_class_its_plugins_are_unknown() -> None:
    found = fields_of({"connector.plugin.version": "7", "value.converter": "Json", "slot.name": None, "tasks.max": "2"})
    shown = [found[name] for name in ("key.converter", "key.converter.plugin.version", "value.converter", "value.converter.plugin.version")]
    assert [(field.value, field.recommended, field.visible) for field in shown] == [
        (None, (), True),
        (None, (), False),
        (JSON, (), True),
        (None, (), True),
    ]
    assert all(field.key is not None and field.key.default is None for field in shown)
    assert "slot.name" in found
    assert "database.hostname" not in found


@pytest.mark.parametrize("value", ["KEY", "x", ""])
def test_a_converter_has_one_of_three_types(value: str) -> None:
    field = fields_of({"key.converter": "String", "key.converter.converter.type": value})["key.converter.converter.type"]
    assert field.errors == (f"Invalid value {value} for configuration converter.type: String must be one of: key, value, header",)


def overrides(settings: dict[str, str | None]) -> list[tuple[str, Any]]:
    shown = [field for field in validate({**CONFIG, **settings}).fields if ".override." in field.name]
    return [(field.name, field.key and (field.key.type, field.key.importance, field.key.default)) for field in shown]


def test_a_topic_of_its_own_for_offsets_brings_the_overrides_of_all_clients() -> None:
    given: dict[str, str | None] = {f"{client}.override.client.id": "x" for client in ("admin", "consumer", "producer")}
    given["consumer.override.max.poll.records"] = "5"
    assert [name for name, _ in overrides(given)] == ["producer.override.client.id"]
    assert overrides({**given, "offsets.storage.topic": "o"}) == [
        ("producer.override.client.id", ("STRING", "MEDIUM", "")),
        ("consumer.override.max.poll.records", ("INT", "MEDIUM", "500")),
        ("consumer.override.client.id", ("STRING", "LOW", "")),
        ("admin.override.client.id", ("STRING", "MEDIUM", "")),
    ]


def test_overrides_in_one_bucket_of_javas_map_have_the_order_of_the_whole_configuration() -> None:
    given: dict[str, str | None] = {f"producer.override.{name}": "1" for name in ("unknown", "linger.ms", "foo", "max.block.ms")}
    order = [name.removeprefix("producer.override.") for name, _ in overrides(given)]
    assert order == ["max.block.ms", "foo", "unknown", "linger.ms"]


def test_overrides_come_before_the_properties_of_converters() -> None:
    names = list(fields_of({"key.converter": "Json", "producer.override.acks": "1"}))
    assert names.index("producer.override.acks") < names.index("key.converter.schemas.enable")


def test_the_error_of_null_comes_after_that_of_the_predicate() -> None:
    errors = fields_of({"transforms": "t", "transforms.t.type": None, "transforms.t.negate": "true"})["transforms.t.type"].errors
    assert [error.split(" ", 1)[0] for error in errors] == ["Config", "Null"]


@pytest.mark.parametrize(("value", "wrong"), [(",", 0), ("c,", 0), (",c", 1), ("c,,u", 1), ("", 1)])
def test_operations_are_split_as_by_java(value: str, wrong: int) -> None:
    assert len(fields_of({"skipped.operations": value})["skipped.operations"].errors) == wrong


def test_an_unreadable_range_is_an_error_beside_an_unknown_converter() -> None:
    found = fields_of({"key.converter": "nope", "key.converter.plugin.version": "[4"})
    assert len(found["key.converter.plugin.version"].errors) == 1


def test_of_a_class_with_blanks_around_its_name_the_version_is_checked_too() -> None:
    found = fields_of({"transforms": "t", "transforms.t.type": f" {TRANSFORMS}RegexRouter", "transforms.t.plugin.version": "7"})
    assert (len(found["transforms.t.type"].errors), found["transforms.t.plugin.version"].errors) == (1, ())
