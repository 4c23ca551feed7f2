"""A connector's life in the console, as a person sees it in Chromium: a real worker, Kafka and PostgreSQL."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support import browser

MILLISECONDS = 180_000
"""How long the page may take to show something."""
GATE = 42
"""The key of the lock at which the snapshot waits."""

pytestmark = [pytest.mark.pg_once, browser.NEEDED]


@pytest.fixture
def page() -> Iterator[Page]:
    """A page that accepts every question."""
    with browser.chromium() as running:
        context = running.new_context()
        context.set_default_timeout(MILLISECONDS)
        expect.set_options(timeout=MILLISECONDS)
        shown = context.new_page()
        shown.on("dialog", lambda dialog: dialog.accept())
        yield shown


@pytest.fixture
def database(pg: PgServer) -> Database:
    """Two tables of a role with the database's name; reading the second one beyond its 500th row waits for the gate."""
    found = pg.database("browser")
    found.execute(
        f"CREATE ROLE {found.name} LOGIN REPLICATION",
        f"GRANT CREATE ON DATABASE {found.name} TO {found.name}",
        "CREATE TABLE customers (id int PRIMARY KEY, name text, card_number text)",
        "ALTER TABLE customers REPLICA IDENTITY FULL",
        "INSERT INTO customers VALUES (1, 'Ada', '4111'), (2, 'Grace', '4222')",
        "CREATE TABLE products (id int PRIMARY KEY, name text)",
        "INSERT INTO products SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i",
        "CREATE TABLE debezium_signal (id text PRIMARY KEY, type text, data text)",
        *(f"ALTER TABLE {table} OWNER TO {found.name}" for table in ("customers", "products", "debezium_signal")),
        f"""CREATE FUNCTION gate(id int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
              IF id > 500 THEN PERFORM pg_advisory_lock_shared({GATE}); PERFORM pg_advisory_unlock_shared({GATE}); END IF;
              RETURN true; END $$""",
        "ANALYZE",
    )
    return found


class Console:
    """The pages about one connector."""

    def __init__(self, page: Page, url: str, name: str) -> None:
        self.page = page
        self.url = f"{url}/ui"
        self.name = name

    def open(self, place: str = "") -> None:
        """One of the connector's pages."""
        self.page.goto(f"{self.url}/connectors/{self.name}{place}")

    def fill(self, prop: str, value: str) -> None:
        """Fill the field of a property in, with a click on the fold that hides it."""
        field = self.page.locator(f"[name='p.{prop}']")
        folded = self.page.locator("details:not([open])", has=field)
        if folded.count():
            folded.locator("summary").click()
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)

    def press(self, button: str) -> None:
        """Press a button and wait for the page that follows."""
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=button, exact=True).click()

    def await_fact(self, fact: str, value: str) -> None:
        """Wait until the connector's page, which loads itself again, shows the fact."""
        expect(self.page.locator(".facts > div", has=self.page.get_by_text(fact, exact=True)).locator("dd")).to_have_text(value)

    def await_rungs(self, **verdicts: str) -> None:
        """Look at the slot until the rungs have these verdicts."""
        for rung, verdict in verdicts.items():
            expect(self.page.locator(".ladder li", has=self.page.get_by_text(rung, exact=True))).to_have_class(verdict)


def test_a_connector_s_life_in_the_browser(page: Page, database: Database, worker: Callable[..., Worker]) -> None:
    name = f"browser_{uuid.uuid4().hex[:8]}"
    console = Console(page, worker(console_events="true").url, name)
    with psycopg.connect(database.dsn, autocommit=True) as gate:
        gate.execute(f"SELECT pg_advisory_lock({GATE})".encode())
        create(console, database)
        console.await_fact("State", "RUNNING")
        console.await_fact("Phase", "snapshot")
        expect(page.get_by_text("of about 1\u2009002 rows, 1 of 2 tables")).to_be_visible()
        gate.execute(f"SELECT pg_advisory_unlock({GATE})".encode())
    console.await_fact("Phase", "streaming")

    see_events(console, database)
    pause_and_resume(console)
    break_and_repair(console, database)

    console.press("Delete")
    expect(page.get_by_role("heading", name="Connectors")).to_be_visible()
    expect(page.get_by_text(name)).to_have_count(0)


