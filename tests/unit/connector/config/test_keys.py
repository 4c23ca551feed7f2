"""The table against the ConfigDefs that live workers showed, and against itself."""

import json
import re
from pathlib import Path

import pytest

from connector.config.keys import (
    ALIASES,
    BY_NAME,
    FAMILIES,
    KEYS,
    BadVersionError,
    Key,
    family_of,
    groups,
    keys_in,
    order_in_group,
    select_version,
)
from connector.emulation import DEBEZIUM_2_3_4, DEBEZIUM_3_6_3, DEBEZIUM_3_7_0
from tests.support.each_case import each_case

EARLIER = DEBEZIUM_2_3_4.version
LATER = DEBEZIUM_3_6_3.version
LATEST = DEBEZIUM_3_7_0.version
RECORDED = json.loads((Path(__file__).parent / "keys_recorded.json").read_text())
# Kafka Connect 4.3 is emulated with either version. The recording of 2.3.4 comes from a Connect 3.9.
CONVERTER_VERSIONS = {"connector.plugin.version"} | {f"{kind}.converter.plugin.version" for kind in ("key", "value", "header")}


def definition(key: Key, version: str) -> list[object]:
    kind = key.type_in(version)
    return [
        key.name,
        kind,
        key.default,
        key.importance,
        key.group,
        order_in_group(version)[key.name],
        key.width,
        key.display,
        key.required,
        list(key.dependents),
        list(key.choices_in(version)),
        key.visible,
    ]


def test_the_table_lists_what_debezium_3_lists() -> None:
    expected = [row[:-1] for row in RECORDED[LATER]["keys"]]
    # One worker here emulates all versions.
    expected[2][10] = [EARLIER, LATER, LATEST]

    assert [definition(key, LATER) for key in keys_in(LATER)] == expected
    assert list(groups(LATER)) == RECORDED[LATER]["groups"]


def test_the_table_lists_what_debezium_3_7_lists() -> None:
    rows = [row[:-1] for row in RECORDED[LATEST]["keys"]]
    own = [key for key in keys_in(LATEST) if not key.framework]

    assert [definition(key, LATEST) for key in own] == [row for row in rows if row[0] in {key.name for key in own}]
    assert [key.name for key in keys_in(LATEST)] == [row[0] for row in rows]
    assert list(groups(LATEST)) == RECORDED[LATEST]["groups"]


def test_the_table_lists_what_debezium_2_lists() -> None:
    rows = [row[:-1] for row in RECORDED[EARLIER]["keys"]]
    own = [key for key in keys_in(EARLIER) if not key.framework]

    assert [definition(key, EARLIER) for key in own] == [row for row in rows if row[4] in ("Postgres", "Connector", "Events")]
    assert {key.name for key in keys_in(EARLIER)} - {row[0] for row in rows} == CONVERTER_VERSIONS
    assert list(groups(EARLIER)) == RECORDED[EARLIER]["groups"]


def test_names_and_attributes_are_unique() -> None:
    assert len({key.name for key in KEYS}) == len(KEYS)
    assert len({key.attribute for key in KEYS}) == len(KEYS)


@each_case("key", KEYS, ids=lambda key: key.name)
def test_a_row_is_whole(key: Key) -> None:
    assert re.fullmatch(r"[A-Z`].*\.", key.doc), "documentation is made of sentences"
    assert key.support == "honoured" or key.reason, "what is not honoured says why"
    assert key.reason == "" or (key.reason[0].isupper() and not key.reason.endswith(".")), "a reason is put into a sentence"
    assert key.default is None or not key.enumerated or key.default.lower() in key.choices
    assert key.support != "ignored" or key.allowed is None
    assert key.group


@each_case("alias", ALIASES, ids=lambda alias: alias.old)
def test_an_alias_leads_to_a_row(alias: object) -> None:
    assert alias in ALIASES
    found = next(entry for entry in ALIASES if entry is alias)
    assert found.new in BY_NAME
    assert found.known == (found.old in BY_NAME) or found.old.startswith("internal.")
    for _, present in found.values:
        choices = BY_NAME[found.new].choices
        assert not choices or present in choices


