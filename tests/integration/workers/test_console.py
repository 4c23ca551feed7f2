"""The console of a real worker: the health of a connector's slot, and an action."""

from __future__ import annotations

import re
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
