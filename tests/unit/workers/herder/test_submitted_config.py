"""The check of a configuration: errors that only parsing finds are reported like all others, not as a defect of the worker."""

from collections.abc import Mapping, Sequence

import pytest

from connector.config.connector_config import parse
from connector.config.validation import error_lines, warning_lines
from connector.preflight.finding import Finding
from workers.herder.configuration_check import ConfigurationCheck
from workers.settings.preflight import Preflight

CONFIG = {
    "name": "shop",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "db",
    "database.user": "shop",
    "database.password": "shop",
    "database.dbname": "shop",
    "topic.prefix": "shop",
}


async def look(settings: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
    """As the real one begins; there is no database to look at."""
    parse(settings)
    return []


async def test_a_good_configuration_has_no_lines() -> None:
    assert error_lines(await ConfigurationCheck(look)("shop", CONFIG)) == []


async def test_an_error_of_parsing_is_one_line() -> None:
    config = {**CONFIG, "topic.creation.default.partitions": "1"}
    validation = await ConfigurationCheck(look)("shop", config)
    assert error_lines(validation) == []
    [line] = warning_lines(validation)
    assert 'Missing required configuration "topic.creation.default.replication.factor"' in line
    assert error_lines(await ConfigurationCheck(look, "refuse")("shop", config)) == [line]


@pytest.mark.parametrize("preflight", ["warn", "refuse", "off"])
@pytest.mark.parametrize(
    ("setting", "value"), [("field.name.adjustment.mode", "x"), ("database.connection.factory.class", "com.example.F")]
)
async def test_configurations_that_fail_in_the_reference_are_always_errors(setting: str, value: str, preflight: Preflight) -> None:
    [line] = error_lines(await ConfigurationCheck(look, preflight)("shop", {**CONFIG, setting: value}))
    assert line.startswith(f"The '{setting}' value is invalid: ")


async def test_a_java_class_is_one_warning_and_the_check_continues_without_it() -> None:
    asked: list[Mapping[str, str]] = []

    async def asking(settings: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
        asked.append(settings)
        return await look(settings, further=further)

    config = {**CONFIG, "snapshot.mode": "custom", "snapshot.mode.custom.name": "com.example.Mine"}
    [line] = warning_lines(await ConfigurationCheck(asking)("shop", config))
    assert line.startswith("The 'snapshot.mode.custom.name' value is invalid: It names the Java class com.example.Mine")
    assert "snapshot.mode.custom.name" not in asked[0]
    assert error_lines(await ConfigurationCheck(asking, "refuse")("shop", config)) == [line]
