"""The console in a real Chromium: themes, a phone's width, the keyboard alone, read-only mode, and axe's rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Dialog, Page

from tests.support import browser
from tests.support.console_site import FakeWorker, served, shop
from workers.console.flow import Flow

PAGES = (
    "",
    "/connectors/orders",
    "/connectors/%3Cb%3Ereturns%3C%2Fb%3E",
    "/connectors/orders/config",
    "/connectors/orders/config?mode=raw",
    "/connectors/parcels",
    "/connectors/none",
    "/connectors/orders/offsets",
    "/connectors/orders/events?topic=orders.public.orders",
    "/new",
    "/new?mode=raw",
    "/plugins",
    "/workers",
)
PHONE = 375
COLORS = {"runOnly": ["color-contrast"]}
"""The rules for a page whose other theme was checked for all: only colors differ."""

# The browser and the server of a page run in threads and processes of their own.
pytestmark = [pytest.mark.server, browser.NEEDED]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.chromium() as running:
        yield running


@pytest.fixture(scope="module")
def shown() -> Iterator[tuple[str, FakeWorker]]:
    worker = shop()
    # Another worker of the group, which does not answer, runs one.
    worker.add("parcels")
    worker.elsewhere["parcels"], worker.silent = Flow("streaming", (), 0, None, None), True
    with served(worker) as address:
        yield f"{address}/ui", worker


def opened(page: Page, address: str) -> Page:
    page.goto(address)
    # A locator, since the pages' policy forbids to evaluate the text of a condition.
    page.locator("body:not(:has(.htmx-request))").wait_for()
    # The forms have many folds, and a click on each would wait for two frames.
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    return page


def reviewed(page: Page, address: str) -> Page:
    """The review of a changed configuration."""
    opened(page, f"{address}/connectors/orders/config").locator("[name='p.database.hostname']").fill("db2.example")
    with page.expect_navigation():
        page.get_by_role("button", name="Review").click()
    return page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_has_a_serious_finding_of_axe(theme: str, chromium: Browser, shown: tuple[str, FakeWorker]) -> None:
    context = chromium.new_context(color_scheme="dark" if theme == "dark" else "light")
    page, complaints = context.new_page(), list[str]()
    # The browser complains of each answer that is an error, as one of the pages is.
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" and "404" not in message.text else None)

    def check(path: str) -> None:
        found = Axe().run(page, options=None if theme == "light" else COLORS).response["violations"]
        for each in found:
            if each["impact"] in ("serious", "critical"):
                complaints.append(f"{path}: {each['id']}: {each['nodes'][0]['html']}")

    for path in PAGES:
        opened(page, shown[0] + path)
        check(path)
    reviewed(page, shown[0])
    check("review")
    context.close()
    assert complaints == []


def test_no_page_is_wider_than_a_phone(chromium: Browser, shown: tuple[str, FakeWorker]) -> None:
    context = chromium.new_context(viewport={"width": PHONE, "height": 700})
    page = context.new_page()
    widths = {path: opened(page, shown[0] + path).evaluate("document.documentElement.scrollWidth") for path in PAGES}
    widths["review"] = reviewed(page, shown[0]).evaluate("document.documentElement.scrollWidth")
    context.close()
    assert {path: width for path, width in widths.items() if width > PHONE} == {}


@pytest.mark.parametrize("path", ["", "/plugins"])
def test_a_phone_shows_lists_without_sideways_scrolling(path: str, chromium: Browser, shown: tuple[str, FakeWorker]) -> None:
    context = chromium.new_context(viewport={"width": PHONE, "height": 700})
    page = opened(context.new_page(), shown[0] + path)
    hidden = page.evaluate("[...document.querySelectorAll('.scroll')].map(each => each.scrollWidth - each.clientWidth)")
    context.close()
    assert hidden == [0]


def test_the_keyboard_alone_restarts_a_connector(chromium: Browser, shown: tuple[str, FakeWorker]) -> None:
    address, worker = shown
    context = chromium.new_context()
    page = opened(context.new_page(), address)
    asked = list[str]()

    def agree(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept()

    page.on("dialog", agree)
    for target in ("orders", "Restart"):
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent.trim()") == target:
                break
        with page.expect_navigation():
            page.keyboard.press("Enter")
    assert page.get_by_role("status").filter(has_text="The restart was requested.").is_visible()
    context.close()
    assert asked == ["Restart orders and its task?"]
    assert ("restart", "orders", True, False) in worker.calls


def test_the_form_is_checked_while_it_is_filled_in(chromium: Browser, shown: tuple[str, FakeWorker]) -> None:
    context = chromium.new_context()
    page = opened(context.new_page(), f"{shown[0]}/connectors/orders/config")
    page.get_by_text("accept this configuration").wait_for()
    page.locator("[name='p.topic.prefix']").fill("")
    page.locator("#findings").get_by_text("A value is required").wait_for()
    field = page.locator("[name='p.topic.prefix']")
    shown_at_field = page.locator("#f-topic-prefix-error")
    assert (shown_at_field.inner_text(), field.get_attribute("aria-invalid")) == (
        "The 'topic.prefix' value is invalid: A value is required",
        "true",
    )
    assert field.get_attribute("aria-describedby") == "f-topic-prefix-error f-topic-prefix-doc"
    field.fill("orders")
    page.get_by_text("accept this configuration").wait_for()
    assert (shown_at_field.count(), field.get_attribute("aria-invalid")) == (0, None)
    context.close()


def test_a_field_that_was_not_visited_shows_no_error(chromium: Browser, shown: tuple[str, FakeWorker]) -> None:
    context = chromium.new_context()
    page = opened(context.new_page(), f"{shown[0]}/new")
    findings = page.locator("#findings")
    findings.get_by_text("A value is required").wait_for()
    assert page.locator(".field > .error").count() == 0
    page.locator("[name='p.topic.prefix']").focus()
    page.locator("#name").fill("orders2")
    page.locator("#f-topic-prefix-error").wait_for()
    context.close()


POLL_MS = 5000
"""How often a part of a page is loaded again."""


def poll(page: Page, path: str) -> None:
    """Let the page load its part again."""
    with page.expect_event("requestfinished", lambda request: request.url.endswith(path)):
        page.clock.run_for(POLL_MS)


def test_a_page_says_that_it_is_not_updated(chromium: Browser) -> None:
    worker = shop()
    with served(worker) as address:
        context = chromium.new_context()
        page = context.new_page()
        page.clock.install()
        opened(page, f"{address}/ui")
        alert = page.get_by_role("alert")
        page.route("**/ui/overview", lambda route: route.abort())
        page.clock.run_for(POLL_MS)
        alert.wait_for()
        told = [alert.inner_text()]
        page.unroute("**/ui/overview")
        poll(page, "/overview")
        alert.wait_for(state="detached")
        opened(page, f"{address}/ui/connectors/orders")
        del worker.known["orders"]
        poll(page, "/live")
        alert.wait_for()
        told.append(alert.inner_text())
        context.close()
    assert [text[:18] + text[26:] for text in told] == [
        "Not updated since : The worker does not answer.",
        "Not updated since : Connector orders not found",
    ]


@pytest.mark.parametrize(
    ("path", "part", "waits"),
    [("connectors/orders/config", "validate", "Checking …"), ("connectors/orders/events", "events/latest*", "Reading the topic …")],
)
def test_a_part_that_was_never_loaded_does_not_wait(
    path: str, part: str, waits: str, chromium: Browser, shown: tuple[str, FakeWorker]
) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.route(f"**/{part}", lambda route: route.fulfill(status=503))
    page.goto(f"{shown[0]}/{path}")
    page.get_by_role("alert").get_by_text("The worker answered with the status 503.").wait_for()
    waiting = page.get_by_text(waits).count()
    context.close()
    assert waiting == 0


def test_a_page_that_is_loaded_again_keeps_what_is_open_and_focused(chromium: Browser) -> None:
    worker = shop()
    failed = worker.known["<b>returns</b>"]
    failed.trace = "first line\n" * 100
    with served(worker) as address:
        context = chromium.new_context()
        page = context.new_page()
        page.clock.install()
        opened(page, f"{address}/ui/connectors/%3Cb%3Ereturns%3C%2Fb%3E")
        trace = page.locator("#task-0-trace")
        trace.focus()
        trace.evaluate("trace => trace.scrollTop = 300")
        failed.trace += "the last line"
        poll(page, "/live")
        trace.get_by_text("the last line").wait_for()
        kept = trace.evaluate("trace => [trace.parentElement.open, trace.scrollTop, document.activeElement === trace]")

        opened(page, f"{address}/ui")
        link = page.locator("#c-orders")
        link.focus()
        worker.add("young")
        poll(page, "/overview")
        page.locator("#c-young").wait_for()
        focused = link.evaluate("link => document.activeElement === link")
        # If the answer is the same, the elements stay.
        page.route("**/ui/overview", lambda route: route.fulfill(body='<a id="same">same</a>', content_type="text/html"))
        poll(page, "/overview")
        page.locator("#same").evaluate("element => { element.dataset.marked = 'yes' }")
        poll(page, "/overview")
        same = page.locator("#same").get_attribute("data-marked")
        context.close()
    assert (kept, focused, same) == ([True, 300, True], True, "yes")


def test_a_value_of_several_lines_stays_as_it_is(chromium: Browser) -> None:
    worker = shop()
    worker.known["orders"].config["database.initial.statements"] = "SET a TO 1;\nSET b TO 2"
    with served(worker) as address:
        context = chromium.new_context()
        page = reviewed(context.new_page(), f"{address}/ui")
        changed = page.locator(".changes tbody th").all_inner_texts()
        context.close()
    assert changed == ["database.hostname"]


def test_read_only_shows_no_action(chromium: Browser) -> None:
    worker = shop()
    worker.known["orders"].config |= {
        "snapshot.mode": "Initial",
        "database.initial.statements": "a\nb",
        "x=y": " \t",
        "tombstones.on.delete": "",
    }
    with served(worker, read_only=True) as address:
        context = chromium.new_context()
        page = opened(context.new_page(), f"{address}/ui/connectors/orders")
        page.get_by_text("PostgreSQL answers at db:5432/shop.").wait_for()
        buttons = page.get_by_role("button").all_inner_texts()
        # The form as it is opened is the stored configuration, the only one that is checked.
        opened(page, f"{address}/ui/connectors/orders/config")
        page.get_by_text("accept this configuration").wait_for()
        page.locator("[name='p.database.hostname']").fill("elsewhere.example")
        page.get_by_text("It checks stored configurations only.").wait_for()
        context.close()
    assert buttons == ["Look again"]
