"""``/connector-plugins``: members and their order as in Connect 4.3, and what its clients call."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.support.fake_herder import CLASS, FakeHerder, failure, rest

MEMBERS = [
    "name",
    "type",
    "required",
    "default_value",
    "importance",
    "documentation",
    "group",
    "order_in_group",
    "width",
    "display_name",
    "dependents",
]
DEFINITION = {
    "name": "topic.prefix",
    "type": "STRING",
    "required": False,
    "default_value": None,
    "importance": "HIGH",
    "documentation": "Begins names.",
    "group": "Postgres",
    "order_in_group": 1,
    "width": "MEDIUM",
    "display_name": "Topic prefix",
    "dependents": [],
}


@pytest.mark.parametrize("query", ["", "?version=3.6.3.Final", "?version=3.6.3.Final&version=9"])
async def test_properties_of_a_plugin(query: str) -> None:
    async with rest(FakeHerder()) as http:
        answer = await http.get(f"/connector-plugins/Postgres/config{query}")
        assert (answer.status_code, answer.json()) == (200, [DEFINITION])
        assert list(answer.json()[0]) == MEMBERS


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("Nope/config", 404, "Unknown plugin Nope."),
        ("a%2Fb/config", 404, "Unknown plugin a/b."),
        ("Postgres/config?version=9", 400, f"Plugin {CLASS} not found that matches the version range [9,9]"),
        ("Postgres/config?version=", 400, f"Plugin {CLASS} not found that matches the version range [,]"),
        ("Postgres", 404, "HTTP 404 Not Found"),
        ("Postgres/config/validate", 405, "HTTP 405 Method Not Allowed"),
    ],
)
async def test_refusals_of_get(path: str, status: int, message: str) -> None:
    async with rest(FakeHerder()) as http:
        answer = await http.get(f"/connector-plugins/{path}")
        assert (answer.status_code, answer.json()) == (status, failure(status, message))


async def test_a_checked_configuration() -> None:
    herder = FakeHerder()
    async with rest(herder) as http:
        answer = await http.put("/connector-plugins/Postgres/config/validate", json={"connector.class": CLASS, "tasks.max": 2, "x": None})
        assert answer.status_code == 200  # with errors too
        assert herder.calls == [("validate", "Postgres", {"connector.class": CLASS, "tasks.max": "2", "x": None})]
        body = answer.json()
        assert list(body) == ["name", "error_count", "groups", "configs"]
        assert (body["name"], body["error_count"], body["groups"]) == (CLASS, 2, ["Common", "Postgres"])
        unknown, known = body["configs"]
        assert unknown == {
            "definition": None,
            "value": {"name": "x", "value": None, "recommended_values": [], "errors": ["null"], "visible": True},
        }
        value = {"name": "topic.prefix", "value": None, "recommended_values": [], "errors": ["missing"], "visible": True}
        assert known == {"definition": DEFINITION, "value": value}
        assert (list(known["definition"]), list(known["value"])) == (MEMBERS, list(value))


async def test_a_check_of_another_plugin() -> None:
    async with rest(FakeHerder()) as http:
        answer = await http.put("/connector-plugins/Nope/config/validate", json={"connector.class": CLASS})
        assert (answer.status_code, answer.json()) == (
            400,
            failure(400, f"Included connector type {CLASS} does not match request type Nope"),
        )


@pytest.mark.parametrize(
    ("body", "said"), [(b"", "no body"), (b"bad", "line 1, column 1"), (b"[]", "JSON array"), (b'{"a":{"b":1}}', 'property "a"')]
)
async def test_bodies_that_cannot_be_understood(body: bytes, said: str) -> None:
    herder = FakeHerder()
    async with rest(herder) as http:
        headers = {"content-type": "application/json"}
        answer = await http.put("/connector-plugins/Postgres/config/validate", content=body, headers=headers)
        assert answer.status_code == 400
        assert said in answer.json()["message"]
        assert herder.calls == []


async def test_forms_of_consoles() -> None:
    # kafka-ui, AKHQ and Redpanda Console list the plugins, then check the form's values with each change and show errors by name.
    async with rest(FakeHerder()) as http:
        [plugin] = (await http.get("/connector-plugins")).json()
        body: dict[str, Any] = {"connector.class": plugin["class"], "topic.prefix": "shop"}
        answer = await http.put(
            "/connector-plugins/Postgres/config/validate", content=orjson.dumps(body), headers={"content-type": "application/json"}
        )
        errors = {c["value"]["name"]: c["value"]["errors"] for c in answer.json()["configs"]}
        assert (answer.json()["error_count"], errors) == (0, {"topic.prefix": []})