@each_case(
    ("name", "shown"),
    [
        ("column.mask.with.12.chars", "column.mask.with.<length>.chars"),
        ("column.truncate.to.3.chars", "column.truncate.to.<length>.chars"),
        ("column.mask.hash.SHA-256.with.salt.a.b", "column.mask.hash.<algorithm>.with.salt.<salt>"),
        ("column.mask.hash.v2.SHA-256.with.salt.a.b", "column.mask.hash.v2.<algorithm>.with.salt.<salt>"),
        ("snapshot.select.statement.overrides.public.t", "snapshot.select.statement.overrides.<schema>.<table>"),
        ("topic.creation.default.partitions", "topic.creation.<group>.<setting>"),
        ("producer.override.linger.ms", "producer.override.<setting>"),
        ("database.history.kafka.topic", "schema.history.internal.<setting>, database.history.<setting>"),
        ("database.ApplicationName", "driver.<setting>, database.<setting>"),
        ("driver.ApplicationName", "driver.<setting>, database.<setting>"),
    ],
)
def test_a_name_of_the_users_own_finds_its_family(name: str, shown: str) -> None:
    family = family_of(name)
    assert family is not None
    assert family.shown == shown


def test_families_that_do_nothing_say_why() -> None:
    assert [family.shown for family in FAMILIES if family.support != "honoured" and not family.reason] == []
    assert family_of("no.such.property") is None


@each_case(
    ("wanted", "version"),
    [
        (None, LATER),
        ("latest", LATER),
        ("3.6.3.Final", LATER),
        ("3.6.3", LATER),
        (" 2.3.4.Final ", EARLIER),
        ("[3.6.3.Final]", LATER),
        ("3.7.0.Final", LATEST),
        ("3.7", LATEST),
        ("[3.7,4)", LATEST),
        ("[3.0,3.7)", LATER),
        ("[3.0,)", LATEST),
        ("[2.0,3.0)", EARLIER),
        ("(,3.6.3)", EARLIER),
        ("(,3.6.3]", LATER),
        ("(2.3.4,4)", LATEST),
        ("[2.3.4,2.4],[9,)", EARLIER),
        ("[2.3.4.Final]", EARLIER),
        ("[2.3,2.4)", EARLIER),
        ("[ 2.3 , 2.4 ) ", EARLIER),
        ("[2.3,2.4),", EARLIER),
        ("2.3.4.final", EARLIER),
        ("[2.3.4-SNAPSHOT,3)", EARLIER),
        ("[2.3.4.Final,3.6.3.Final)", EARLIER),
        ("[2.3.4.Final,3.6.3.Final]", LATER),
        ("[1,2][3,4]", LATEST),
        ("[,]", LATEST),
        ("(,)", LATEST),
        ("3.6.3.Final.0", LATER),
    ],
)
def test_a_version_range_selects_the_newest_supported_version(wanted: str | None, version: str) -> None:
    assert select_version(wanted) == version


@each_case(
    ("wanted", "shown"),
    [
        ("9", "[9,9]"),
        ("", "[,]"),
        ("abc", "[abc,abc]"),
        ("LATEST", "[LATEST,LATEST]"),
        ("[3.0,3.5]", "[3.0,3.5]"),
        ("(3.7,)", "(3.7,)"),
        ("(2.3.4,3.6.3)", "(2.3.4,3.6.3)"),
        ("[2.3.4.1,3)", "[2.3.4.1,3)"),
        ("2.x", "[2.x,2.x]"),
    ],
)
def test_an_unsupported_version_is_reported_with_connects_message(wanted: str, shown: str) -> None:
    with pytest.raises(BadVersionError) as caught:
        select_version(wanted)
    assert str(caught.value) == (
        "Plugin io.debezium.connector.postgresql.PostgresConnector not found that matches the version range "
        f"{shown}, available versions: [2.3.4.Final, 3.6.3.Final, 3.7.0.Final]"
    )
    assert not caught.value.unreadable


@each_case(
    "wanted", ["[", "[1,2", "[2,1]", "(2)", "()", "3.6)", "3,2", "(2.3,2.3)", "[2.3,2.3)", "[3.6.3],[2.3.4]", "[2,3.6],(,3]", "[1]x"]
)
def test_a_range_that_maven_refuses_is_reported(wanted: str) -> None:
    with pytest.raises(BadVersionError, match=r"^Invalid version specification: ") as caught:
        select_version(wanted)
    assert caught.value.unreadable
