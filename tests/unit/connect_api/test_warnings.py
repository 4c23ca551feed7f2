"""``?warnings=true`` adds what Connect's answer has no place for; without it no client meets a member that it does not know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from connect_api.herder import ConfigInfos
from tests.support.fake_herder import CLASS, FakeHerder, rest

VALIDATE = "/connector-plugins/Postgres/config/validate"


class Warned(FakeHerder):
    async def validate_config(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        infos = await super().validate_config(plugin, config)
        return replace(infos, configs=[(key, replace(value, warnings=("late",))) for key, value in infos.configs])


@pytest.mark.parametrize("query", ["", "?warnings=false", "?warnings="])
async def test_warnings_are_left_out(query: str) -> None:
    async with rest(Warned()) as http:
        body = (await http.put(VALIDATE + query, json={"connector.class": CLASS})).json()
        assert [list(config["value"]) for config in body["configs"]] == [["name", "value", "recommended_values", "errors", "visible"]]


async def test_warnings_are_shown_beside_the_errors_and_do_not_count() -> None:
    async with rest(Warned()) as http:
        body = (await http.put(f"{VALIDATE}?warnings=true", json={"connector.class": CLASS, "topic.prefix": "shop"})).json()
        assert body["error_count"] == 0
        assert [(config["value"]["errors"], config["value"]["warnings"]) for config in body["configs"]] == [([], ["late"])]


async def test_a_property_without_warnings_has_an_empty_list() -> None:
    async with rest(FakeHerder()) as http:
        body = (await http.put(f"{VALIDATE}?warnings=true", json={"connector.class": CLASS})).json()
        assert [config["value"]["warnings"] for config in body["configs"]] == [[]]


async def test_the_page_documents_the_parameter() -> None:
    async with rest(FakeHerder()) as http:
        page = (await http.get("/openapi.json")).json()
        [operation] = [paths["put"] for path, paths in page["paths"].items() if path.endswith("/config/validate")]
        assert [parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "query"] == ["warnings"]
