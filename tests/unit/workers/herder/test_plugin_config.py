"""Properties of plugins and checked configurations, against what a Connect 4.3 with Debezium 2.3.4 and 3.6.3 answered."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from connect_api import models
from connect_api.herder import ConfigKey, HerderError
from connector.config.redacted_validation import of_reference
from connector.config.validation import Validation, refusals, validate
from connector.preflight.finding import Finding
from tests.support.each_case import each_case
from tests.support.herder_bench import CLASS, CONFIG, UNKNOWN_CLASS, Bench, worker
from tests.support.project import ROOT
from workers.herder.configuration_check import ConfigurationCheck
from workers.herder.plugin_config import config_infos, plugin_config

KEYS = ROOT / "tests" / "unit" / "connector" / "config" / "keys_recorded.json"
LISTED = ROOT / "tests" / "unit" / "connector" / "transforms" / "plugins_recorded.json"
KINDS = ("source", "transformation", "predicate", "converter", "header_converter")
RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("plugin_config_recorded.json").read_text())


DEFINITION = (
    "name", "type", "default_value", "importance", "group", "order_in_group", "width", "display_name", "required", "dependents",
)  # fmt: skip
VALUE = ("recommended_values", "visible", "value")


async def nothing_found(_config: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
    return ()


def without_refusals(validation: Validation, config: Mapping[str, str | None]) -> Validation:
    """The same without what only this worker refuses."""
    own = {line for field in validation.fields if field.key and (sent := config.get(field.name)) for line in refusals(field.key, sent)}
    kept = [dataclasses.replace(field, errors=tuple(e for e in field.errors if e not in own)) for field in validation.fields]
    return dataclasses.replace(validation, fields=tuple(kept))


@each_case("plugin", RECORDED["keys"])
def test_properties_are_the_recorded_ones(plugin: str) -> None:
    name, version = plugin.split()
    found = plugin_config(name, version)
    rows = [[getattr(key, member) for member in RECORDED["members"]] for key in found]
    assert [[list(value) if isinstance(value, tuple) else value for value in row] for row in rows] == RECORDED["keys"][plugin]
    assert all(key.documentation for key in found)


@pytest.mark.parametrize("emulated", ["2.3.4.Final", "3.6.3.Final", "3.7.0.Final"])
async def test_the_plugins_are_listed_as_recorded_and_each_has_properties(emulated: str) -> None:
    async with worker(properties={"connector.plugin.version": emulated}) as bench:
        listed = [[plugin.class_name, plugin.type, plugin.version] for plugin in bench.herder.plugins(connectors_only=False)]
        for name, _, version in listed:
            assert name is not None
            assert bench.herder.plugin_config(name, version) is not None
    # 2.3.4.Final was recorded with Kafka Connect 3.9.
    recorded = json.loads(LISTED.read_text().replace('"3.9.1"', '"4.3.0"'))[emulated]["plugins"]
    assert [each for each in listed if each in recorded] == recorded
    # What the reference has with further jars stands in its place in the same order.
    assert listed == sorted(listed, key=lambda each: (KINDS.index(each[1]), each[0]))


@pytest.mark.parametrize("alias", ["PostgresConnector", "Postgres"])
def test_a_plugin_has_short_names_and_its_latest_version_counts(alias: str) -> None:
    assert plugin_config(alias, None) == plugin_config(alias, "latest") == plugin_config(CLASS, "3.6.3.Final")
    assert plugin_config(alias, "[2.3,2.4)") == plugin_config(CLASS, "2.3.4.Final") != plugin_config(CLASS, None)


async def test_the_worker_s_version_is_the_default() -> None:
    def without_version(keys: Sequence[ConfigKey]) -> list[ConfigKey]:
        return [key for key in keys if key.name != "connector.plugin.version"]

    async with worker(properties={"connector.plugin.version": "2.3.4.Final"}, check=ConfigurationCheck(nothing_found)) as bench:
        own = bench.herder.plugin_config(CLASS, None)
        assert own == bench.herder.plugin_config(CLASS, "latest")
        assert without_version(own) == without_version(plugin_config(CLASS, "2.3.4.Final"))
        assert without_version(bench.herder.plugin_config(CLASS, "3.6.3.Final")) == without_version(plugin_config(CLASS, None))
        checked = await bench.herder.validate_config(CLASS, {"connector.class": CLASS, "connector.plugin.version": "3.6.3.Final"})
        for listed in (own, bench.herder.plugin_config(CLASS, "3.6.3.Final"), [key for key, _ in checked.configs if key]):
            assert [key.default_value for key in listed if key.name == "connector.plugin.version"] == ["2.3.4.Final"]
        assert bench.herder.version_for({"connector.plugin.version": "[3.7,)"}) == "3.7.0.Final"


# One worker here emulates a version that is newer than the recorded one.
@each_case(("plugin", "version", "status", "message"), [case for case in RECORDED["refused"] if case[1] != "(3.6.3,)"])
def test_unknown_plugins_and_versions_are_refused_as_recorded(plugin: str, version: str | None, status: int, message: str) -> None:
    with pytest.raises(HerderError) as caught:
        plugin_config(plugin, version)
    assert (caught.value.status, caught.value.message) == (status, message.replace("3.6.3.Final]", "3.6.3.Final, 3.7.0.Final]"))


@each_case("case", RECORDED["validated"], ids=lambda case: ",".join(case["config"])[-60:])
def test_checked_configurations_are_the_recorded_ones(case: dict[str, Any]) -> None:
    config = case["config"]
    checked = config_infos(config["connector.class"], without_refusals(validate(config), config))
    assert (checked.name, checked.error_count, list(checked.groups)) == (case["name"], case["error_count"], case["groups"])
    values = [
        [value.name, value.value, list(value.errors), value.visible, None if key is None else key.order_in_group]
        for key, value in checked.configs
    ]
    assert values == case["values"]
    for key, value in checked.configs:
        assert key is None or key.name.endswith(value.name) or value.name.endswith(key.name)


@pytest.mark.parametrize("version", ["3.6.3.Final", "2.3.4.Final"])
def test_recommended_values_are_the_recorded_ones(version: str) -> None:
    checked = config_infos(CLASS, validate({"connector.class": CLASS, "connector.plugin.version": version}))
    shown = {value.name: list(value.recommended_values) for _, value in checked.configs if value.recommended_values}
    # Which converters the reference can load depends on what is installed beside it.
    recorded = {**RECORDED["recommended"][version], "connector.plugin.version": ["2.3.4.Final", "3.6.3.Final", "3.7.0.Final"]}
    assert {name: values for name, values in shown.items() if not name.endswith(".converter")} == recorded


async def test_every_property_of_3_7_is_answered_as_recorded() -> None:
    version, versions = "3.7.0.Final", ["2.3.4.Final", "3.6.3.Final", "3.7.0.Final"]
    recorded = json.loads(KEYS.read_text())[version]
    async with worker(check=ConfigurationCheck(nothing_found)) as bench:
        config = {"name": "cv_x", "connector.class": CLASS, "connector.plugin.version": version}
        answer = json.loads(json.dumps(models.config_infos(await bench.herder.validate_config(CLASS, config))))
    rows = [[*map(each["definition"].__getitem__, DEFINITION), *map(each["value"].__getitem__, VALUE)] for each in answer["configs"]]
    # One worker here emulates all versions.
    expected = [
        [*row[:2], "3.6.3.Final", *row[3:10], versions, *row[11:]] if row[0] == "connector.plugin.version" else row
        for row in recorded["keys"]
    ]
    assert rows == expected
    assert answer["groups"] == recorded["groups"]
    wrong = [each["value"]["name"] for each in answer["configs"] if each["value"]["errors"]]
    assert wrong == ["database.hostname", "database.user", "database.dbname", "topic.prefix"]
    assert answer["error_count"] == len(wrong)


async def test_every_property_of_3_7_is_listed_as_recorded() -> None:
    recorded = json.loads(KEYS.read_text())["3.7.0.Final"]["keys"]
    # A checked configuration shows the worker's converters, a list no defaults of them.
    differing = (
        "connector.plugin.version",
        *(f"{side}.converter{end}" for side in ("key", "value", "header") for end in ("", ".plugin.version")),
    )
    async with worker() as bench:
        listed = [models.config_key(key) for key in bench.herder.plugin_config(CLASS, "3.7.0.Final")]
    rows = json.loads(json.dumps([[key[member] for member in DEFINITION] for key in listed]))
    # A list begins with the connector's own properties.
    assert {row[0] for row in rows} == {row[0] for row in recorded}
    expected = {row[0]: row[: len(DEFINITION)] for row in recorded if row[0] not in differing}
    assert {row[0]: row for row in rows if row[0] not in differing} == expected


@pytest.mark.parametrize(("plugin", "config", "status", "message"), RECORDED["mismatched"])
async def test_another_plugins_configuration_is_refused_as_recorded(
    plugin: str, config: dict[str, str | None], status: int, message: str
) -> None:
    async with worker() as bench:
        with pytest.raises(HerderError) as caught:
            await bench.herder.validate_config(plugin, config)
        assert (caught.value.status, caught.value.message) == (status, message)
        assert bench.validated == []


async def test_an_unknown_class_is_refused_with_the_known_ones() -> None:
    async with worker() as bench:
        with pytest.raises(HerderError) as caught:
            await bench.herder.validate_config("no.such.Class", {"connector.class": "no.such.Class"})
        assert caught.value.status == 500
        assert caught.value.message.endswith(f"BadRequestException: {UNKNOWN_CLASS}")


@pytest.mark.parametrize("plugin", ["Postgres", "PostgresConnector", "gresConnector", CLASS])
async def test_the_end_of_the_classs_name_is_enough(plugin: str) -> None:
    async with worker() as bench:
        assert (await bench.herder.validate_config(plugin, CONFIG)).name == CLASS


async def test_a_check_stores_nothing_and_needs_no_name() -> None:
    async with worker() as bench:
        bench.lines = ["The 'slot.name' value is invalid: too long"]
        infos = await bench.herder.validate_config("Postgres", {"connector.class": "Postgres", "n": None})
        assert (infos.name, infos.error_count, list(infos.groups)) == ("Postgres", 1, ["Common"])
        [(key, value)] = infos.configs
        assert (key and key.name, value.errors) == ("slot.name", ("The 'slot.name' value is invalid: too long",))
        assert bench.validated == [{"connector.class": "Postgres", "n": None}]
        assert list(bench.herder.connectors()) == []


async def test_unsupported_settings_are_reported_at_their_property() -> None:
    async with worker(properties={"connector.client.config.override.policy": "None"}) as bench:
        infos = await bench.herder.validate_config("Postgres", {**CONFIG, "producer.override.linger.ms": "1"})
        [(key, value)] = infos.configs
        assert (key, value.name, infos.error_count) == (None, "producer.override.linger.ms", 1)


async def test_values_of_references_stay_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TASKS", "7even")

    async def real(name: str, config: Mapping[str, str | None]) -> Validation:
        return validate(config)

    monkeypatch.setattr(Bench, "validate", lambda _, name, config: real(name, config))
    reference = {"config.providers": "env", "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider"}
    async with worker(properties=reference) as bench:
        infos = await bench.herder.validate_config("Postgres", {**CONFIG, "name": "${env:SHOP_TASKS}", "tasks.max": "${env:SHOP_TASKS}"})
        values = {value.name: value for _, value in infos.configs}
        assert values["name"].value == "${env:SHOP_TASKS}"
        assert values["tasks.max"].errors == (of_reference("tasks.max"),)
        assert "7even" not in str(infos)


async def test_a_reference_to_nowhere_is_refused() -> None:
    reference = {"config.providers": "file", "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider"}
    async with worker(properties=reference) as bench:
        with pytest.raises(HerderError, match=r"database\.password") as caught:
            await bench.herder.validate_config("Postgres", {**CONFIG, "database.password": "${file:/no/such/file:x}"})
        assert caught.value.status == 400


@pytest.mark.parametrize(("version", "played"), [("2.3.4.Final", "2.3.4.Final"), ("[2,3)", "2.3.4.Final"), ("latest", "3.6.3.Final")])
async def test_states_have_the_emulated_version(version: str, played: str) -> None:
    async with worker() as bench:
        await bench.create({**CONFIG, "connector.plugin.version": version})
        status = bench.herder.connector_status("shop")
        states = [status.connector, *status.tasks.values(), bench.herder.task_status("shop", 0)]
        assert {state.version for state in states} == {played}
        assert {state.versioned for state in states} == {played != "2.3.4.Final"}
        restarting = await bench.herder.restart_connector("shop", include_tasks=True, only_failed=False)
        assert restarting.connector.versioned == (played != "2.3.4.Final")


async def test_another_version_is_shown_after_a_change() -> None:
    async with worker() as bench:
        await bench.create({**CONFIG, "connector.plugin.version": "2.3.4.Final"})
        await bench.herder.put_connector("shop", CONFIG, allow_replace=True)
        await bench.settled()
        status = bench.herder.connector_status("shop")
        assert [(s.version, s.versioned) for s in (status.connector, status.tasks[0])] == [("3.6.3.Final", True)] * 2
