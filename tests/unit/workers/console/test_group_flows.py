"""The figures of connectors that other workers of the group run."""

from __future__ import annotations

import asyncio
import base64
import re
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from connect_api.login import Login
from tests.support.console_site import OTHER, FakeWorker, served, shop, site
from workers.console import group_flows
from workers.console.flow import Bar, Flow
from workers.console.group_flows import OtherWorkers

HOST = "http://console.example:8083"
THEIRS = {
    "parcels": Flow("streaming", (1.0, 2.0, 31.0), 2048, 1500, None),
    "returns": Flow("snapshot", (), 0, None, Bar(7, 9, "0 of 1 tables", "3 s")),
}


@pytest.fixture
def worker() -> FakeWorker:
    """Runs four connectors. Another worker runs two."""
    found = shop()
    found.elsewhere = dict(THEIRS)
    for name in THEIRS:
        found.add(name)
    return found


@asynccontextmanager
async def browser(worker: FakeWorker) -> Any:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(site(worker)), base_url=HOST) as client:
        yield client


def cells(page: str, connector: str) -> dict[str, str]:
    """The cells of the connector's row in the overview, by their labels."""
    [row] = [each for each in page.split("<tr>") if f'/ui/connectors/{connector}"' in each]
    return {label: text.strip() for label, text in re.findall(r'<td data-label="([^"]+)"[^>]*>(.*?)</td>', row, re.DOTALL)}


async def test_the_overview_shows_the_figures_of_other_workers(worker: FakeWorker) -> None:
    async with browser(worker) as client:
        page = (await client.get("/ui")).text
        members = (await client.get("/ui/workers")).text
    parcels, returns = cells(page, "parcels"), cells(page, "returns")
    assert (parcels["Phase"], parcels["Events/s"], parcels["Unconfirmed"], parcels["Lag"]) == ("streaming", "31", "2.0 KB", "2 s")
    assert "<polyline points=" in parcels["Ten minutes"]
    assert (parcels["Worker"], returns["Phase"]) == (OTHER, "snapshot")
    assert "7 of about 9 rows, 0 of 1 tables, 3 s left" in page
    assert "did not answer" not in page
    assert members.count("this worker") == 1


async def test_a_silent_worker_s_figures_are_shown_as_unknown(worker: FakeWorker) -> None:
    worker.silent = True
    async with browser(worker) as client:
        page = (await client.get("/ui/overview")).text
        one = (await client.get("/ui/connectors/parcels/live")).text
        ours = (await client.get("/ui/connectors/orders/live")).text
    assert f"{OTHER} did not answer" in page
    assert [cells(page, name)["Phase"] for name in ("orders", "parcels", "returns", "archive")] == ["streaming", "unknown", "unknown", ""]
    assert f"{OTHER} did not answer" in one
    assert "Events/s" in ours
    assert "did not answer" not in ours


async def test_the_page_of_a_connector_shows_the_figures_of_its_worker(worker: FakeWorker) -> None:
    async with browser(worker) as client:
        page = (await client.get("/ui/connectors/parcels")).text
    assert "2.0 KB" in page
    assert "2 s" in page


async def test_a_console_gives_only_the_flows_that_run_here(worker: FakeWorker) -> None:
    async with browser(worker) as client:
        everything, one = (await client.get("/ui/flows")).json(), (await client.get("/ui/flows?connector=orders")).json()
    assert (set(everything), set(one)) == ({"orders", "customers"}, {"orders"})
    assert len(one["orders"]["rates"]) == 8


async def test_workers_ask_each_other_with_the_visitor_s_login() -> None:
    answer = '{"orders": {"phase": "streaming", "rates": [1.5], "unconfirmed": 3, "lag_ms": null, "snapshot": null}}'
    asked = list[tuple[str, str, str]]()
    login = "Basic " + base64.b64encode(b"ada:pw").decode()

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append((str(request.url), request.headers["authorization"], request.headers.get("cookie", "")))
        return httpx.Response(200, text=answer)

    workers = asking(reply)
    headers = {"authorization": login, "cookie": "understudy_csrf=x", "host": "here"}
    assert await workers.ask(f"http://{OTHER}/", headers, "") == {"orders": Flow("streaming", (1.5,), 3, None, None)}
    await workers.ask(f"http://{OTHER}", headers, "a b")
    assert asked == [(f"http://{OTHER}/ui/flows", login, ""), (f"http://{OTHER}/ui/flows?connector=a+b", login, "")]


@pytest.mark.parametrize("answer", ["", "[]", '{"a": 1}', '{"a": {"phase": "x"}}', '{"a": {"phase": "x", "rates": ["y"]}}'])
async def test_an_answer_of_another_form_is_none(answer: str) -> None:
    assert await asking(lambda _request: httpx.Response(200, text=answer)).ask("http://a", {}, "") is None


async def test_a_refusal_is_none() -> None:
    assert await asking(lambda _request: httpx.Response(401, text="{}")).ask("http://a", {}, "") is None


async def test_a_page_waits_for_another_worker_no_longer_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_flows, "SECONDS", 0.01)
    never = asyncio.Event()

    async def reply(_request: httpx.Request) -> httpx.Response:
        await never.wait()
        raise AssertionError

    assert await asking(reply).ask("http://a", {}, "") is None


async def test_one_console_asks_another_until_it_is_gone() -> None:
    workers = OtherWorkers()
    with served(shop()) as address:
        assert set(await workers.ask(address, {}, "orders") or ()) == {"orders"}
    assert await workers.ask(address, {}, "orders") is None
    assert workers._client is not None
    await workers._client.aclose()


async def test_the_flows_need_the_login() -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(site(shop(), login=Login({"ada": "pw"}))), base_url=HOST) as client:
        assert (await client.get("/ui/flows")).status_code == 401


def asking(reply: Any) -> OtherWorkers:
    """Asks ``reply`` in place of the network."""
    workers = OtherWorkers()
    workers._client = httpx.AsyncClient(transport=httpx.MockTransport(reply))
    return workers
