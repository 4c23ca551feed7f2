from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx
import pytest

from connect_api.herder import Offset, SignalRequest
from connect_api.login import Login
from connector.errors import CdcError, ErrorKind
from tests.support.console_site import FakeWorker, shop, site
from tests.support.each_case import each_case
from workers.console import config_form
from workers.records.latest import StoredRecord

HOST = "http://console.example:8083"


@asynccontextmanager
async def browser(worker: FakeWorker, *, login: Login | None = None, read_only: bool = False) -> AsyncIterator[httpx.AsyncClient]:
    app = site(worker, login=login, read_only=read_only)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOST) as client:
        yield client


async def token(client: httpx.AsyncClient, path: str = "/ui/connectors/orders") -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', (await client.get(path)).text)
    assert found is not None
    return found[1]


async def base_of(client: httpx.AsyncClient) -> str:
    """The mark of the configuration in the form that is opened now."""
    found = re.search(r'name="base" value="([^"]+)"', (await client.get("/ui/connectors/orders/config")).text)
    assert found is not None
    return found[1]


async def act(client: httpx.AsyncClient, path: str, **form: str) -> httpx.Response:
    form = {"csrf": await token(client), **form}
    return await client.post(path, data=form, headers={"Origin": HOST})


PAGES = (
    "/ui",
    "/ui/overview",
    "/ui/workers",
    "/ui/plugins",
    "/ui/new",
    "/ui/new?mode=raw",
    *(f"/ui/connectors/orders{path}" for path in ("", "/live", "/ladder", "/offsets", "/config", "/config?mode=raw")),
)


@each_case("path", PAGES)
async def test_every_page_is_shown_without_secrets_or_inline_code(path: str) -> None:
    async with browser(shop()) as client:
        answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    assert "pa55" not in answer.text
    assert not re.search(r"<script(?![^>]*src=)|<style|style=| on\w+=", answer.text)
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"


async def test_the_overview_shows_failures_first_and_escapes_names() -> None:
    async with browser(shop()) as client:
        text = (await client.get("/ui")).text
    assert "&lt;b&gt;returns&lt;/b&gt;" in text
    assert "<b>returns" not in text
    names = re.findall(r'<th scope="row"><a href="/ui/connectors/([^"]+)"', text)
    assert names == ["%3Cb%3Ereturns%3C%2Fb%3E", "archive", "customers", "orders"]
    assert "password wrong" in text
    assert "620 of about 1\u2009020 rows, 1 of 2 tables, 2 s left" in text
    assert 'class="spark"' in text
    assert "3.0 KB" in text


@pytest.mark.parametrize(
    ("action", "call"),
    [
        ("pause", ("target", "orders", "PAUSED")),
        ("resume", ("target", "orders", "STARTED")),
        ("stop", ("target", "orders", "STOPPED")),
        ("restart", ("restart", "orders", True, False)),
        ("delete", ("delete", "orders")),
        ("reset-offsets", ("reset", "orders")),
    ],
)
async def test_actions_reach_the_herder(action: str, call: tuple[object, ...]) -> None:
    worker = shop()
    async with browser(worker) as client:
        answer = await act(client, f"/ui/connectors/orders/actions/{action}")
    assert answer.status_code == 303, answer.text
    assert worker.calls == [call]


async def test_a_snapshot_of_tables_is_a_signal() -> None:
    worker = shop()
    async with browser(worker) as client:
        answer = await act(client, "/ui/connectors/orders/actions/snapshot", tables="public.a\r\n\r\npublic.b", kind="BLOCKING")
        empty = await act(client, "/ui/connectors/orders/actions/snapshot", tables=" ")
    assert answer.status_code == 303
    data = '{"type": "BLOCKING", "data-collections": ["public.a", "public.b"]}'
    assert worker.calls == [("signal", "orders", SignalRequest(None, "execute-snapshot", data))]
    assert (empty.status_code, "Name at least one table" in empty.text) == (400, True)


