from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import httpx
import pytest

from connect_api.app import create_app
from connect_api.herder import Elsewhere, Herder, HerderError, Note, SignalRequest
from tests.support.each_case import each_case
from tests.support.fake_herder import FakeHerder, failure, rest

EVENTS = "text/event-stream"
NOTES = [
    Note(number, "Initial Snapshot", {"id": str(number), "type": kind, "additionalData": {"connector_name": "c1"}})
    for number, kind in enumerate(("STARTED", "COMPLETED"), start=1)
]


def herder(notes: list[Note] | None = None) -> FakeHerder:
    fake = FakeHerder(notes=list(notes or ()))
    fake.add("c1")
    return fake


@pytest.mark.parametrize(
    ("body", "request_"),
    [
        ({"type": "log"}, SignalRequest(None, "log", None)),
        ({"id": "s1", "type": "log", "data": {"message": "ä", "n": 1}}, SignalRequest("s1", "log", '{"message": "ä", "n": 1}')),
        ({"id": None, "type": "log", "data": None}, SignalRequest(None, "log", None)),
        ({"type": "log", "data": '{"message":"x"}'}, SignalRequest(None, "log", '{"message": "x"}')),
        ({"type": "log", "data": ""}, SignalRequest(None, "log", None)),
    ],
)
async def test_a_signal_is_handed_on(body: dict[str, object], request_: SignalRequest) -> None:
    fake = herder()
    async with rest(fake) as http:
        reply = await http.post("/connectors/c1/signals", json=body)
    assert (reply.status_code, reply.json()) == (202, {"id": body.get("id") or "new"})
    assert fake.calls[-1] == ("signal", "c1", request_)


@each_case(
    ("body", "field"),
    [
        ({}, '"type" is missing'),
        ({"type": None}, '"type" is missing'),
        ({"type": ""}, '"type" must be'),
        ({"type": 1}, '"type" must be'),
        ({"type": "log", "id": 5}, '"id" must be'),
        ({"type": "log", "id": " "}, '"id" must be'),
        ({"type": "log", "data": []}, '"data" must be'),
        ({"type": "log", "data": 5}, '"data" must be'),
        ({"type": "log", "data": "no"}, '"data" is not valid JSON'),
        ({"type": "log", "data": "[]"}, '"data" must be'),
        ({"type": "log", "body": {}}, 'Unknown field "body"'),
        ([], "a JSON array"),
    ],
)
async def test_a_body_that_is_no_signal(body: object, field: str) -> None:
    async with rest(herder()) as http:
        reply = await http.post("/connectors/c1/signals", json=body)
    assert reply.status_code == 400
    assert field in reply.json()["message"]


async def test_refusals_of_the_herder() -> None:
    fake = herder()
    fake.refuses = HerderError(409, "not now")
    async with rest(fake) as http:
        reply = await http.post("/connectors/c1/signals", json={"type": "log"})
        unknown = await http.post("/connectors/none/signals", json={"type": "log"})
    assert (reply.status_code, reply.json()) == (409, failure(409, "not now"))
    assert (unknown.status_code, unknown.json()) == (404, failure(404, "Connector none not found"))


@pytest.mark.parametrize("accept", [None, "*/*", EVENTS, f"{EVENTS}, */*;q=0.1"])
async def test_notifications_come_as_events(accept: str | None) -> None:
    fake = herder(NOTES)
    headers = {} if accept is None else {"Accept": accept}
    async with rest(fake) as http:
        reply = await http.get("/connectors/c1/notifications", headers=headers)
    assert (reply.status_code, reply.headers["content-type"]) == (200, f"{EVENTS}; charset=utf-8")
    assert reply.headers["cache-control"] == "no-store"
    parts = reply.text.split("\n\n")
    assert parts[0].startswith(":")
    assert parts[1] == 'id: 1\nevent: Initial Snapshot\ndata: {"id":"1","type":"STARTED","additionalData":{"connector_name":"c1"}}'
    assert parts[2].startswith("id: 2\n")
    # Nothing new for a while: a comment keeps the connection.
    assert parts[3].startswith(":")
    assert parts[4:] == [""]


async def test_events_continue_after_the_last_known_one() -> None:
    async with rest(herder(NOTES)) as http:
        reply = await http.get("/connectors/c1/notifications", headers={"Last-Event-ID": "1"})
        wrong = await http.get("/connectors/c1/notifications", headers={"Last-Event-ID": "x"})
        long = await http.get("/connectors/c1/notifications", headers={"Last-Event-ID": "9" * 5000})
    assert [line for line in reply.text.splitlines() if line.startswith("id:")] == ["id: 2"]
    assert (wrong.status_code, long.status_code) == (400, 400)
    assert "Last-Event-ID" in wrong.json()["message"]


