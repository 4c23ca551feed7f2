"""Warnings of the preflight: beside the errors, at a reported property, without refusing the configuration, without secrets."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from connector.config.validation import Validation, validate
from connector.errors import CdcError, ErrorKind
from connector.preflight.finding import LEAD, Finding
from workers.herder.configuration_check import ConfigurationCheck
from workers.herder.plugin_config import config_infos
from workers.herder.submitted_config import SubmittedConfigs
from workers.herder.task_plan import TaskPlanner
from workers.settings.config_providers import Found, Resolution
from workers.settings.preflight import Preflight

WHOLE = {
    "name": "shop",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "db",
    "database.user": "shop",
    "database.dbname": "shop",
    "topic.prefix": "shop",
}


async def checked(*found: Finding, preflight: Preflight = "warn") -> Validation:
    async def look(settings: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
        return found

    return await ConfigurationCheck(look, preflight)("shop", WHOLE)


def reported(validation: Validation) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    return {field.name: (field.errors, field.warnings) for field in validation.fields if field.errors or field.warnings}


REFUSED = Finding("database.hostname", f"{LEAD}refused", warning=False, reference=True)


async def test_only_what_the_reference_refuses_too_is_an_error() -> None:
    validation = await checked(Finding("slot.name", "hurts"), Finding("slot.name", f"{LEAD}fails", warning=False), REFUSED)
    assert reported(validation) == {"slot.name": ((), ("hurts", "fails")), "database.hostname": ((REFUSED.text,), ())}
    assert validation.error_count == 1


async def test_a_certain_failure_is_an_error_if_the_worker_refuses_them() -> None:
    fails = Finding("slot.name", f"{LEAD}fails", warning=False)
    validation = await checked(Finding("slot.name", "hurts"), fails, REFUSED, preflight="refuse")
    assert reported(validation) == {"slot.name": ((fails.text,), ("hurts",)), "database.hostname": ((REFUSED.text,), ())}


@pytest.mark.parametrize(("preflight", "further"), [("warn", True), ("refuse", True), ("off", False)])
async def test_only_the_reference_s_checks_run_when_the_others_are_off(preflight: Preflight, further: bool) -> None:
    asked: list[bool] = []

    async def look(settings: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
        asked.append(further)
        return ()

    await ConfigurationCheck(look, preflight)("shop", WHOLE)
    assert asked == [further]


@pytest.mark.parametrize("unreadable", [{"converters": "mine"}, {"topic.creation.default.partitions": "x"}])
async def test_the_connection_is_tried_with_a_configuration_that_the_connector_cannot_read(unreadable: dict[str, str]) -> None:
    asked: list[set[str]] = []

    async def look(settings: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
        asked.append(set(settings))
        if not further:
            return (REFUSED,)
        raise CdcError(ErrorKind.CONFIG_INVALID, "cannot be read", "correct it")

    validation = await ConfigurationCheck(look)("shop", {**WHOLE, "driver.socketTimeout": "5", "plugin.name": "pgoutput", **unreadable})
    assert reported(validation)["database.hostname"][0] == (REFUSED.text,)
    assert len(asked) == 2
    assert asked[1] == {*WHOLE, "driver.socketTimeout", "plugin.name"}


async def test_a_warning_adds_no_property_to_the_answer() -> None:
    validation = await checked(Finding("no.such.property", "hurts"))
    assert reported(validation) == {"database.hostname": ((), ("hurts",))}
    assert [field.name for field in validation.fields] == [field.name for field in validate(WHOLE).fields]


async def test_warnings_reach_the_interface() -> None:
    infos = config_infos("C", await checked(Finding("slot.name", "hurts")))
    assert infos.error_count == 0
    assert {value.name: value.warnings for _, value in infos.configs if value.warnings} == {"slot.name": ("hurts",)}


class Planner:
    """One reference to a name that must stay hidden."""

    connector_version = "3.6.3.Final"

    def with_version(self, config: Mapping[str, str]) -> dict[str, str]:
        return dict(config)

    async def look_up(self, config: Mapping[str, str]) -> Resolution:
        found = {name: (Found(value, "hidden_table"),) for name, value in config.items() if value == "${env:TABLE}"}
        return Resolution({name: "hidden_table" if name in found else value for name, value in config.items()}, found, ())

    def refusals(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return []

    def shortcomings(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return []


async def test_a_warning_refuses_nothing_and_is_logged_without_the_value_of_a_reference(caplog: pytest.LogCaptureFixture) -> None:
    async def look(settings: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
        return [Finding("table.include.list", f"{settings['table.include.list']} is not there")]

    submitted = SubmittedConfigs(cast("TaskPlanner", Planner()), ConfigurationCheck(look))
    config = {**WHOLE, "table.include.list": "${env:TABLE}"}
    with caplog.at_level(logging.WARNING, "workers.herder.submitted_config"):
        await submitted.check("shop", config)
    [record] = caplog.records
    assert (record.getMessage(), record.__dict__["fields"]) == (
        "configuration warning",
        {"property": "table.include.list", "warning": "${env:TABLE} is not there"},
    )
    infos = await submitted.infos("PostgresConnector", config)
    assert [value.warnings for _, value in infos.configs if value.warnings] == [("${env:TABLE} is not there",)]
