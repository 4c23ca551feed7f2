"""Transformations, predicates, converters and overrides that a configuration names: their rows and what is said of them."""

from __future__ import annotations

import pytest

from connector.config.keys.plugin_classes import CONVERTERS, HEADER_CONVERTERS, TRANSFORMATIONS, class_version
from connector.config.validation import FieldValidation, Validation, error_lines, validate
from connector.configdef.class_names import find_class
from connector.configdef.kafka_validators import NULL_VALUE
from connector.emulation import DEBEZIUM_2_3_4, DEBEZIUM_3_6_3

EARLIER = DEBEZIUM_2_3_4.version
LATER = DEBEZIUM_3_6_3.version
MINIMAL: dict[str, str | None] = {
    "name": "shop",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "db",
    "database.user": "u",
    "database.dbname": "d",
    "topic.prefix": "p",
}
ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"


def named(validation: Validation, prefix: str) -> dict[str, FieldValidation]:
    return {field.name: field for field in validation.fields if field.name.startswith(prefix)}


def test_an_unknown_class_has_only_connects_line() -> None:
    config = {**MINIMAL, "transforms": "u", "transforms.u.type": "no.such.Smt"}
    assert error_lines(validate(config)) == [
        "Invalid value no.such.Smt for configuration transforms.u.type: Class no.such.Smt could not be found."
    ]


ROUTE: dict[str, str | None] = {"transforms": "route", "transforms.route.regex": "(.*)", "transforms.route.replacement": "$1"}


@pytest.mark.parametrize("wanted", [ROUTER, "RegexRouter"])
def test_a_known_class_brings_its_options(wanted: str) -> None:
    validation = validate({**MINIMAL, **ROUTE, "transforms.route.type": wanted})
    assert error_lines(validation) == []
    shown = named(validation, "transforms.route.")
    assert {name.removeprefix("transforms.route."): field.value for name, field in shown.items()} == {
        "type": ROUTER,
        "plugin.version": "4.3.0",
        "regex": "(.*)",
        "replacement": "$1",
        "negate": "false",
        "predicate": None,
    }


def test_a_wrong_option_is_named_as_kafka_names_it() -> None:
    config = {**MINIMAL, **ROUTE, "transforms.route.type": ROUTER, "transforms.route.regex": "(", "transforms.route.negate": "x"}
    config |= {"transforms.route.predicate": "p"}
    del config["transforms.route.replacement"]
    assert error_lines(validate(config)) == [
        "Invalid value ( for configuration regex: Invalid regex: Unclosed group near index 1\n(",
        'Missing required configuration "transforms.route.replacement" which has no default value.',
        "Invalid value x for configuration transforms.route.negate: Expected value to be either true or false",
    ]


@pytest.mark.parametrize("kind", [ROUTER, "shop.transforms:Mine"])
@pytest.mark.parametrize("negate", ["true", "false"])
def test_negate_without_a_predicate_is_an_error_of_the_class(kind: str, negate: str) -> None:
    config = {**MINIMAL, **ROUTE, "transforms.route.type": kind, "transforms.route.negate": negate}
    [line] = error_lines(validate(config))
    assert line.startswith("Config 'transforms.route.negate' was provided but there is no config 'transforms.route.predicate' defining ")
    assert error_lines(validate({**config, "transforms.route.predicate": "p"})) == []


def test_a_class_of_the_users_own_is_not_looked_for() -> None:
    config = {**MINIMAL, "transforms": "mine", "transforms.mine.type": "shop.transforms:Mine", "transforms.mine.x": "1"}
    assert error_lines(validate(config)) == []
    assert error_lines(validate({**MINIMAL, "key.converter": "shop.converters:Mine"})) == []


def test_predicates_count_only_for_transforms_and_are_taken() -> None:
    config = {**MINIMAL, "predicates": "t,h", "predicates.t.type": "RecordIsTombstone", "predicates.h.type": "HasHeaderKey"}
    assert error_lines(validate({**config, "predicates.h.name": "x"})) == []
    assert error_lines(validate(config)) == ['Missing required configuration "predicates.h.name" which has no default value.']