def create(console: Console, database: Database) -> None:
    """From the empty form, with an error at its field, to the running connector."""
    page = console.page
    page.goto(console.url)
    page.get_by_role("link", name="New connector").click()
    page.locator("#name").fill(console.name)
    for prop, value in {
        "topic.prefix": console.name,
        "database.hostname": database.host,
        "database.port": "none",
        "database.user": database.name,
        "database.password": "unused",
        "database.dbname": database.name,
        "slot.name": console.name,
        "publication.name": console.name,
        "publication.autocreate.mode": "filtered",
        "signal.data.collection": "public.debezium_signal",
        "signal.enabled.channels": "source,http",
        "table.include.list": "public.customers,public.products",
    }.items():
        console.fill(prop, value)
    overrides = "snapshot.select.statement.overrides"
    page.locator("#others").fill(f"{overrides}.public.products=SELECT * FROM public.products WHERE gate(id)\n")
    console.fill(overrides, "public.products")

    port = page.locator("[name='p.database.port']")
    expect(page.locator("#f-database-port-error")).to_contain_text("'database.port' value is invalid")
    expect(port).to_have_attribute("aria-invalid", "true")
    port.fill(str(database.port))
    expect(page.get_by_text("accept this configuration")).to_be_visible()
    expect(port).not_to_have_attribute("aria-invalid", "true")

    console.press("Review")
    expect(page.locator("ins", has_text=re.compile(f"^{database.port}$"))).to_be_visible()
    console.press("Create")


def see_events(console: Console, database: Database) -> None:
    """A changed row with its difference, and the same rows read again by a snapshot that the page asks for."""
    page = console.page
    topic = f"{console.name}.public.customers"
    database.execute("UPDATE customers SET name = 'Ada L.', card_number = '4999' WHERE id = 1")
    console.open(f"/events?topic={topic}")
    update = page.locator("article.update").first
    expect(update.locator("tr", has_text="name").first.locator("del")).to_have_text('"Ada"')
    expect(update.locator("tr", has_text="name").first.locator("ins")).to_have_text('"Ada L."')
    card = update.locator("tr", has_text="card_number")
    expect(card.locator("ins")).to_have_text("[hidden]")
    assert not {"4111", "4999"} & set(re.findall(r"\d{4}", page.content()))

    console.open()
    page.get_by_label("Tables, one").fill("public.customers")
    console.press("Take the snapshot")
    expect(page.get_by_role("status")).to_contain_text("was requested")
    console.open(f"/events?topic={topic}")
    expect(page.locator("article").first).to_have_class("event read")
    expect(page.locator("article").first).to_contain_text("Grace")


def pause_and_resume(console: Console) -> None:
    console.open()
    console.await_rungs(reachable="good", role="good", slot="good", connected="good", flowing="good")
    console.press("Pause")
    console.await_fact("State", "PAUSED")
    console.press("Resume")
    console.await_fact("State", "RUNNING")
    console.await_fact("Phase", "streaming")


def break_and_repair(console: Console, database: Database) -> None:
    """The role loses a right. The page says which, and how to give it back; after the restart the connector streams again."""
    page = console.page
    stream = f"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{console.name}'"
    database.execute(f"ALTER ROLE {database.name} NOREPLICATION", stream)
    console.await_fact("State", "FAILED")
    remedy = f'ALTER ROLE "{database.name}" REPLICATION;'
    expect(page.locator(".failure .error")).to_contain_text("REPLICATION")
    page.get_by_role("button", name="Look again").click()
    console.await_rungs(reachable="good", role="bad", slot="unknown", connected="unknown", flowing="unknown")
    expect(page.locator(".ladder .remedy")).to_contain_text(remedy)
    database.execute(remedy)
    console.press("Restart")
    console.await_fact("State", "RUNNING")
    console.await_fact("Phase", "streaming")
