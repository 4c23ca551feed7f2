"""The options of every transform, predicate and converter, against what Connect 4.3 with Debezium 3.6.3 and 3.9 with 2.3.4 list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from connector.config.keys.plugin_classes import TRANSFORMATIONS
from connector.configdef.key import Key
from connector.transforms.catalog import PREDICATES, TRANSFORMS, transforms_of
from tests.support.each_case import each_case

RECORDED: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("plugins_recorded.json").read_text())
VERSIONS: Final = ("3.6.3.Final", "2.3.4.Final")
SINCE_3_7: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("options_3_7_recorded.json").read_text())
"""The options of Debezium's transforms in 3.7.0.Final, by class."""


def row(key: Key) -> list[object]:
    return [
        key.name,
        key.type,
        key.required,
        key.default,
        key.importance,
        key.group or None,
        key.fixed_order,
        key.width,
        key.display,
    ]


def listed(version: str, kind: str) -> list[str]:
    return [name for name, listed, _ in RECORDED[version]["plugins"] if listed == kind]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_transform_that_the_reference_lists_is_there(version: str) -> None:
    assert set(listed(version, "transformation")) <= {definition.name for definition in transforms_of(version)}
    assert set(listed(version, "predicate")) == set(PREDICATES)


def test_the_recommended_transforms_of_3_7_are_the_listed_ones() -> None:
    assert list(TRANSFORMATIONS["3.7.0.Final"]) == listed("3.7.0.Final", "transformation")


@each_case(("version", "name"), [(version, name) for version in VERSIONS for name in listed(version, "transformation")])
def test_the_options_are_the_recorded_ones(version: str, name: str) -> None:
    assert [row(key) for key in TRANSFORMS[name].keys_in(version)] == RECORDED[version]["keys"][name]


def test_3_7_has_these_transforms() -> None:
    of_debezium = {each.name for each in transforms_of("3.7.0.Final") if each.name.startswith("io.debezium.")}
    # Both are in a package of their own, debezium-scripting.
    assert of_debezium - {"io.debezium.transforms.Filter", "io.debezium.transforms.ContentBasedRouter"} == set(SINCE_3_7)


@each_case("name", SINCE_3_7)
def test_the_options_of_3_7_are_the_recorded_ones(name: str) -> None:
    assert sorted(row(key) for key in TRANSFORMS[name].keys_in("3.7.0.Final")) == sorted(SINCE_3_7[name])


@pytest.mark.parametrize("name", listed(VERSIONS[0], "predicate"))
def test_the_options_of_predicates_are_the_recorded_ones(name: str) -> None:
    assert [row(key) for key in PREDICATES[name].keys] == RECORDED[VERSIONS[0]]["keys"][name]


def test_every_option_is_documented() -> None:
    assert [name for name, definition in TRANSFORMS.items() if not definition.doc or not all(key.doc for key in definition.keys)] == []
