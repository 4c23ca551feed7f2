"""The notification channel ``http`` against a server of the test's own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest

from connector.io.http_post import post
from connector.notifications.notification import Notification
from connector.runner.notifications import http_notifications
from connector.runner.notifications.http_notifications import HttpChannel, HttpTarget

LIMIT = 10.0
MOST = 3


@dataclass
class Receiver:
    """Answers each request with the next status, the last one for all further requests, once ``answers`` is set."""

    statuses: list[int]
    bodies: list[dict[str, object]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line.partition(":")[2]) for line in head.splitlines() if line.lower().startswith("content-length"))
        self.heads.append(head)
        self.bodies.append(json.loads(await reader.readexactly(length)))
        self.asked.set()
        await self.answers.wait()
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        writer.write(f"HTTP/1.1 {status} Status\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    def ids(self) -> list[object]:
        return [body["id"] for body in self.bodies]


@asynccontextmanager
async def receiving(*statuses: int, answers: bool = True) -> AsyncIterator[tuple[Receiver, str]]:
    receiver = Receiver(list(statuses))
    if answers:
        receiver.answers.set()
    async with await asyncio.start_server(receiver.serve, "127.0.0.1", 0) as server:
        yield receiver, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"


def channel(url: str, *, retries: int = 0, private: bool = True) -> HttpChannel:
    return HttpChannel(HttpTarget(url, LIMIT, retries, private), partial(post, url, limit=LIMIT, private=private))


def notification(number: int) -> Notification:
    return Notification(f"n{number}", "Initial Snapshot", "COMPLETED", {"connector_name": "shop"}, 1_700_000_000_000)


def dropped(caplog: pytest.LogCaptureFixture) -> list[tuple[object, object]]:
    fields = [record.__dict__["fields"] for record in caplog.records if record.message == "notification dropped"]
    return [(each.get("attempts"), each["reason"]) for each in fields]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_notifications, "_FIRST_PAUSE_S", 0.0)


async def test_notifications_are_posted_as_json_in_their_order(caplog: pytest.LogCaptureFixture) -> None:
    async with receiving(204) as (receiver, url):
        sender = channel(url)
        for number in range(3):
            sender.send(notification(number))
        await sender.delivered()
    assert receiver.ids() == ["n0", "n1", "n2"]
    assert receiver.bodies[0] == {
        "aggregateType": "Initial Snapshot",
        "type": "COMPLETED",
        "additionalData": {"connector_name": "shop"},
        "timestamp": 1_700_000_000_000,
        "id": "n0",
    }
    assert receiver.heads[0].startswith("POST /hook ")
    assert "content-type: application/json" in receiver.heads[0].lower()
    assert dropped(caplog) == []


async def test_a_notification_that_is_not_accepted_is_posted_again(caplog: pytest.LogCaptureFixture) -> None:
    async with receiving(503, 500, 200) as (receiver, url):
        sender = channel(url, retries=2)
        sender.send(notification(0))
        await sender.delivered()
    assert receiver.ids() == ["n0", "n0", "n0"]
    assert dropped(caplog) == []


async def test_after_the_last_attempt_it_is_dropped_with_a_warning_and_the_next_is_posted(caplog: pytest.LogCaptureFixture) -> None:
    async with receiving(500, 500, 200) as (receiver, url):
        sender = channel(url, retries=1)
        sender.send(notification(0))
        sender.send(notification(1))
        await sender.delivered()
    assert receiver.ids() == ["n0", "n0", "n1"]
    assert dropped(caplog) == [(2, "HTTP 500")]


async def test_nothing_is_posted_after_the_end(caplog: pytest.LogCaptureFixture) -> None:
    async with receiving(200, answers=False) as (receiver, url):
        sender = channel(url, retries=5)
        for number in range(2):
            sender.send(notification(number))
        await receiver.asked.wait()
        await sender.close(0)
        sender.send(notification(2))
        receiver.answers.set()
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "http notifications"]
    assert receiver.ids() == ["n0"]
    assert dropped(caplog) == [(None, "the task has ended")] * 3


async def test_what_is_queued_at_the_end_has_a_short_time() -> None:
    async with receiving(200) as (receiver, url):
        sender = channel(url)
        for number in range(2):
            sender.send(notification(number))
        await sender.close(LIMIT)
        await sender.close(LIMIT)
    assert receiver.ids() == ["n0", "n1"]


async def test_nobody_listens(caplog: pytest.LogCaptureFixture) -> None:
    async with receiving(200) as (_, url):
        pass
    sender = channel(url, retries=1)
    sender.send(notification(0))
    await sender.delivered()
    assert dropped(caplog) == [(2, "ConnectError")]


async def test_a_private_address_is_refused_unless_it_is_allowed(caplog: pytest.LogCaptureFixture) -> None:
    async with receiving(200) as (receiver, url):
        sender = channel(url, private=False)
        sender.send(notification(0))
        await sender.delivered()
    assert receiver.bodies == []
    [(_, reason)] = dropped(caplog)
    assert "notification.http.allow.private.networks" in str(reason)


async def test_records_do_not_wait_for_an_address_that_does_not_answer(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_notifications, "MOST_WAITING", MOST)
    async with receiving(200, answers=False) as (receiver, url):
        sender = channel(url)
        sender.send(notification(0))
        await receiver.asked.wait()
        # Each of these calls returns while the first request is still open.
        for number in range(1, MOST + 1):
            sender.send(notification(number))
        assert receiver.ids() == ["n0"]
        assert dropped(caplog) == [(None, "too many notifications wait")]
        receiver.answers.set()
        await sender.delivered()
    assert receiver.ids() == [f"n{number}" for number in range(MOST)]
