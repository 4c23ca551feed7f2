from __future__ import annotations

from typing import Any

import pytest

from workers.rest.startup_gate import StartupGate


async def call(gate: StartupGate, path: str) -> tuple[int, bytes]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    await gate({"type": "http", "path": path}, receive, send)
    return sent[0]["status"], sent[1]["body"]


async def app(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"app"})


class Readiness:
    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, seconds: float) -> bool:
        self.asked += 1
        return self.answers.pop(0)


@pytest.mark.parametrize("path", ["/", "/health"])
async def test_a_starting_worker_describes_itself(path: str) -> None:
    readiness = Readiness()
    assert await call(StartupGate(app, readiness), path) == (200, b"app")
    assert readiness.asked == 0


async def test_other_calls_wait_once() -> None:
    readiness = Readiness(True)
    gate = StartupGate(app, readiness)
    assert await call(gate, "/connectors") == (200, b"app")
    assert await call(gate, "/connectors") == (200, b"app")
    assert readiness.asked == 1


async def test_a_worker_that_is_not_ready_answers_500_and_is_asked_again() -> None:
    gate = StartupGate(app, Readiness(False, True))
    status, body = await call(gate, "/connectors")
    assert status == 500
    assert b'"error_code":500' in body
    assert (await call(gate, "/connectors"))[0] == 200