@pytest.mark.parametrize("headers", [{}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://[::1"}])
async def test_an_action_from_elsewhere_is_refused(headers: dict[str, str]) -> None:
    worker = shop()
    async with browser(worker) as client:
        form = {"csrf": await token(client)}
        answer = await client.post("/ui/connectors/orders/actions/pause", data=form, headers=headers)
    assert answer.status_code == 403
    assert worker.calls == []


async def test_an_action_without_the_pages_token_is_refused() -> None:
    worker = shop()
    async with browser(worker) as client:
        await token(client)
        wrong = await client.post("/ui/connectors/orders/actions/pause", data={"csrf": "x" * 43}, headers={"Origin": HOST})
        client.cookies.clear()
        none = await client.post("/ui/connectors/orders/actions/pause", data={"csrf": ""}, headers={"Origin": HOST})
    assert (wrong.status_code, none.status_code, worker.calls) == (403, 403, [])


async def test_read_only_refuses_actions_and_shows_none() -> None:
    worker = shop()
    async with browser(worker, read_only=True) as client:
        page = (await client.get("/ui/connectors/orders")).text
        form = {"csrf": await token(client, "/ui/connectors/orders/config")}
        answer = await client.post("/ui/connectors/orders/actions/pause", data=form, headers={"Origin": HOST})
    assert "<form" not in page
    assert (answer.status_code, worker.calls) == (403, [])


async def test_the_login_of_rest_holds_and_asks_the_browser() -> None:
    worker = shop()
    async with browser(worker, login=Login({"ada": "pw"})) as client:
        refused = await client.get("/ui/static/console.css")
        client.headers["Authorization"] = "Basic " + base64.b64encode(b"ada:pw").decode()
        shown = await client.get("/ui")
        answer = await act(client, "/ui/connectors/orders/actions/pause")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Basic ")
    assert (shown.status_code, answer.status_code, worker.calls) == (200, 303, [("target", "orders", "PAUSED")])


async def test_a_review_shows_the_difference_and_the_save_keeps_hidden_values() -> None:
    worker = shop()
    async with browser(worker) as client:
        form = {
            "base": await base_of(client),
            "p.topic.prefix": "shop",
            "p.database.hostname": "db2",
            "keep.database.password": "1",
            "p.database.password": "",
            "p.slot.name": "",
            "others": "transforms=a\n",
        }
        review = await act(client, "/ui/connectors/orders/config", **form)
        hidden = dict(re.findall(r'name="(base|raw)" value="([^"]*)"', review.text))
        raw = hidden["raw"].replace("&#34;", '"')
        saved = await act(client, "/ui/connectors/orders/save", base=hidden["base"], raw=raw)
        late = await act(client, "/ui/connectors/orders/save", base=hidden["base"], raw=raw)
    assert "<del>db</del>" in review.text
    assert "<ins>db2</ins>" in review.text
    assert "pa55" not in review.text
    assert saved.status_code == 303, saved.text
    config = worker.known["orders"].config
    assert (config["database.password"], config["database.hostname"], config["transforms"]) == ("pa55", "db2", "a")
    assert "slot.name" not in config
    assert late.status_code == 409


async def test_a_change_since_the_form_was_opened_is_not_lost() -> None:
    worker = shop()
    async with browser(worker) as client:
        form = {"base": await base_of(client), "p.topic.prefix": "shop"}
        worker.known["orders"].config["table.include.list"] = "public.b"
        review = await act(client, "/ui/connectors/orders/config", **form)
        save = await act(client, "/ui/connectors/orders/save", base=form["base"], raw="{}")
    assert (review.status_code, save.status_code) == (409, 409)
    assert "has changed since the form was opened" in review.text
    assert worker.known["orders"].config["table.include.list"] == "public.b"


async def test_the_mark_of_a_form_says_nothing_about_secrets() -> None:
    worker = shop()
    async with browser(worker) as client:
        before = await base_of(client)
        worker.known["orders"].config["database.password"] = "other"
        assert await base_of(client) == before


@pytest.mark.parametrize(
    ("chosen", "there", "mode"),
    [("2.3.4.Final", False, ["always", "never", "initial_only", "initial", "custom"]), ("3.6.3.Final", True, ["always", "initial_only"])],
)
async def test_the_form_is_that_of_the_chosen_version(chosen: str, there: bool, mode: list[str]) -> None:
    worker = shop()
    worker.known["orders"].config["connector.plugin.version"] = chosen
    async with browser(worker) as client:
        text = (await client.get("/ui/connectors/orders/config")).text
    assert ('name="p.slot.failover"' in text) is there
    select = re.search(r'<select id="f-snapshot-mode".*?</select>', text, re.DOTALL)
    assert select is not None
    assert re.findall(r"<option>(\w+)", select[0])[: len(mode)] == mode


async def test_a_choice_in_capital_letters_stays_as_it_is_written() -> None:
    worker = shop()
    worker.known["orders"].config["snapshot.mode"] = "Initial"
    async with browser(worker) as client:
        text = (await client.get("/ui/connectors/orders/config")).text
    assert '<option value="Initial" selected>initial</option>' in text


async def test_read_only_checks_stored_configurations_only() -> None:
    worker = shop()
    raw = config_form.raw(worker.known["orders"].config)
    async with browser(worker, read_only=True) as client:
        form = {"csrf": await token(client, "/ui/connectors/orders/config"), "connector": "orders"}
        same = await client.post("/ui/validate", data={**form, "raw": raw}, headers={"Origin": HOST})
        changed = raw.replace('"db"', '"elsewhere"')
        other = await client.post("/ui/validate", data={**form, "raw": changed}, headers={"Origin": HOST})
        new = await client.post(
            "/ui/new", data={"csrf": form["csrf"], "raw": '{"database.password": "${env:PW}"}'}, headers={"Origin": HOST}
        )
    assert "accept this configuration" in same.text
    assert "It checks stored configurations only." in other.text
    assert (new.status_code, "It checks stored configurations only." in new.text) == (403, True)


async def test_the_name_of_a_new_connector_has_no_blanks_around_it_and_can_be_opened() -> None:
    worker = shop()
    async with browser(worker) as client:
        made = await act(client, "/ui/create", raw='{"name": " new ", "connector.class": "x"}')
        dots = [await act(client, path, raw='{"name": ".."}') for path in ("/ui/new", "/ui/create")]
        checked = await act(client, "/ui/validate", raw='{"name": "."}')
    assert (made.status_code, made.headers["location"], worker.known["new"].config["name"]) == (303, "/ui/connectors/new", "new")
    assert [answer.status_code for answer in dots] == [400, 400]
    assert "A browser cannot open a connector named ." in checked.text


async def test_a_new_connector_is_created_after_its_review() -> None:
    worker = shop()
    async with browser(worker) as client:
        raw = '{"name": "new", "connector.class": "x", "topic.prefix": "p"}'
        review = await act(client, "/ui/new", raw=raw)
        made = await act(client, "/ui/create", raw=raw)
        wrong = await act(client, "/ui/validate", raw='{"name": "new"}')
        broken = await act(client, "/ui/validate", raw="{")
    assert 'action="/ui/create"' in review.text
    assert (made.status_code, made.headers["location"]) == (303, "/ui/connectors/new")
    assert "A value is required" in wrong.text
    assert "not valid JSON" in broken.text


async def test_unknown_pages_and_connectors_are_refused_with_a_page() -> None:
    async with browser(shop()) as client:
        answers = [await client.get(path) for path in ("/ui/nothing", "/ui/connectors/none", "/ui/static/x", "/ui/static/..%2fguard.py")]
    assert [answer.status_code for answer in answers] == [404] * 4
    assert "Connector none not found" in answers[1].text


async def test_the_latest_events_show_their_differences_and_hide_secrets() -> None:
    async with browser(shop()) as client:
        page = (await client.get("/ui/connectors/orders/events", params={"topic": "orders.public.orders"})).text
        part = (await client.get("/ui/connectors/orders/events/latest", params={"topic": "orders.public.orders"})).text
    assert 'hx-get="/ui/connectors/orders/events/latest?topic=orders.public.orders"' in page
    assert [part.index(word) for word in ("<b>tombstone", "<b>delete", "<b>update")] == sorted(
        part.index(word) for word in ("<b>tombstone", "<b>delete", "<b>update")
    )
    assert "<del>&#34;new&#34;</del> <ins>&#34;&lt;b&gt;paid&lt;/b&gt;&#34;</ins>" in part
    assert "<del>[hidden]</del> <ins>[hidden]</ins>" in part
    assert "k1" not in part


async def test_the_first_topic_is_shown_unless_one_is_named() -> None:
    async with browser(shop()) as client:
        page = (await client.get("/ui/connectors/orders/events")).text
        empty = (await client.get("/ui/connectors/orders/events/latest", params={"topic": "orders.public.items"})).text
        none = (await client.get("/ui/connectors/archive/events")).text
    assert "<option selected>orders.public.items</option>" in page
    assert "The topic has no records." in empty
    assert "No topic has been written to" in none


@pytest.mark.parametrize("topic", ["", "customers.public.customers", "connect-configs"])
async def test_only_topics_of_the_connector_are_read(topic: str) -> None:
    async with browser(shop()) as client:
        answer = await client.get("/ui/connectors/orders/events/latest", params={"topic": topic})
    assert (answer.status_code, "has not written to the topic" in answer.text) == (404, True)


async def test_no_rows_are_shown_where_they_are_switched_off() -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(site(shop(), read=None)), base_url=HOST) as client:
        page = await client.get("/ui/connectors/orders/events")
        part = await client.get("/ui/connectors/orders/events/latest", params={"topic": "orders.public.orders"})
    assert ("console.events=true" in page.text, 'hx-get="/ui/connectors/orders/events' in page.text) == (True, False)
    assert part.status_code == 404


async def test_a_record_shows_its_moment_or_the_number_that_is_none() -> None:
    async def read(_topic: str, _count: int) -> Sequence[StoredRecord]:
        return [StoredRecord(0, number, at, None, b"{}") for number, at in enumerate((1_795_000_020_345, -1, 2**63 - 1, -(2**63)))]

    async with httpx.AsyncClient(transport=httpx.ASGITransport(site(shop(), read=read)), base_url=HOST) as client:
        part = (await client.get("/ui/connectors/orders/events/latest", params={"topic": "orders.public.orders"})).text
    assert re.findall(r'class="small">(.*?) ·', part) == [
        "2026-11-18 11:07:00.345 UTC",
        "1969-12-31 23:59:59.999 UTC",
        f"timestamp {2**63 - 1}",
        f"timestamp {-(2**63)}",
    ]


async def test_a_topic_that_cannot_be_read_is_named_with_the_remedy() -> None:
    async def refuse(topic: str, _count: int) -> Sequence[StoredRecord]:
        raise CdcError(ErrorKind.STORE, f"The topic {topic} cannot be read", "Check that the brokers run.")

    async with httpx.AsyncClient(transport=httpx.ASGITransport(site(shop(), read=refuse)), base_url=HOST) as client:
        part = await client.get("/ui/connectors/orders/events/latest", params={"topic": "orders.public.orders"})
    assert "The topic orders.public.orders cannot be read. Check that the brokers run." in part.text


async def test_a_connector_that_cannot_start_shows_why() -> None:
    worker = shop()
    # It has no tasks.
    worker.add("broken", target="STOPPED", trace="The class x is unknown. Check connector.class\nCaused by: y")
    async with browser(worker) as client:
        text = (await client.get("/ui/connectors/broken/live")).text
    assert '<p class="error">The class x is unknown. Check connector.class</p>' in text
    assert "Caused by: y</pre>" in text


async def test_offsets_are_shown_as_json() -> None:
    worker = shop()
    worker.known["orders"].offsets = [Offset({"server": "orders"}, {"snapshot": True, "xmin": None, "last": "INITIAL"})]
    async with browser(worker) as client:
        text = (await client.get("/ui/connectors/orders/offsets")).text
    assert re.findall(r"<dd><code>(.*?)</code>", text) == ["true", "null", "INITIAL"]
