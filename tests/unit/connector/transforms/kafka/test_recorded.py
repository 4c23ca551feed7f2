"""Kafka's transforms and predicates do what those of Kafka Connect 4.3 (3.9 for 2.3.4) did with the same options and records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from connector.configdef.options import OptionError, Options
from connector.emulation import DEBEZIUM_2_3_4, DEFAULT, Emulation
from connector.record.connect_record import DataError
from connector.transforms.kafka import filter as filters
from connector.transforms.kafka import predicates, regex_router, set_schema_metadata, timestamp_converter, timestamp_router
from connector.transforms.kafka.fields import (
    cast,
    extract_field,
    flatten,
    hoist_field,
    insert_field,
    mask_field,
    replace_field,
    value_to_key,
)
from connector.transforms.kafka.headers import drop_headers, header_from, insert_header
from connector.transforms.transform import PredicateDefinition, TransformDefinition
from tests.support.each_case import each_case
from tests.support.recorded_transforms import UNREADABLE, fits, is_unreadable, of_checks, problems, record_of, reported

RECORDED: Final[dict[str, Any]] = json.loads((Path(__file__).parent / "kafka_recorded.json").read_text(encoding="utf-8"))
PACKAGE: Final = "org.apache.kafka.connect.transforms."
MODULES: Final = (
    cast,
    drop_headers,
    extract_field,
    filters,
    flatten,
    header_from,
    hoist_field,
    insert_field,
    insert_header,
    mask_field,
    regex_router,
    replace_field,
    set_schema_metadata,
    timestamp_converter,
    timestamp_router,
    value_to_key,
)
DEFINITIONS: Final[dict[str, TransformDefinition | PredicateDefinition]] = {
    each.name.removeprefix(PACKAGE): each for each in (*(one for module in MODULES for one in module.DEFINITIONS), *predicates.PREDICATES)
}
RECORDS: Final = {name: record_of(spec) for name, spec in RECORDED["records"].items()}
WORK_HERE: Final = frozenset({"Cast$Value", "MaskField$Value"})
"""Transforms whose result none of Connect's converters can write in some cases: docs/differences.md lists them."""
TEXTS: Final = {text: place for place, text in enumerate(RECORDED["texts"])}


def cases() -> Iterator[Any]:
    older = {at: answer for at, *answer in RECORDED["until_2"]}
    for at, (name, options, records, *answer) in enumerate(RECORDED["cases"]):
        label = f"{name}-{json.dumps(options)}"
        yield pytest.param(DEFAULT, name, options, records, answer, id=label)
        yield pytest.param(DEBEZIUM_2_3_4, name, options, records, older.get(at, answer), id=f"{label}-3.9")


def made(definition: TransformDefinition | PredicateDefinition, options: dict[str, str], emulation: Emulation) -> Any:
    return definition.make(Options(definition.keys, options, emulation))


@each_case("version", [DEFAULT.version, DEBEZIUM_2_3_4.version])
@each_case("name", RECORDED["options"])
def test_options_are_listed_as_connect_lists_them(name: str, version: str) -> None:
    recorded = RECORDED["options"][name]
    if version == DEBEZIUM_2_3_4.version:
        recorded = RECORDED["options_until_2"].get(name, recorded)
    listed = [
        [
            key.name,
            key.type_in(version),
            "required" if key.required else key.default,
            key.importance,
            key.width,
            key.fixed_order,
            key.display,
        ]
        for key in DEFINITIONS[name].keys
        if version in key.versions
    ]
    assert listed == recorded
    assert not any(key.group or key.dependents for key in DEFINITIONS[name].keys)


def test_every_class_of_the_reference_is_there() -> None:
    assert DEFINITIONS.keys() == RECORDED["options"].keys()


@each_case(("emulation", "name", "options", "records", "answer"), list(cases()))
def test_answers_are_those_of_the_reference(
    emulation: Emulation, name: str, options: dict[str, str], records: list[str], answer: list[Any]
) -> None:
    definition = DEFINITIONS[name]
    wrong, results = answer
    assert problems(definition.keys, options, emulation) == of_checks(wrong)
    if isinstance(results, dict):
        with pytest.raises(OptionError):
            made(definition, options, emulation)
        return
    try:
        step = made(definition, options, emulation)
    except OptionError:
        # The reference finds it at the first record.
        assert all(isinstance(result, int) for result in results), results
        return
    for each, wanted in zip(records, results, strict=True):
        record = RECORDS[each]
        if isinstance(wanted, bool):
            assert step.test(record) == wanted, each
        elif isinstance(wanted, int):
            with pytest.raises(DataError):
                pytest.fail(f"{each} should fail: {RECORDED['texts'][wanted]}, not {reported(step.apply(record), TEXTS)}")
        else:
            after = step.apply(record)
            if name in WORK_HERE and is_unreadable(wanted):
                assert after is not None
                assert reported(after, TEXTS)["value"][0] == wanted["value"][0]
                assert reported(after, TEXTS)["value"][1] != UNREADABLE
                continue
            assert fits(wanted, record, after, TEXTS), (each, wanted, after and reported(after, TEXTS))


@each_case(
    ("name", "options"),
    [
        ("Cast$Value", {"spec": "id:string"}),
        ("ExtractField$Value", {"field": "s"}),
        ("Flatten$Value", {}),
        ("HeaderFrom$Value", {"fields": "id", "headers": "h", "operation": "move"}),
        ("HoistField$Value", {"field": "w"}),
        ("InsertField$Value", {"topic.field": "t"}),
        ("MaskField$Value", {"fields": "id"}),
        ("ReplaceField$Value", {"exclude": "id"}),
        ("SetSchemaMetadata$Value", {"schema.name": "n"}),
        ("TimestampConverter$Value", {"field": "ts", "target.type": "unix"}),
        ("ValueToKey", {"fields": "id"}),
    ],
)
def test_one_schema_is_made_of_each_schema(name: str, options: dict[str, str]) -> None:
    step = made(DEFINITIONS[name], options, DEFAULT)
    first, second = step.apply(RECORDS["row"]), step.apply(RECORDS["odd"])
    assert first.value_schema is second.value_schema
    assert name != "ValueToKey" or first.key_schema is second.key_schema
