from __future__ import annotations

import pytest

from tests.support.each_case import each_case
from tests.support.fake_herder import WORKER, FakeHerder, failure, rest


@pytest.mark.parametrize(("verb", "status", "target"), [("pause", 202, "PAUSED"), ("resume", 202, "STARTED"), ("stop", 204, "STOPPED")])
@pytest.mark.parametrize("query", ["", "?forward=true"])
async def test_target_state(verb: str, status: int, target: str, query: str) -> None:
    herder = FakeHerder()
    herder.add("c1")
    async with rest(herder) as http:
        reply = await http.put(f"/connectors/c1/{verb}{query}")
    assert (reply.status_code, reply.content) == (status, b"")
    assert reply.headers.get("content-length") == ("0" if status == 202 else None)
    assert herder.calls == [("target", "c1", target)]


@pytest.mark.parametrize("verb", ["pause", "resume", "stop"])
async def test_target_state_of_an_unknown_connector(verb: str) -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.put(f"/connectors/none/{verb}")
    assert (reply.status_code, reply.json()) == (404, failure(404, "Unknown connector none"))


@each_case(
    ("query", "include_tasks", "only_failed"),
    [
        ("", False, False),
        ("?includeTasks=false&onlyFailed=false", False, False),
        ("?includeTasks=maybe", False, False),
        ("?includeTasks=1", False, False),
        ("?includeTasks=%20true", False, False),
        ("?includeTasks", False, False),
        ("?includeTasks=false&includeTasks=true", False, False),
        ("?includeTasks=true", True, False),
        ("?includeTasks=TRUE", True, False),
        ("?includeTasks=True&onlyFailed=False", True, False),
        ("?onlyFailed=true&forward=true", False, True),
        ("?includeTasks=true&onlyFailed=true", True, True),
    ],
)
async def test_restart(query: str, include_tasks: bool, only_failed: bool) -> None:
    herder = FakeHerder()
    herder.add("c1")
    async with rest(herder) as http:
        reply = await http.post(f"/connectors/c1/restart{query}")
    assert herder.calls == [("restart", "c1", include_tasks, only_failed)]
    if include_tasks or only_failed:
        assert reply.status_code == 202
        assert list(reply.json()) == ["name", "connector", "tasks", "type"]
    else:
        assert (reply.status_code, reply.content) == (204, b"")


async def test_restart_shows_what_restarts_with_a_null_version() -> None:
    herder = FakeHerder()
    herder.add("c1")
    async with rest(herder) as http:
        reply = await http.post("/connectors/c1/restart?includeTasks=true")
    state = f'"state":"RESTARTING","worker_id":"{WORKER}","version":null'
    assert reply.text == f'{{"name":"c1","connector":{{{state}}},"tasks":[{{"id":0,{state}}}],"type":"source"}}'


@pytest.mark.parametrize("query", ["", "?includeTasks=true"])
async def test_restart_of_an_unknown_connector(query: str) -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.post(f"/connectors/none/restart{query}")
    assert (reply.status_code, reply.json()) == (404, failure(404, "Unknown connector: none"))