def test_a_repeated_name_is_refused_and_listed_once() -> None:
    validation = validate({**MINIMAL, "predicates": "a, a", "predicates.a.type": "RecordIsTombstone"})
    assert error_lines(validation) == ["Invalid value [a, a] for configuration predicates: Duplicate alias provided."]
    assert list(named(validation, "predicates.")) == ["predicates.a.type", "predicates.a.plugin.version"]


def test_null_is_no_type() -> None:
    validation = validate({**MINIMAL, "transforms": "t", "transforms.t.type": None})
    assert error_lines(validation) == [NULL_VALUE]


@pytest.mark.parametrize(("wanted", "errors"), [("4.3.0", 0), ("latest", 0), ("[4,5)", 0), ("9", 2)])
def test_an_unknown_version_is_reported_at_both_properties(wanted: str, errors: int) -> None:
    config = {**MINIMAL, **ROUTE, "transforms.route.type": ROUTER, "transforms.route.plugin.version": wanted}
    validation = validate(config)
    assert validation.error_count == errors
    assert any("not found that matches the version range [9,9]" in line for line in error_lines(validation)) == (errors == 2)


def test_each_version_brings_its_own_classes() -> None:
    config = {**MINIMAL, "transforms": "t", "transforms.t.type": "io.debezium.transforms.partitions.ComputePartition"}
    assert "could not be found" in error_lines(validate(config))[0]
    former = validate({**config, "connector.plugin.version": EARLIER})
    assert not any("could not be found" in line for line in error_lines(former))
    assert named(former, "transforms.t.plugin")["transforms.t.plugin.version"].value == "undefined"


def test_a_class_is_found_by_the_names_that_only_it_has() -> None:
    assert find_class("JsonConverter", CONVERTERS, "Converter") == find_class("Json", CONVERTERS, "Converter")
    assert find_class("ByteArrayConverter", CONVERTERS, "Converter") is None
    assert find_class("Simple", HEADER_CONVERTERS, "HeaderConverter", "Converter") == HEADER_CONVERTERS[-2]
    assert find_class("Value", TRANSFORMATIONS[LATER], "Transformation") is None
    assert find_class("", CONVERTERS, "Converter") is None
    assert class_version(CONVERTERS[0], LATER) == LATER


@pytest.mark.parametrize("name", ["Json", "JsonConverter"])
def test_a_converter_may_have_its_short_name(name: str) -> None:
    validation = validate({**MINIMAL, "key.converter": name, "key.converter.schemas.enable": "false"})
    assert error_lines(validation) == []
    assert named(validation, "key.converter.schemas.enable")["key.converter.schemas.enable"].value == "false"


def test_a_class_of_another_kind_is_no_converter() -> None:
    validation = validate({**MINIMAL, "value.converter": ROUTER, "header.converter": ROUTER})
    assert error_lines(validation) == [
        f"Class class {ROUTER} does not implement the Converter interface",
        f"Class class {ROUTER} does not implement the HeaderConverter interface",
    ]


def test_overrides_are_listed_with_their_definitions() -> None:
    config = {**MINIMAL, "producer.override.linger.ms": " 7 ", "producer.override.sasl.jaas.config": "s3cret", "producer.override.x": "y"}
    validation = validate({**config, "admin.override.retries": "1"})
    reported = named(validation, "producer.override.")
    assert {name.removeprefix("producer.override."): field.value for name, field in reported.items()} == {
        "linger.ms": "7",
        "sasl.jaas.config": "[hidden]",
        "x": "y",
    }
    assert reported["producer.override.x"].key is None
    assert (key := reported["producer.override.linger.ms"].key) is not None
    assert (key.type, key.default, key.importance) == ("LONG", "5", "MEDIUM")
    assert named(validation, "admin.") == {}
    assert validation.error_count == 0


