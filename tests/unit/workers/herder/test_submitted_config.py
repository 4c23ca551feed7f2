"""The check of a configuration: errors that only parsing finds are reported like all others, not as a defect of the worker."""

from collections.abc import Mapping, Sequence

import httpx
import pytest

from connect_api.app import create_app
from connect_api.herder import HerderError
from connector.config.connector_config import parse
from connector.config.validation import error_lines, warning_lines
from connector.preflight.finding import Finding
from tests.support.herder_bench import worker
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


# Requests of absurd sizes, which must not hold the worker's event loop


@pytest.mark.parametrize("listing", ["transforms", "predicates"])
async def test_a_list_of_absurd_length_is_refused_before_it_is_expanded(listing: str) -> None:
    async with worker(check=ConfigurationCheck(look)) as bench:
        most = {**CONFIG, listing: ",".join(f"t{n}" for n in range(1_000))}
        infos = await bench.herder.validate_config("PostgresConnector", most)
        assert sum(info.name.startswith(f"{listing}.t") for _, info in infos.configs) == 2_000
        more = {**most, listing: f"{most[listing]},one.more"}
        sentence = f"The property {listing} lists 1001 names. A worker accepts at most 1000."
        with pytest.raises(HerderError) as caught:
            await bench.herder.validate_config("PostgresConnector", more)
        assert (caught.value.status, caught.value.message) == (400, sentence)
        with pytest.raises(HerderError) as caught:
            await bench.create(more)
        assert caught.value.status == 400
        assert f"contains the following 1 error(s):\n{sentence}\n" in caught.value.message


async def test_many_refused_overrides_have_one_error_each() -> None:
    names = [f"producer.override.x{n}" for n in range(20_000)]
    async with worker(properties={"connector.client.config.override.policy": "None"}, check=ConfigurationCheck(look)) as bench:
        infos = await bench.herder.validate_config("PostgresConnector", {**CONFIG, **dict.fromkeys(names, "")})
        errors = {info.name: info.errors for _, info in infos.configs if info.name.startswith("producer.override.")}
    assert len(errors) == len(names)
    assert {len(lines) for lines in errors.values()} == {1}
    assert "The 'None' policy does not allow 'x7' to be overridden" in errors["producer.override.x7"][0]


async def test_of_many_refused_steps_each_sees_its_own_options() -> None:
    steps = {f"transforms.t{n}.type": "io.debezium.transforms.Filter" for n in range(3)}
    settings = {"transforms.t0.language": "jsr223.groovy", "transforms.t0.condition": "true", "transforms.t2.condition": "true"}
    async with worker(check=ConfigurationCheck(look)) as bench:
        infos = await bench.herder.validate_config("PostgresConnector", {**CONFIG, "transforms": "t0,t1,t2", **steps, **settings})
    wrong = {info.name for _, info in infos.configs if info.errors}
    assert {name.split(".")[1] for name in wrong if name.startswith("transforms.")} == {"t1", "t2"}


async def test_a_name_that_no_record_may_have_is_refused() -> None:
    name = "é" * 16_001
    async with worker(check=ConfigurationCheck(look)) as bench:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(create_app(bench.herder)), base_url="http://h:8083") as client:
            config = {key: value for key, value in CONFIG.items() if key != "name"}
            answer = await client.post("/connectors", json={"name": name, "config": config})
            assert answer.status_code == 400
            assert f"Invalid value {'é' * 40}… for configuration name: String may not be longer than 32000 bytes" in answer.text
            assert (await client.post("/connectors", json={"name": name[1:], "config": config})).status_code == 201
        assert bench.herder.connectors() == [name[1:]]
