"""The console of real workers: the health of a connector's slot, an action, events, and the figures of a group."""

from __future__ import annotations

import re
import signal
import uuid
from collections.abc import Callable

import httpx
import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

_RUNG = re.compile(r'<li class="(\w+)"><span class="rung">(\w+)</span>')


@pytest.fixture
def connector(pg: PgServer, shared_worker: Worker) -> Connector:
    database = pg.database("console")
    database.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    return Connector(shared_worker, database, f"console_{uuid.uuid4().hex[:8]}")


def ladder(connector: Connector) -> dict[str, str]:
    answer = connector.worker.rest("GET", f"/ui/connectors/{connector.name}/ladder")
    assert answer.status_code == httpx.codes.OK, answer.text
    return {rung: verdict for verdict, rung in _RUNG.findall(answer.text)}


def act(connector: Connector, action: str) -> None:
    """Send the form that the page shows, as a browser does."""
    url = connector.worker.url
    with httpx.Client(base_url=url, headers={"Origin": url}, follow_redirects=True) as browser:
        page = browser.get(f"/ui/connectors/{connector.name}").text
        found = re.search(r'name="csrf" value="([^"]+)"', page)
        assert found, page
        assert browser.post(f"/ui/connectors/{connector.name}/actions/{action}", data={"csrf": found[1]}).is_success


def test_the_ladder_follows_the_slot(connector: Connector) -> None:
    connector.create()
    connector.await_confirmed(connector.lsn())
    assert ladder(connector) == dict.fromkeys(("reachable", "role", "slot", "connected", "flowing"), "good")

    # PostgreSQL 18 streams on without the publication, and sends nothing.
    connector.database.execute(f"DROP PUBLICATION {connector.name}")
    assert ladder(connector)["flowing"] == "bad"
    act(connector, "stop")
    connector.worker.await_state(connector.name, "STOPPED", tasks=0)
    wait_until(lambda: not connector.slot()["active"], "the slot to be free", SECONDS)
    stopped = ladder(connector)
    assert [stopped[rung] for rung in ("reachable", "role", "slot")] == ["good", "good", "good"]
    assert stopped["connected"] in {"bad", "warning"}

    connector.drop_slot()
    dropped = ladder(connector)
    assert (dropped["role"], dropped["slot"], dropped["connected"]) == ("good", "bad", "unknown")
    connector.delete()


def test_the_pages_show_the_running_connector(connector: Connector) -> None:
    connector.create()
    overview = connector.worker.rest("GET", "/ui").text
    assert connector.name in overview
    page = connector.worker.rest("GET", f"/ui/connectors/{connector.name}").text
    assert "RUNNING" in page
    assert "streaming" in page
    assert f"{connector.name}.public.t" in page
    # The password of the configuration leaves the worker on no page.
    config = connector.worker.rest("GET", f"/ui/connectors/{connector.name}/config").text
    assert 'value="unused"' not in config
    act(connector, "pause")
    connector.worker.await_state(connector.name, "PAUSED")
    connector.delete()


def test_the_events_of_a_table_show_their_differences(pg: PgServer, worker: Callable[..., Worker]) -> None:
    database = pg.database("console_events")
    database.execute("CREATE TABLE t (id int PRIMARY KEY, state text, token text)", "ALTER TABLE t REPLICA IDENTITY FULL")
    connector = Connector(worker(console_events="true"), database, f"events_{uuid.uuid4().hex[:8]}")
    connector.create()
    database.execute("INSERT INTO t VALUES (1, 'new', 'k1')", "UPDATE t SET state = 'paid'")
    connector.await_confirmed(connector.lsn())
    topic = f"{connector.name}.public.t"
    part = connector.worker.rest("GET", f"/ui/connectors/{connector.name}/events/latest?topic={topic}").text
    assert part.index("<b>update") < part.index("<b>create")
    assert "<del>&#34;new&#34;</del> <ins>&#34;paid&#34;</ins>" in part
    assert ("[hidden]" in part, "k1" in part) == (True, False)
    connector.delete()


def test_each_worker_of_a_group_shows_the_figures_of_all(pg: PgServer, worker: Callable[..., Worker]) -> None:
    database = pg.database("console_group")
    database.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    group = f"console-{uuid.uuid4().hex[:12]}"
    # Longer than the test: the worker that stands still stays in the group.
    workers = [worker(group=group, session_timeout_ms="120000") for _ in range(2)]
    connector = Connector(workers[0], database, f"group_{uuid.uuid4().hex[:8]}")
    connector.create()
    runs = str(connector.worker.rest("GET", f"/connectors/{connector.name}/status").json()["tasks"][0]["worker_id"])
    [owner] = [each for each in workers if runs.endswith(f":{each.port}")]
    [other] = [each for each in workers if each is not owner]
    shown = wait_until(lambda: row(other, connector.name) if other_knows(other) else None, "two workers in the group", SECONDS)
    assert (shown["Phase"], shown["Worker"]) == ("streaming", runs)
    assert re.fullmatch(r"\d+ [KM]?B", shown["Unconfirmed"])
    assert "Unconfirmed" in other.rest("GET", f"/ui/connectors/{connector.name}/live").text

    owner.process.send(signal.SIGSTOP)
    try:
        assert row(other, connector.name)["Phase"] == "unknown"
        page = other.rest("GET", f"/ui/connectors/{connector.name}/live").text
    finally:
        owner.process.send(signal.SIGCONT)
    assert f"{runs} did not answer" in page
    wait_until(lambda: row(other, connector.name)["Phase"] == "streaming", "the figures to be known again", SECONDS)
    connector.delete()


def other_knows(worker: Worker) -> bool:
    return worker.rest("GET", "/ui/workers").text.count("<section>") == 2


def row(worker: Worker, connector: str) -> dict[str, str]:
    """The cells of the connector's row in the worker's overview, by their labels."""
    [found] = [each for each in worker.rest("GET", "/ui/overview").text.split("<tr>") if f'/ui/connectors/{connector}"' in each]
    return {label: text.strip() for label, text in re.findall(r'<td data-label="([^"]+)"[^>]*>(.*?)</td>', found, re.DOTALL)}
