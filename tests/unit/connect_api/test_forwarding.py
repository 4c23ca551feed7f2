"""Calls that are another worker's: two applications, the second reached by the first through a transport in process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from connect_api import bodies, forwarding
from connect_api.app import create_app
from connect_api.herder import ConnectorInfo, Elsewhere, Note, TargetState
from connect_api.hosts import AllowedHosts
from connect_api.login import Login
from connect_api.streams import Streams
from tests.support.fake_herder import FakeHerder

OTHER = "http://other:8083"


class Follower(FakeHerder):
    """Leaves creating and progress to the worker at ``leader``; None while the group decides."""

    leader: str | None = OTHER
    changes: int = 0
    caught: int = 0
    decides: str | None = None
    """The leader that the next change brings."""

    async def put_connector(
        self, name: str, config: Mapping[str, str | None], *, allow_replace: bool, initial_state: TargetState | None = None
    ) -> tuple[bool, ConnectorInfo]:
        raise Elsewhere(self.leader)

    def progress(self, name: str) -> Mapping[str, object]:
        raise Elsewhere(self.leader)

    async def next_assignment(self, seconds: float) -> None:
        self.changes += 1
        self.leader = self.leader or self.decides

    async def caught_up(self) -> None:
        self.caught += 1


class Pair:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, login: Login | None = None, hosts: AllowedHosts | None = None) -> None:
        self.leader, self.follower = FakeHerder(), Follower()
        self.seen: list[httpx.Request] = []
        self.down = 0
        self.cuts = False
        behind = httpx.ASGITransport(create_app(self.leader, login=login, hosts=hosts))
        made = httpx.AsyncClient

        class Transport(httpx.AsyncBaseTransport):
            async def handle_async_request(_, request: httpx.Request) -> httpx.Response:  # noqa: N805
                if self.down:
                    self.down -= 1
                    raise httpx.ConnectError("nobody there", request=request)
                if self.cuts:
                    raise httpx.ReadError("cut", request=request)
                self.seen.append(request)
                return await behind.handle_async_request(request)

        monkeypatch.setattr(httpx, "AsyncClient", lambda **settings: made(transport=Transport(), trust_env=False))
        self.app: FastAPI = create_app(self.follower, login=login)
        self.client = made(transport=httpx.ASGITransport(self.app), base_url="http://here:8083")

    async def create(self, path: str = "/connectors", **options: object) -> httpx.Response:
        body = {"name": "shop", "config": {"connector.class": "Postgres", "topic.prefix": "shop"}}
        return await self.client.post(path, json=body, **options)  # type: ignore[arg-type]


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Pair:
    return Pair(monkeypatch)


async def test_a_call_goes_to_the_leader_and_its_answer_comes_back(pair: Pair) -> None:
    answer = await pair.create()
    assert answer.status_code == 201
    assert answer.json()["name"] == "shop"
    assert list(pair.leader.known) == ["shop"]
    # The Location has the client's name for this worker, as if it had answered itself.
    assert answer.headers["location"] == "http://here:8083/connectors/shop"
    (request,) = pair.seen
    assert str(request.url) == f"{OTHER}/connectors?forward=true"
    # What was changed there is known here when the client hears of it.
    assert pair.follower.caught == 1


async def test_reading_needs_no_catching_up(pair: Pair) -> None:
    pair.leader.add("shop")
    pair.follower.add("shop")
    assert (await pair.client.get("/connectors/shop/progress?x=1&y=%20")).status_code == 200
    assert str(pair.seen[0].url) == f"{OTHER}/connectors/shop/progress?x=1&y=%20&forward=true"
    assert pair.follower.caught == 0


async def test_the_leader_s_refusal_comes_back(pair: Pair) -> None:
    pair.leader.add("shop")
    answer = await pair.create()
    assert (answer.status_code, answer.json()) == (409, {"error_code": 409, "message": "Connector shop already exists"})
    assert pair.follower.caught == 0


async def test_a_name_is_sent_on_as_it_was_written(pair: Pair) -> None:
    pair.leader.add("a b/c")
    await pair.client.get("/connectors/a%20b%2Fc/progress")
    assert pair.seen[0].url.raw_path == b"/connectors/a%20b%2Fc/progress?forward=true"


@pytest.mark.parametrize(("given", "sent"), [("true", "false"), ("TRUE", "false"), ("maybe", "true")])
async def test_forward_counts_the_steps(pair: Pair, given: str, sent: str) -> None:
    await pair.create(f"/connectors?forward={given}")
    assert pair.seen[0].url.params["forward"] == sent


async def test_forward_false_goes_no_further(pair: Pair) -> None:
    answer = await pair.create("/connectors?forward=false")
    assert answer.status_code == 409
    assert answer.json()["message"] == "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
    assert pair.seen == []


async def test_a_call_waits_for_the_group(pair: Pair) -> None:
    pair.follower.leader = None
    pair.follower.decides = OTHER
    assert (await pair.create()).status_code == 201
    assert (pair.follower.changes, len(pair.seen)) == (1, 1)
    # The body was there for the second attempt too.
    assert pair.leader.known["shop"].config["topic.prefix"] == "shop"


async def test_a_lost_leader_is_asked_until_there_is_another(pair: Pair) -> None:
    pair.down = 3
    assert (await pair.create()).status_code == 201
    assert pair.follower.changes == 3


async def test_a_group_that_never_decides_is_a_409(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "_LIMIT_SECONDS", -1.0)
    pair.follower.leader = None
    answer = await pair.create()
    assert (answer.status_code, answer.json()["error_code"]) == (409, 409)


async def test_a_worker_that_breaks_off_is_reported(pair: Pair) -> None:
    pair.cuts = True
    answer = await pair.create()
    assert answer.status_code == 500
    assert answer.json()["message"].startswith(f"The worker {OTHER} did not answer the forwarded call (ReadError)")


async def test_the_login_goes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(monkeypatch, Login({"ann": "secret"}))
    assert (await pair.create()).status_code == 401
    assert (await pair.create(auth=("ann", "secret"))).status_code == 201


async def test_a_stream_is_passed_on_as_it_comes(pair: Pair) -> None:
    pair.leader.add("shop")

    class Streaming(Follower):
        def notifications(self, name: str, after: int) -> list[object]:  # type: ignore[override]
            raise Elsewhere(OTHER)

    pair.follower.__class__ = Streaming
    pair.follower.add("shop")
    answer = await asyncio.wait_for(pair.client.get("/connectors/shop/notifications", headers={"accept": "application/json"}), 5)
    assert (answer.status_code, answer.json()) == (200, [])


async def test_a_worker_that_accepts_only_its_own_host_names_is_called_by_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(monkeypatch, hosts=AllowedHosts(["other"]))
    answer = await pair.create()
    assert answer.status_code == 201
    assert pair.seen[0].headers["host"] == "other:8083"
    assert answer.headers["location"] == "http://here:8083/connectors/shop"


class Pausing(Follower):
    async def set_target_state(self, name: str, state: TargetState) -> None:
        raise Elsewhere(OTHER)


async def test_a_body_that_no_call_reads_is_limited_too(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    pair.follower.__class__ = Pausing
    too_long = await pair.client.put("/connectors/shop/pause", content=bytes(bodies.LIMIT + 1))
    assert (too_long.status_code, pair.seen) == (413, [])
    monkeypatch.setattr(bodies, "SECONDS", 0)

    messages: list[Any] = []
    began = False

    async def receive() -> Any:
        nonlocal began
        if began:
            await asyncio.Event().wait()
        began = True
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message: Any) -> None:
        messages.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "PUT",
        "path": "/connectors/shop/pause",
        "query_string": b"",
        "headers": [(b"host", b"h")],
    }
    await pair.app(scope, receive, send)
    assert (messages[0]["status"], pair.seen) == (408, [])


async def test_the_worker_that_was_asked_checks_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(monkeypatch, Login({"alice": "secret"}))
    own = {"Origin": "http://here:8083", "Sec-Fetch-Site": "same-origin"}
    assert (await pair.create(headers=own, auth=("alice", "secret"))).status_code == 201
    assert not {"origin", "sec-fetch-site"} & set(pair.seen[0].headers)
    other = {"Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"}
    assert (await pair.create(headers=other, auth=("alice", "secret"))).status_code == 403
    assert len(pair.seen) == 1


class NotesElsewhere(Follower):
    def notifications(self, name: str, after: int) -> Sequence[Note]:
        raise Elsewhere(OTHER)


class Endless(httpx.AsyncByteStream):
    def __init__(self, chunks: int | None = None) -> None:
        self.chunks = chunks
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        sent = 0
        while self.chunks is None or sent < self.chunks:
            yield b": still here\n\n"
            await asyncio.sleep(0)
            sent += 1

    async def aclose(self) -> None:
        self.closed = True


def streaming(stream: Endless) -> httpx.MockTransport:
    return httpx.MockTransport(lambda _: httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=stream))


async def test_a_stream_that_is_passed_on_ends_when_the_client_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, made = Endless(), httpx.AsyncClient
    monkeypatch.setattr(httpx, "AsyncClient", lambda **_: made(transport=streaming(stream)))
    streams = Streams(1)
    app = forwarding.Forwarding(answers_elsewhere, Follower(), streams)
    left, sent = asyncio.Event(), 0
    asked = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        for message in asked:
            return message
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(_message: Any) -> None:
        nonlocal sent
        sent += 1
        if sent == 3:
            left.set()

    await asyncio.wait_for(app({"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}, receive, send), 5)
    assert stream.closed
    streams.check()


async def test_a_stream_that_is_passed_on_ends_with_that_of_the_other_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, made = Endless(3), httpx.AsyncClient
    monkeypatch.setattr(httpx, "AsyncClient", lambda **_: made(transport=streaming(stream)))
    app = forwarding.Forwarding(answers_elsewhere, Follower(), Streams(1))
    async with made(transport=httpx.ASGITransport(app), base_url="http://here:8083") as client:
        answer = await asyncio.wait_for(client.get("/connectors/shop/notifications"), 5)
    assert (answer.status_code, answer.text) == (200, ": still here\n\n" * 3)


async def answers_elsewhere(_scope: Any, _receive: Any, _send: Any) -> None:
    raise Elsewhere(OTHER)


async def test_a_head_is_passed_on_as_one(pair: Pair) -> None:
    pair.follower.__class__ = NotesElsewhere
    pair.leader.add("shop")
    answer = await asyncio.wait_for(pair.client.head("/connectors/shop/notifications"), 5)
    assert (answer.status_code, answer.content) == (200, b"")
    assert [request.method for request in pair.seen] == ["HEAD"]
