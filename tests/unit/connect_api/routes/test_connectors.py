from __future__ import annotations

from typing import Any

import pytest

from connect_api.herder import HerderError
from tests.support.each_case import each_case
from tests.support.fake_herder import CLASS, WORKER, FakeHerder, failure, rest

JSON = {"Content-Type": "application/json"}
STATE = f'"state":"RUNNING","worker_id":"{WORKER}","version":"3.6.3.Final"'
INFO = f'{{"name":"c1","config":{{"connector.class":"{CLASS}","topic.prefix":"c1","name":"c1"}},"tasks":[{{"connector":"c1","task":0}}]'
INFO += ',"type":"source"}'
STATUS = f'{{"name":"c1","connector":{{{STATE}}},"tasks":[{{"id":0,{STATE}}}],"type":"source"}}'


def one() -> FakeHerder:
    herder = FakeHerder()
    herder.add("c1")
    return herder


@each_case(
    ("query", "body"),
    [
        ("", '["c1"]'),
        ("?bogus=1", '["c1"]'),
        ("?expand=status", f'{{"c1":{{"status":{STATUS}}}}}'),
        ("?expand=info", f'{{"c1":{{"info":{INFO}}}}}'),
        ("?expand=info&expand=status", f'{{"c1":{{"info":{INFO},"status":{STATUS}}}}}'),
        ("?expand=status&expand=info", f'{{"c1":{{"info":{INFO},"status":{STATUS}}}}}'),
        ("?expand=status&expand=bogus", f'{{"c1":{{"status":{STATUS}}}}}'),
        ("?expand=bogus", '{"c1":{}}'),
        ("?expand=STATUS", '{"c1":{}}'),
        ("?expand=status,info", '{"c1":{}}'),
        ("?expand=", '{"c1":{}}'),
        ("?expand", '{"c1":{}}'),
    ],
)
async def test_list(query: str, body: str) -> None:
    async with rest(one()) as http:
        reply = await http.get(f"/connectors{query}")
    assert (reply.status_code, reply.text) == (200, body)


async def test_empty_lists() -> None:
    async with rest(FakeHerder()) as http:
        assert (await http.get("/connectors")).text == "[]"
        assert (await http.get("/connectors?expand=status")).text == "{}"


async def test_a_connector_that_vanishes_while_the_list_is_made_is_left_out() -> None:
    herder = one()
    herder.add("gone")
    herder.vanished.add("gone")
    async with rest(herder) as http:
        assert list((await http.get("/connectors?expand=info")).json()) == ["c1"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("", INFO),
        ("/config", f'{{"connector.class":"{CLASS}","topic.prefix":"c1","name":"c1"}}'),
        ("/status", STATUS),
        ("/topics", '{"c1":{"topics":["c1.public.b","c1.public.a"]}}'),
    ],
)
async def test_read(path: str, body: str) -> None:
    herder = one()
    herder.known["c1"].topics += ["c1.public.b", "c1.public.a"]
    async with rest(herder) as http:
        reply = await http.get(f"/connectors/c1{path}")
    assert (reply.status_code, reply.text) == (200, body)


async def test_stopped_connector_has_no_tasks() -> None:
    herder = FakeHerder()
    herder.add("c1", target="STOPPED")
    async with rest(herder) as http:
        status = (await http.get("/connectors/c1/status")).json()
    assert status["connector"]["state"] == "STOPPED"
    assert status["tasks"] == []


async def test_topics_of_an_unknown_connector_are_none() -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.get("/connectors/none/topics")
    assert (reply.status_code, reply.text) == (200, '{"none":{"topics":[]}}')


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "", "Connector none not found"),
        ("DELETE", "", "Connector none not found"),
        ("GET", "/config", "Connector none not found"),
        ("GET", "/status", "No status found for connector none"),
    ],
)
async def test_unknown_connector(method: str, path: str, message: str) -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.request(method, f"/connectors/none{path}")
    assert (reply.status_code, reply.json()) == (404, failure(404, message))
    assert reply.headers["content-type"] == "application/json"


