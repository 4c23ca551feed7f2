"""Lists of requests: what is read once, what is executed, and what they may cost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from workers.telemetry.jolokia import answers
from workers.telemetry.jolokia.answers import Jolokia
from workers.telemetry.mbean import MBean, MBeanTable, Operation

READ = {"type": "read", "mbean": "d:type=m", "attribute": "signals"}
EXEC = {"type": "exec", "mbean": "d:type=m", "operation": "signal", "arguments": ["a"]}


class Worker:
    """A worker with an MBean that counts its signals, and with a table of topics."""

    def __init__(self) -> None:
        self.signals: list[str | None] = []
        self.taken = 0
        self.agent = Jolokia(self.each, lambda: 5.0, {})

    def each(self) -> Iterator[MBean | MBeanTable]:
        self.taken += 1
        yield MBean(
            "d", (("type", "m"),), {"signals": len(self.signals)}, (Operation("signal", ("java.lang.String",), self.signals.append),)
        )
        yield MBeanTable("d", [(("topic", str(at)),) for at in range(100)], {"sent": [1.0] * 100})

    async def post(self, given: Any) -> Any:
        return orjson.loads((await self.agent.post(orjson.dumps(given), {}))[1])


async def test_mbeans_are_taken_once_and_again_after_an_operation() -> None:
    worker = Worker()
    answer = await worker.post([READ, READ, {"type": "list"}, {"type": "version"}])
    assert (worker.taken, [each["status"] for each in answer]) == (1, [200] * 4)
    found = await worker.post([READ, EXEC, READ])
    assert ([each["value"] for each in found], worker.taken) == ([0, None, 1], 3)
    await worker.post({"type": "version"})
    assert worker.taken == 3


@pytest.mark.parametrize(
    ("second", "error"),
    [
        (5, 'Not a request within the list of requests [{"type":"version"},5]. Expected map, but found: 5'),
        ({}, "No type given"),
        ({"type": "read", "mbean": "nonsense"}, "Invalid object name. Key properties cannot be empty"),
        ({"type": "read"}, "Objectname can not be null"),
    ],
)
async def test_a_list_with_a_request_that_cannot_be_read_is_refused_as_a_whole(second: object, error: str) -> None:
    assert await Worker().post([{"type": "version"}, second]) == {
        "error_type": "java.lang.IllegalArgumentException",
        "error": f"java.lang.IllegalArgumentException : {error}",
        "status": 400,
    }


async def test_nothing_of_a_refused_list_is_executed() -> None:
    worker = Worker()
    assert (await worker.agent.post(orjson.dumps([EXEC, {"type": "reed"}]), {}))[0] == 400
    deep = orjson.loads("[" * 100 + "]" * 100)
    answer = await worker.post({**EXEC, "arguments": [deep]})
    assert (answer["error"], answer["status"]) == (
        "java.lang.IllegalArgumentException : A request may nest objects and arrays 100 deep",
        400,
    )
    assert worker.signals == []


async def test_an_answer_that_is_large_ends_with_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker()
    monkeypatch.setattr(answers, "_LARGEST", 5_000)
    found = await worker.post([EXEC, {"type": "list"}, READ, EXEC])
    assert [each["status"] for each in found] == [200, 200, 413, 413]
    assert found[3]["error"] == (
        "java.lang.IllegalStateException : The answer has 5000 bytes, and this request was not executed. Send fewer at once"
    )
    assert worker.signals == ["a"]
    assert (await worker.post({"type": "list"}))["status"] == 200


@pytest.mark.parametrize(
    "request_",
    [
        {"type": "list"},
        {"type": "search", "mbean": "*:*"},
        {"type": "read", "mbean": "*:*"},
        [{"type": "version"}] * 100,
    ],
)
async def test_others_run_while_it_answers(request_: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.telemetry.loop_turns.SECONDS", 0.0)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(other())
        await Worker().post(request_)
        running.cancel()
    assert turns > 100


async def test_too_many_requests() -> None:
    assert (await Worker().post([{"type": "version"}] * 1_001))["status"] == 400
