"""Loggers: the scope, the words of levels, and the shape of answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.each_case import each_case
from tests.support.fake_herder import FakeHerder, failure, rest


async def test_reading() -> None:
    async with rest(FakeHerder()) as http:
        listed = await http.get("/admin/loggers/")
        read = await http.get("/admin/loggers/connector")
        missing = await http.get("/admin/loggers/io.debezium")
    assert listed.content == b'{"connector":{"level":"DEBUG","last_modified":7},"root":{"level":"INFO","last_modified":null}}'
    assert read.json() == {"level": "DEBUG", "last_modified": 7}
    assert (missing.status_code, missing.json()) == (404, failure(404, "Logger io.debezium not found."))


@pytest.mark.parametrize("query", ["", "?scope=worker", "?scope=", "?scope=bogus", "?scope=Worker"])
async def test_the_worker_s_loggers(query: str) -> None:
    herder = FakeHerder()
    async with rest(herder) as http:
        reply = await http.put(f"/admin/loggers/a%20b{query}", json={"level": " debug ", "more": "x"})
    assert (reply.status_code, reply.json()) == (200, ["a b", "a b.below"])
    assert herder.calls == [("level", "a b", "debug")]


@pytest.mark.parametrize("scope", ["cluster", "CLUSTER"])
async def test_the_cluster_s_is_handed_on_as_it_was_written(scope: str) -> None:
    herder = FakeHerder()
    async with rest(herder) as http:
        reply = await http.put(f"/admin/loggers/root?scope={scope}", json={"level": "Debug"})
    assert (reply.status_code, reply.content) == (204, b"")
    assert herder.calls == [("cluster level", "root", "Debug")]


@each_case("scope", ["worker", "cluster"])
@each_case(
    ("body", "status", "message"),
    [
        ({}, 400, "Desired 'level' parameter was not specified in request."),
        ({"level": None}, 400, "Desired 'level' parameter was not specified in request."),
        ({"level": "SILLY"}, 404, "invalid log level 'SILLY'."),
        ({"level": "WARNING"}, 404, "invalid log level 'WARNING'."),
        ({"level": 5}, 404, "invalid log level '5'."),
        ({"level": " "}, 400, 'The field "level" is empty. Name one of ALL, DEBUG, ERROR, FATAL, INFO, OFF, TRACE, WARN.'),
    ],
)
async def test_levels_that_are_none(scope: str, body: dict[str, Any], status: int, message: str) -> None:
    herder = FakeHerder()
    async with rest(herder) as http:
        reply = await http.put(f"/admin/loggers/connector?scope={scope}", json=body)
    assert (reply.status_code, reply.json(), herder.calls) == (status, failure(status, message), [])


@each_case("level", ["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL", "trace"])
async def test_all_levels(level: str) -> None:
    async with rest(FakeHerder()) as http:
        assert (await http.put("/admin/loggers/connector", json={"level": level})).status_code == 200
