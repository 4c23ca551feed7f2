"""Writes the pictures of docs/console.md again: ``python -m tests.support.console_pictures``. Needs Debian's Chromium."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from playwright.sync_api import Page

from tests.contract.console.test_browser import PHONE
from tests.support import browser
from tests.support.console_site import FakeWorker, envelope, served, shop
from tests.support.project import ROOT
from workers.console.flow import Flow
from workers.records.latest import StoredRecord

PICTURES: Final = ROOT / "docs" / "pictures"
FAILURE: Final = "PostgreSQL refused while connecting: password authentication failed for user cdc. Check database.password"
DESK: Final = (1200, 760)


def group() -> FakeWorker:
    """The shop, with a connector that another worker runs."""
    worker = shop()
    del worker.known["<b>returns</b>"]
    worker.add("returns", trace=FAILURE)
    worker.running["orders"].last_event_source_ms = time.time_ns() // 1_000_000 - 300
    worker.add("parcels")
    worker.elsewhere["parcels"] = Flow("streaming", (4.0, 9.0, 6.0, 12.0, 11.0, 15.0, 14.0), 73_000, 1800, None)
    return worker


async def latest(_topic: str, _count: int) -> Sequence[StoredRecord]:
    new, paid = {"id": 7, "state": "new", "total": 38.4, "card_number": "1"}, {"id": 7, "state": "paid", "total": 38.4, "card_number": "1"}
    events = (envelope("d", paid, None), envelope("u", new, paid), envelope("c", None, new))
    return [StoredRecord(0, 42 - age, 1_795_000_020_345 - 7_311 * age, b'{"id":7}', value) for age, value in enumerate(events)]


def connectors(page: Page, address: str) -> None:
    page.goto(address)


def connector(page: Page, address: str) -> None:
    page.goto(f"{address}/connectors/orders")
    page.get_by_text("PostgreSQL answers").wait_for()


def editor(page: Page, address: str) -> None:
    page.goto(f"{address}/connectors/orders/config")
    page.get_by_text("accept this configuration").wait_for()
    page.locator("[name='p.topic.prefix']").fill("")
    page.locator("#f-topic-prefix-error").wait_for()


def events(page: Page, address: str) -> None:
    page.goto(f"{address}/connectors/orders/events?topic=orders.public.orders")
    page.locator("article").first.wait_for()


SHOWN: Final[dict[str, tuple[Callable[[Page, str], None], tuple[int, int], bool]]] = {
    "console-connectors": (connectors, DESK, False),
    "console-connector": (connector, DESK, False),
    "console-editor": (editor, DESK, False),
    "console-events": (events, DESK, True),
    "console-phone": (connectors, (PHONE, 760), True),
}
"""Picture → what it shows, the size of the window, and whether the theme is dark."""


def main() -> None:
    with browser.chromium() as running, served(group(), read=latest) as address:
        for name, (show, (width, height), dark) in SHOWN.items():
            viewport = {"width": width, "height": height}
            context = running.new_context(viewport=viewport, color_scheme="dark" if dark else "light")  # type: ignore[arg-type]
            page = context.new_page()
            show(page, f"{address}/ui")
            page.screenshot(path=PICTURES / f"{name}.png")
            context.close()


if __name__ == "__main__":
    main()
