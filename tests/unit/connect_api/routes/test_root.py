from __future__ import annotations

from typing import Literal

import pytest

from connect_api.herder import Health
from tests.support.fake_herder import FakeHerder, rest


async def test_worker_returns_its_version_in_the_reference_s_order() -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.get("/")
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/json"
    assert reply.text == '{"version":"4.3.0","commit":"a9ce3221537b8653","kafka_cluster_id":"aOJQVFq4Teia2MZgCiCxeA"}'


async def test_health_of_a_started_worker() -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.get("/health")
    assert reply.status_code == 200
    assert reply.text == '{"status":"healthy","message":"Worker has completed startup and is ready to handle requests."}'


@pytest.mark.parametrize(("word", "status"), [("healthy", 200), ("starting", 503), ("unhealthy", 500)])
async def test_health_status_code_follows_the_word(word: Literal["healthy", "starting", "unhealthy"], status: int) -> None:
    async with rest(FakeHerder(state=Health(word, "why"))) as http:
        reply = await http.get("/health")
    assert (reply.status_code, reply.json()) == (status, {"status": word, "message": "why"})