@pytest.mark.parametrize("query", ["", "?forward=false", "?forward=bogus"])
async def test_delete(query: str) -> None:
    herder = one()
    async with rest(herder) as http:
        reply = await http.delete(f"/connectors/c1{query}")
    assert (reply.status_code, reply.content) == (204, b"")
    assert herder.calls == [("delete", "c1")]


async def test_create_answers_with_the_configuration_in_the_order_it_was_sent_and_the_name_at_its_end() -> None:
    herder = FakeHerder()
    async with rest(herder) as http:
        reply = await http.post("/connectors", json={"name": "c1", "config": {"topic.prefix": "p", "connector.class": CLASS}})
    assert reply.status_code == 201
    assert reply.headers["location"] == "http://connect.example:8083/connectors/c1"
    assert reply.headers["content-type"] == "application/json"
    assert (
        reply.text == f'{{"name":"c1","config":{{"topic.prefix":"p","connector.class":"{CLASS}","name":"c1"}},"tasks":[],"type":"source"}}'
    )
    assert herder.calls == [("put", "c1", {"topic.prefix": "p", "connector.class": CLASS, "name": "c1"}, False, None)]


@pytest.mark.parametrize(
    ("field", "target"),
    [
        ({}, None),
        ({"initial_state": None}, None),
        ({"initial_state": "RUNNING"}, "STARTED"),
        ({"initial_state": "paused"}, "PAUSED"),
        ({"initial_state": "Stopped"}, "STOPPED"),
    ],
)
async def test_initial_state(field: dict[str, Any], target: str | None) -> None:
    herder = FakeHerder()
    async with rest(herder) as http:
        reply = await http.post("/connectors", json={"name": "c1", **field, "config": {"connector.class": CLASS}})
    assert reply.status_code == 201
    assert herder.calls[0][-1] == target


@pytest.mark.parametrize(
    ("sent", "name"),
    [("' d1 '", "d1"), ("'\\t d1\\n'", "d1"), ("5", "5"), ("true", "true"), ("null", ""), ("''", ""), ("'\\u00a0x'", "\u00a0x")],
)
async def test_name_is_trimmed_as_java_does_and_put_into_the_configuration(sent: str, name: str) -> None:
    herder = FakeHerder()
    body = f"{{'name':{sent},'config':{{'connector.class':'x'}}}}".replace("'", '"')
    async with rest(herder) as http:
        reply = await http.post("/connectors", content=body, headers=JSON)
    assert reply.status_code == 201
    assert herder.calls == [("put", name, {"connector.class": "x", "name": name}, False, None)]


async def test_create_twice() -> None:
    async with rest(one()) as http:
        reply = await http.post("/connectors", json={"name": "c1", "config": {"connector.class": CLASS}})
    assert (reply.status_code, reply.json()) == (409, failure(409, "Connector c1 already exists"))


@each_case(
    ("body", "message"),
    [
        ({"config": {}}, "Connector config {name=} contains no connector type"),
        ({"name": "x", "config": {}}, "Connector config {name=x} contains no connector type"),
        ({"name": "x", "config": {"name": None}}, "Connector config {name=x} contains no connector type"),
        ({"name": "x", "config": {"name": "y"}}, "Connector name configuration (y) doesn't match connector name in the URL (x)"),
        ({"config": {"name": "y"}}, "Connector name configuration (y) doesn't match connector name in the URL ()"),
        ({"name": " x ", "config": {"name": " x "}}, "Connector name configuration ( x ) doesn't match connector name in the URL (x)"),
        ({"name": "x", "config": {"name": True}}, "Connector name configuration (true) doesn't match connector name in the URL (x)"),
        ({"name": "x", "config": {"connector.class": "y", "a": None}}, "Null value can not be supplied as the configuration value."),
    ],
)
async def test_create_refused(body: dict[str, Any], message: str) -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.post("/connectors", json=body)
    assert (reply.status_code, reply.json()) == (400, failure(400, message))