def test_the_admin_clients_overrides_are_listed_if_topics_are_created() -> None:
    config = {**MINIMAL, "admin.override.retries": "x", "topic.creation.default.partitions": "1"}
    assert error_lines(validate(config)) == ["Invalid value x for configuration admin.override.retries: Not a number of type INT"]


@pytest.mark.parametrize(
    ("name", "value", "shown", "wrong"),
    [
        ("refresh.buffer.seconds", " +300", "300", "99999"),
        ("refresh.min.period.seconds", "60", "60", "1.5"),
        ("refresh.window.factor", "8e-1", "0.8", "abc"),
        ("refresh.window.jitter", ".05d", "0.05", ""),
        ("refresh.window.jitter", "NaN", "NaN", "nan"),
    ],
)
def test_small_and_broken_numbers_have_their_types(name: str, value: str, shown: str, wrong: str) -> None:
    key = f"producer.override.sasl.login.{name}"
    [field] = named(validate({**MINIMAL, key: value}), key).values()
    assert (field.value, field.errors) == (shown, ())
    kind = "SHORT" if name.endswith("seconds") else "DOUBLE"
    assert error_lines(validate({**MINIMAL, key: wrong})) == [f"Invalid value {wrong} for configuration {key}: Not a number of type {kind}"]


@pytest.mark.parametrize("letter", [0, 31, 127, 128, 159])
def test_a_name_without_control_characters(letter: int) -> None:
    problem = f"String may not contain control sequences but had the following ASCII chars: {letter}"
    [line] = error_lines(validate({**MINIMAL, "name": f"a{chr(letter)}b"}))
    assert line.endswith(problem)
    assert error_lines(validate({**MINIMAL, "name": "a\u00a0b"})) == []


@pytest.mark.parametrize(
    ("wrong", "current", "former"),
    [
        ({"tasks.max": "0"}, True, True),
        ({"transforms": "t"}, True, True),
        ({"max.batch.size": None}, True, True),
        ({"max.batch.size": "x"}, False, True),
        ({"topic.prefix": "a b"}, False, False),
        ({"database.port": "x"}, False, False),
        ({"slot.name": "B"}, False, False),
    ],
)
def test_when_the_database_is_looked_at(wrong: dict[str, str | None], current: bool, former: bool) -> None:
    config = {**MINIMAL, **wrong}
    assert validate(config).may_connect == current
    assert validate({**config, "connector.plugin.version": EARLIER}).may_connect == former


def test_the_look_gets_what_can_be_read() -> None:
    config = {**MINIMAL, "name": None, "tasks.max": "0", "transforms": "t", "table.include.list": "public.a"}
    readable = validate(config).readable(config)
    assert readable["table.include.list"] == "public.a"
    assert readable["name"]
    assert not {"tasks.max", "transforms"} & readable.keys()
    assert error_lines(validate(readable)) == []


def test_a_former_name_is_answered_with_the_present_one() -> None:
    name = "io.debezium.transforms.UnwrapFromEnvelope"
    [error] = error_lines(validate({**MINIMAL, "transforms": "u", "transforms.u.type": name}))
    assert error.endswith(
        f"Class {name} could not be found. Debezium renamed it to io.debezium.transforms.ExtractNewRecordState; use that name."
    )


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("ReplaceField$Value", {"exclude": "a,a"}),
        ("ReplaceField$Value", {"exclude": "a,"}),
        ("MaskField$Value", {"fields": "x,x"}),
        ("MaskField$Value", {"fields": "id,"}),
        ("DropHeaders", {"headers": "h,h"}),
    ],
)
def test_lists_are_checked_as_the_emulated_connect_does(kind: str, options: dict[str, str]) -> None:
    config = {**MINIMAL, "transforms": "t", "transforms.t.type": f"org.apache.kafka.connect.transforms.{kind}"}
    config |= {f"transforms.t.{name}": value for name, value in options.items()}
    assert len(error_lines(validate(config))) == 1
    assert error_lines(validate({**config, "connector.plugin.version": EARLIER})) == []
