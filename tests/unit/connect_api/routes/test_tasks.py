from __future__ import annotations

import pytest

from tests.support.each_case import each_case
from tests.support.fake_herder import CLASS, WORKER, FakeHerder, failure, rest

NO_PATH = failure(404, "HTTP 404 Not Found")


async def test_tasks_have_their_configuration() -> None:
    herder = FakeHerder()
    herder.add("c1")
    async with rest(herder) as http:
        reply = await http.get("/connectors/c1/tasks")
    assert reply.text == (
        f'[{{"id":{{"connector":"c1","task":0}},"config":{{"connector.class":"{CLASS}","topic.prefix":"c1","name":"c1",'
        '"task.class":"io.debezium.connector.postgresql.PostgresConnectorTask"}}]'
    )


async def test_a_stopped_connector_has_none() -> None:
    herder = FakeHerder()
    herder.add("c1", target="STOPPED")
    async with rest(herder) as http:
        reply = await http.get("/connectors/c1/tasks")
    assert (reply.status_code, reply.text) == (200, "[]")


async def test_tasks_of_an_unknown_connector() -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.get("/connectors/none/tasks")
    assert (reply.status_code, reply.json()) == (404, failure(404, "Connector none not found"))


@pytest.mark.parametrize("number", ["0", "00", "+0", "-0"])
async def test_status(number: str) -> None:
    herder = FakeHerder()
    herder.add("c1")
    async with rest(herder) as http:
        reply = await http.get(f"/connectors/c1/tasks/{number}/status")
    assert (reply.status_code, reply.text) == (200, f'{{"id":0,"state":"RUNNING","worker_id":"{WORKER}","version":"3.6.3.Final"}}')


async def test_a_failed_task_shows_its_trace_last() -> None:
    herder = FakeHerder()
    herder.add("c1", trace="The slot is gone.\n  at line 1")
    async with rest(herder) as http:
        reply = await http.get("/connectors/c1/tasks/0/status")
    assert list(reply.json()) == ["id", "state", "worker_id", "version", "trace"]
    assert (reply.json()["state"], reply.json()["trace"]) == ("FAILED", "The slot is gone.\n  at line 1")


async def test_an_empty_trace_is_left_out() -> None:
    herder = FakeHerder()
    herder.add("c1", trace="")
    async with rest(herder) as http:
        assert "trace" not in (await http.get("/connectors/c1/tasks/0/status")).json()


@each_case(
    ("path", "body"),
    [
        ("c1/tasks/7", failure(404, "No status found for task c1-7")),
        ("c1/tasks/01", failure(404, "No status found for task c1-1")),
        ("c1/tasks/-1", failure(404, "No status found for task c1--1")),
        ("none/tasks/0", failure(404, "No status found for task none-0")),
        ("c1/tasks/abc", NO_PATH),
        ("c1/tasks/1.0", NO_PATH),
        ("c1/tasks/%201", NO_PATH),
        ("c1/tasks/2147483648", NO_PATH),
        ("c1/tasks/%D9%A1", NO_PATH),
    ],
)
async def test_status_of_what_does_not_exist(path: str, body: dict[str, object]) -> None:
    herder = FakeHerder()
    herder.add("c1")
    async with rest(herder) as http:
        reply = await http.get(f"/connectors/{path}/status")
    assert (reply.status_code, reply.json()) == (404, body)


@pytest.mark.parametrize("query", ["", "?forward=false"])
async def test_restart(query: str) -> None:
    herder = FakeHerder()
    herder.add("c1")
    async with rest(herder) as http:
        reply = await http.post(f"/connectors/c1/tasks/0/restart{query}")
    assert (reply.status_code, reply.content) == (204, b"")
    assert herder.calls == [("restart task", "c1", 0)]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("c1/tasks/9", failure(404, "Unknown task: c1-9")),
        ("none/tasks/0", failure(404, "Unknown connector: none")),
        ("c1/tasks/x", NO_PATH),
    ],
)
async def test_restart_of_what_does_not_exist(path: str, body: dict[str, object]) -> None:
    herder = FakeHerder()
    herder.add("c1")
    async with rest(herder) as http:
        reply = await http.post(f"/connectors/{path}/restart")
    assert (reply.status_code, reply.json()) == (404, body)