async def test_put_creates_with_location_then_replaces_without() -> None:
    herder = FakeHerder()
    async with rest(herder) as http:
        first = await http.put("/connectors/c1/config?forward=true", json={"connector.class": CLASS, "a": 1})
        second = await http.put("/connectors/c1/config", json={"connector.class": CLASS, "name": "c1", "b": 2})
    assert (first.status_code, first.headers["location"]) == (201, "http://connect.example:8083/connectors/c1")
    assert first.text == f'{{"name":"c1","config":{{"connector.class":"{CLASS}","a":"1","name":"c1"}},"tasks":[],"type":"source"}}'
    assert second.status_code == 200
    assert "location" not in second.headers
    assert list(second.json()) == ["name", "config", "tasks", "type"]
    assert second.json()["config"] == {"connector.class": CLASS, "name": "c1", "b": "2"}
    assert second.json()["tasks"] == [{"connector": "c1", "task": 0}]
    assert [call[3] for call in herder.calls] == [True, True]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "Connector config {name=c1} contains no connector type"),
        ({"name": "y"}, "Connector name configuration (y) doesn't match connector name in the URL (c1)"),
        ({"name": " c1"}, "Connector name configuration ( c1) doesn't match connector name in the URL (c1)"),
    ],
)
async def test_put_refused(body: dict[str, str], message: str) -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.put("/connectors/c1/config", json=body)
    assert (reply.status_code, reply.json()) == (400, failure(400, message))


@each_case(
    ("host", "advertised", "base"),
    [
        ("foo.example:99", None, "http://foo.example:99"),
        ("foo.example", None, "http://foo.example"),
        ("[::1]:8083", None, "http://[::1]:8083"),
        ("foo.example:99", "https://connect.internal:8443", "https://connect.internal:8443"),
        ("foo.example:99", "https://connect.internal:8443/", "https://connect.internal:8443"),
    ],
)
@each_case("method", ["POST", "PUT"])
async def test_location_is_absolute(method: str, host: str, advertised: str | None, base: str) -> None:
    config = {"connector.class": CLASS}
    async with rest(FakeHerder(), advertised_url=advertised) as http:
        if method == "POST":
            reply = await http.post("/connectors", json={"name": "c 1", "config": config}, headers={"Host": host})
        else:
            reply = await http.put("/connectors/c%201/config", json=config, headers={"Host": host})
    assert (reply.status_code, reply.headers["location"]) == (201, f"{base}/connectors/c%201")


async def test_some_properties() -> None:
    herder = FakeHerder()
    herder.add("c1")
    async with rest(herder) as http:
        reply = await http.patch("/connectors/c1/config?forward=true", json={"tasks.max": 1, "topic.prefix": None, "b": True})
        assert (reply.status_code, reply.json()["config"]) == (200, {"connector.class": CLASS, "name": "c1", "tasks.max": "1", "b": "true"})
        missing = await http.patch("/connectors/none/config", json={})
        assert (missing.status_code, missing.json()["message"]) == (404, "Connector none not found")
        typed = await http.patch("/connectors/c1/config", content="{}", headers={"Content-Type": "application/merge-patch+json"})
        assert typed.status_code == 415
    assert herder.calls == [("patch", "c1", {"tasks.max": "1", "topic.prefix": None, "b": "true"})]


async def test_topics_are_reset_for_any_body() -> None:
    herder = FakeHerder()
    async with rest(herder) as http:
        reply = await http.put("/connectors/none/topics/reset/", content="junk", headers={"Content-Type": "application/json"})
        assert (reply.status_code, reply.content) == (202, b"")
        herder.refuses = HerderError(403, "Topic tracking is disabled.")
        reply = await http.put("/connectors/none/topics/reset")
        assert (reply.status_code, reply.json()) == (403, failure(403, "Topic tracking is disabled."))
    assert herder.calls == [("reset topics", "none")]


async def test_an_expanded_list_is_kept_until_something_changes() -> None:
    class Counting(FakeHerder):
        number = 0

        def revision(self) -> object:
            return self.number

    herder = Counting()
    herder.add("shop")
    async with rest(herder) as client:
        first = await client.get("/connectors?expand=info")
        herder.add("other")
        assert (await client.get("/connectors?expand=info&expand=nothing")).content == first.content
        assert list((await client.get("/connectors?expand=info&expand=status")).json()) == ["shop", "other"]
        herder.number += 1
        assert list((await client.get("/connectors?expand=info")).json()) == ["shop", "other"]