@pytest.mark.parametrize("accept", ["application/json", "application/json, */*"])
async def test_notifications_as_a_list(accept: str) -> None:
    async with rest(herder(NOTES)) as http:
        reply = await http.get("/connectors/c1/notifications", headers={"Accept": accept})
    assert reply.headers["content-type"] == "application/json"
    assert json.loads(reply.text) == [{"number": note.number, **note.content} for note in NOTES]


async def test_what_the_paths_answer() -> None:
    async with rest(herder()) as http:
        offered = [await http.options(f"/connectors/c1/{path}") for path in ("signals", "notifications")]
        refused = await http.put("/connectors/c1/notifications", json={})
    assert [reply.headers["allow"] for reply in offered] == ["POST,OPTIONS", "HEAD,DELETE,GET,OPTIONS"]
    assert refused.status_code == 405


async def test_neither_events_nor_json_is_wanted() -> None:
    async with rest(herder()) as http:
        reply = await http.get("/connectors/c1/notifications", headers={"Accept": "image/png"})
    assert reply.status_code == 406


async def test_head_ends_at_once() -> None:
    fake = herder(NOTES)
    async with rest(fake) as http:
        reply = await http.head("/connectors/c1/notifications")
    assert (reply.status_code, reply.text, fake.waits) == (200, "", 0)


@dataclass
class Endless(FakeHerder):
    """Its notifications end when the test says so."""

    over: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: asyncio.Queue[None] = field(default_factory=asyncio.Queue)

    async def next_notifications(self, name: str, after: int, seconds: float) -> Sequence[Note] | None:
        self.waiting.put_nowait(None)
        await self.over.wait()
        return None


async def test_streams_are_limited() -> None:
    fake = Endless()
    fake.add("c1")
    app = create_app(cast("Herder", fake), most_streams=2)
    path, events = "/connectors/c1/notifications", {"Accept": EVENTS}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://connect") as http:
        first = [asyncio.create_task(http.get(path, headers=events)) for _ in range(2)]
        for _ in first:
            await fake.waiting.get()
        refused = await http.get(path, headers=events)
        assert refused.status_code == 503
        assert "2 streams of notifications" in refused.json()["message"]
        assert (await http.get(path, headers={"Accept": "application/json"})).status_code == 200
        # A client that leaves makes room.
        first[0].cancel()
        await asyncio.gather(first[0], return_exceptions=True)
        fake.over.set()
        assert (await http.get(path, headers=events)).status_code == 200
        assert (await first[1]).status_code == 200
        for _ in range(3):
            assert (await http.get(path, headers=events)).status_code == 200


async def test_streams_of_other_workers_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Follower(FakeHerder):
        def notifications(self, name: str, after: int) -> Sequence[Note]:
            raise Elsewhere("http://other:8083")

    came, over = asyncio.Event(), asyncio.Event()

    async def events() -> AsyncIterator[bytes]:
        yield b": notifications\n\n"
        came.set()
        await over.wait()

    made = httpx.AsyncClient
    other = httpx.MockTransport(lambda _: httpx.Response(200, headers={"content-type": f"{EVENTS}; charset=utf-8"}, content=events()))
    monkeypatch.setattr(httpx, "AsyncClient", lambda **_: made(transport=other))
    app = create_app(cast("Herder", Follower()), most_streams=1)
    path, accept = "/connectors/c1/notifications", {"Accept": EVENTS}
    async with made(transport=httpx.ASGITransport(app), base_url="http://connect") as http:
        first = asyncio.create_task(http.get(path, headers=accept))
        await came.wait()
        assert (await http.get(path, headers=accept)).status_code == 503
        over.set()
        assert (await first).status_code == 200
        assert (await http.get(path, headers=accept)).status_code == 200


async def test_notifications_of_an_unknown_connector() -> None:
    async with rest(herder()) as http:
        replies = [await http.get("/connectors/none/notifications"), await http.delete("/connectors/none/notifications")]
    assert [(reply.status_code, reply.json()) for reply in replies] == [(404, failure(404, "Connector none not found"))] * 2


async def test_notifications_are_reset() -> None:
    fake = herder(NOTES)
    async with rest(fake) as http:
        reply = await http.delete("/connectors/c1/notifications")
    assert (reply.status_code, reply.text, fake.notes) == (204, "", [])
