"""Changes that a page of another site causes with the login that the browser keeps."""

from __future__ import annotations

from functools import cache
from typing import cast

import httpx
from fastapi import FastAPI

from connect_api.app import create_app
from connect_api.cross_origin import CrossOrigin
from connect_api.herder import Herder
from connect_api.login import Login
from tests.support.each_case import each_case
from tests.support.fake_herder import FakeHerder

LOGIN = ("alice", "secret")
HERE, OTHER, ALLOWED = "http://connect:8083", "https://elsewhere.example", "https://ui.example"


@cache
def app(*, login: bool) -> FastAPI:
    rules = CrossOrigin(lambda origin: origin == ALLOWED)
    return create_app(cast("Herder", FakeHerder()), login=Login(dict([LOGIN])) if login else None, cross_origin=rules)


def client(*, login: bool = True) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app(login=login)), base_url=HERE, auth=LOGIN)


@each_case(
    ("headers", "refused"),
    [
        ({}, False),
        ({"Origin": HERE}, False),
        ({"Origin": HERE.upper().replace("HTTP", "http")}, False),
        ({"Origin": HERE, "Sec-Fetch-Site": "same-origin"}, False),
        ({"Sec-Fetch-Site": "none"}, False),
        ({"Origin": ALLOWED, "Sec-Fetch-Site": "cross-site"}, False),
        ({"Origin": "http://proxy:80", "X-Forwarded-Host": "proxy:80"}, False),
        # A proxy changed Host, but the browser knows the page.
        ({"Origin": "http://localhost:8000", "Sec-Fetch-Site": "same-origin"}, False),
        ({"Origin": OTHER}, True),
        ({"Origin": OTHER, "Sec-Fetch-Site": "same-site"}, True),
        ({"Origin": "null"}, True),
        ({"Origin": "http://["}, True),
        ({"Sec-Fetch-Site": "cross-site"}, True),
    ],
)
@each_case(("method", "path"), [("POST", "/connectors/none/restart"), ("PUT", "/connectors/none/pause")])
async def test_a_change_from_another_site_is_refused(method: str, path: str, headers: dict[str, str], refused: bool) -> None:
    async with client() as http:
        answer = await http.request(method, path, headers=headers)
    assert (answer.status_code == 403) is refused
    if refused:
        assert answer.json()["message"].startswith("The request comes from a page of another site.")


async def test_reading_is_left_to_the_browser() -> None:
    async with client() as http:
        assert (await http.get("/connectors", headers={"Origin": OTHER, "Sec-Fetch-Site": "cross-site"})).status_code == 200


async def test_the_login_is_asked_for_first() -> None:
    async with client() as http:
        answer = await http.post("/connectors/none/restart", headers={"Origin": OTHER}, auth=("alice", "wrong"))
    assert answer.status_code == 401


async def test_without_a_login_nothing_changes() -> None:
    async with client(login=False) as http:
        assert (await http.post("/connectors/none/restart", headers={"Origin": OTHER})).status_code != 403
