"""Requests that were sent to the real agent are answered as it answered them."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson

from tests.support.each_case import each_case
from tests.support.project import ROOT
from workers.telemetry.jolokia.answers import Jolokia
from workers.telemetry.mbean import MBean, Operation

RECORDED: Final[Any] = json.loads((ROOT / "tests/unit/workers/telemetry/jolokia/jolokia_recorded.json").read_text())
Signals = list[tuple[str | None, ...]]


def agent(signals: Signals) -> Jolokia:
    """An agent over the recorded MBeans."""

    def take(*arguments: str | None) -> None:
        signals.append(arguments)

    operations = {
        "signals": (Operation("signal", ("java.lang.String",) * 3, take),),
        "notifications": (Operation("reset", (), lambda: None),),
    }
    beans = [
        MBean(
            bean["domain"],
            tuple((key, value) for key, _, value in (each.partition("=") for each in bean["keys"])),
            bean["attributes"],
            operations.get(bean["keys"][1].partition("=")[2], ()) if len(bean["keys"]) > 1 else (),
        )
        for bean in RECORDED["beans"]
    ]
    return Jolokia(lambda: beans, lambda: 1795573353.2, {"agent_id": "x"})


async def call(jolokia: Jolokia, recorded: dict[str, Any]) -> tuple[int, Any]:
    """Status and content of the answer."""
    url = urlsplit(recorded["path"])
    options = dict(parse_qsl(url.query))
    match recorded["method"]:
        case "GET":
            status, content, kind = await jolokia.get(unquote(url.path).removeprefix("/"), options)
        case "POST":
            status, content, kind = await jolokia.post(body(recorded["body"]), options)
        case other:
            status, content, kind = jolokia.other_method(other)
    return status, orjson.loads(content) if kind.startswith("application/json") else content.decode()


def body(given: Any) -> bytes:
    return str(given["raw"]).encode() if isinstance(given, dict) and "raw" in given else orjson.dumps(given)


def comparable(answer: Any, *, ordered: bool) -> Any:
    """The answer without what differs by its meaning: times, the agent's own description, the order of names."""
    if isinstance(answer, list):
        return [comparable(each, ordered=ordered) for each in answer]
    if not isinstance(answer, dict):
        return answer
    found = {key: value for key, value in answer.items() if key != "timestamp"}
    kind = found.get("request", {}).get("type")
    if kind == "version":
        found["value"] = {key: found["value"][key] for key in ("agent", "protocol")}
    if kind == "search" and not ordered:
        found["value"] = sorted(found["value"])
    return found


@each_case("recorded", RECORDED["calls"], ids=lambda each: f"{each['method']} {each['path']} {json.dumps(each['body'])}"[:150])
async def test_answers_are_the_recorded_ones(recorded: dict[str, Any]) -> None:
    status, answer = await call(agent([]), recorded)
    expected = recorded["answer"]
    if recorded["body"] and isinstance(recorded["body"], dict) and recorded["body"].get("path") == "lsn":
        # The recording had reset the MBean just before.
        expected = {**expected, "value": "26564992"}
    assert (status, comparable(answer, ordered=False)) == (recorded["status"], comparable(expected, ordered=False))


async def test_a_signal_arrives() -> None:
    signals: Signals = []
    for recorded in RECORDED["calls"]:
        if "signals" in recorded["path"] or (recorded["body"] and "operation" in recorded["body"]):
            await call(agent(signals), recorded)
    assert signals == [
        ("s1", "log", '{"message":"hello"}'),
        ("s2", "log", '{"message":"hello"}'),
        ("s3", "log", '{"message":"hello"}'),
        ("s4", "log", None),
        ("s5", "nope", ""),
        ("s6", "log", '{"message":"obj"}'),
    ]
