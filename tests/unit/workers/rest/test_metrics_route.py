"""The routes of metrics and of Jolokia: login, parameters, and what a browser may not do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping

import httpx
import pytest
from fastapi import FastAPI

from connect_api.login import Login
from workers.rest.jolokia_route import add_jolokia
from workers.rest.metrics_route import add_metrics, metrics_app

LOGIN = ("ops", "secret")


async def exposition(accept: str, names: Collection[str]) -> tuple[bytes, str]:
    return f"{accept} {sorted(names)}".encode(), "text/x"


class Agent:
    async def get(self, path: str, options: Mapping[str, str]) -> tuple[int, bytes, str]:
        return 200, f"get {path} {dict(options)}".encode(), "text/x"

    async def post(self, body: bytes, options: Mapping[str, str]) -> tuple[int, bytes, str]:
        return 200, b"post " + body, "text/x"

    def other_method(self, method: str) -> tuple[int, bytes, str]:
        return 200, method.encode(), "text/x"


def client(login: Login | None = None) -> httpx.AsyncClient:
    app = FastAPI()
    add_metrics(app, exposition, login=login)
    add_jolokia(app, Agent(), login=login)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://worker:8083")


async def test_a_scrape_names_its_format_and_its_series() -> None:
    async with client() as http:
        answer = await http.get("/metrics?name[]=b&name[]=a", headers={"Accept": "x"})
    assert (answer.text, answer.headers["content-type"]) == ("x ['a', 'b']", "text/x")


@pytest.mark.parametrize("path", ["/metrics", "/jolokia", "/jolokia/version"])
async def test_both_need_the_login(path: str) -> None:
    async with client(Login(dict([LOGIN]))) as http:
        assert (await http.get(path)).status_code == 401
        assert (await http.get(path, auth=("ops", "wrong"))).status_code == 401
        assert (await http.get(path, auth=LOGIN)).status_code == 200


async def test_the_port_of_the_agent_needs_none() -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(metrics_app(exposition)), base_url="http://worker:9404") as http:
        assert (await http.get("/metrics", headers={"Accept": "x"})).text == "x []"
        assert (await http.get("/", headers={"Accept": "y"})).text == "y []"
        assert (await http.get("/-/healthy")).status_code == 200
        assert (await http.get("/connectors")).status_code == 404


async def test_requests_of_jolokia() -> None:
    async with client() as http:
        assert (await http.get("/jolokia/read/a:b=c?maxDepth=2")).text == "get read/a:b=c {'maxDepth': '2'}"
        assert (await http.get("/jolokia/")).text == "get  {}"
        assert (await http.get("/jolokia/?p=/read/a:b=c")).text == "get read/a:b=c {'p': '/read/a:b=c'}"
        assert (await http.get("/jolokia/version?p=read/a:b=c")).text == "get version {'p': 'read/a:b=c'}"
        assert (await http.post("/jolokia", content=b"{}")).text == "post {}"
        assert (await http.put("/jolokia/")).text == "PUT"
        assert (await http.post("/jolokia", content=b"x" * 2_000_000)).status_code == 413


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://worker:8083", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Referer": "http://worker:8083/ui"}, 200),
        ({"Referer": "http://elsewhere.example/"}, 403),
        ({"Referer": "http://[/"}, 403),
    ],
)
async def test_a_page_of_another_site_can_execute_nothing(headers: dict[str, str], status: int) -> None:
    async with client() as http:
        assert (await http.post("/jolokia/", content=b"{}", headers=headers)).status_code == status
        assert (await http.get("/jolokia/exec/a:b=c/signal", headers=headers)).status_code == status


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("exec/a:b=c/signal", {}, 403),
        ("/ex!ec/a:b=c/signal", {}, 403),
        ("EXEC/a:b=c/signal", {}, 403),
        ("?p=exec/a:b=c/signal", {}, 403),
        ("?p=//EXEC/a:b=c/signal", {}, 403),
        ("exec/a:b=c/signal", {"Referer": "http://worker:8083/ui"}, 200),
        ("exec/a:b=c/signal", {"Sec-Fetch-Site": "none"}, 200),
        ("exec/a:b=c/signal", {"User-Agent": "curl/8.5"}, 200),
        ("read/a:b=c", {}, 200),
    ],
)
async def test_a_browser_s_get_executes_nothing_if_its_page_is_unknown(path: str, headers: dict[str, str], status: int) -> None:
    async with client() as http:
        answer = await http.get(f"/jolokia/{path}", headers={"User-Agent": "Mozilla/5.0 (X11)", **headers})
        assert answer.status_code == status


async def test_a_body_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connect_api.bodies.SECONDS", 0.01)

    async def endless() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    async with client() as http:
        answer = await http.post("/jolokia", content=endless())
    assert (answer.status_code, answer.text[:36]) == (408, "The request body did not end within ")


async def test_jsonp_is_refused() -> None:
    async with client() as http:
        assert (await http.get("/jolokia/version?callback=x")).status_code == 403
