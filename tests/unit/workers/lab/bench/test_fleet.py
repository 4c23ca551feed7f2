"""The calls that the phases `rest` and `console` measure exist, so that no figure is that of a refusal."""

from __future__ import annotations

import json

import httpx
import pytest
from fastapi import FastAPI

from tests.support.console_site import shop, site
from tests.support.fake_herder import CLASS
from workers.lab.bench.__main__ import FLEETS
from workers.lab.bench.rest.caller import Call
from workers.lab.bench.rest.fleet import Kinds, Member, table

MEMBERS = [Member("orders", "RUNNING"), Member("archive", "PAUSED")]


def config(name: str) -> bytes:
    return json.dumps({"connector.class": CLASS, "topic.prefix": name}).encode()


async def answer(app: FastAPI, call: Call) -> int:
    line, *headers = call.head.decode().split("\r\n")[:-2]
    method, path, _ = line.split(" ")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bench") as client:
        sent = dict(header.split(": ", 1) for header in headers)
        return (await client.request(method, path, headers=sent, content=call.body)).status_code


@pytest.mark.parametrize("kinds", FLEETS.values(), ids=FLEETS)
async def test_each_call_is_answered_as_expected(kinds: Kinds) -> None:
    app = site(shop())
    answers = {title: (await answer(app, calls[0]), calls[0].expected) for title, calls in kinds(MEMBERS, config)}
    assert {title: found for title, found in answers.items() if found[0] != found[1]} == {}


def test_the_table_shows_three_percentiles() -> None:
    times = {"p50": 1.0, "p95": 2.0, "p99": 3.0, "max": 4.0}
    shown = table({"connectors": 2, "running": 1, "ms": {"GET /ui": {"1": times}}})
    assert "GET /ui" in shown
    assert "1.0 / 2.0 / 3.0" in shown
