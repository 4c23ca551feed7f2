"""Huge or malformed signals: each causes one warning with its id, and the task continues."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Final

import psycopg
import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import SECONDS, Connector
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once


def execute(*tables: object, **more: object) -> str:
    return json.dumps({"data-collections": tables, **{key.replace("_", "-"): value for key, value in more.items()}})


def only(condition: str) -> str:
    return execute("public.a", additional_conditions=[{"data-collection": "public.a", "filter": condition}])


REFUSED: Final[Mapping[str, tuple[str | None, str | None, str]]] = {
    "no-type": (None, execute("public.a"), "type '' is not known"),
    "strange": ("nothing", execute("public.a"), "type 'nothing' is not known"),
    "no-json": ("execute-snapshot", "no json", "cannot be read as JSON: line 1"),
    "a-list": ("execute-snapshot", "[1]", "not a JSON object"),
    "deep": ("execute-snapshot", f'{{"data-collections": {"[" * 5000}{"]" * 5000}}}', "nested too deep"),
    "numbers": ("execute-snapshot", execute(1, 2), "not a list of texts"),
    "many": ("execute-snapshot", execute(*(f"public.n{number}" for number in range(100_000))), "at most 10000 are taken"),
    "heavy": ("execute-snapshot", execute(*(f"public.n{number}" for number in range(9_000))), "ask for fewer tables at a time"),
    "i" * 2000: ("execute-snapshot", execute("public.a", type="x" * 500_000), "use incremental, blocking or spark"),
    "patterns": ("execute-snapshot", execute(*(f"[{number}" for number in range(1_000))), "entries=1000"),
    "stacked": ("execute-snapshot", only("true)); CREATE TABLE stacked (i int); --"), "syntax error"),
    "writes": ("execute-snapshot", only("nextval('numbers') > 0"), "last key of public.a: cannot execute nextval() in a read-only"),
    "a-nul": ("execute-snapshot", only("id > 0\0"), "NUL character"),
    "blocking": (
        "execute-snapshot",
        execute(
            "public.a",
            type="blocking",
            additional_conditions=[{"data-collection": "public.a", "filter": "SELECT *, nextval('numbers') FROM a"}],
        ),
        'msg="blocking snapshot was not completed" reason="PostgreSQL refused',
    ),
}
"""By id: type, data, and what the log says."""


async def test_no_signal_ends_the_task(pg: PgServer, shared_worker: Worker) -> None:
    connector = Connector(shared_worker, pg.database("signals"), f"signals_{uuid.uuid4().hex[:10]}")
    database = connector.database
    # Nothing of the table is as the documentation wants it: no key, no limits, NULL everywhere.
    database.execute(
        "CREATE TABLE sig (id text, type text, data text)",
        "CREATE TABLE a (id int PRIMARY KEY)",
        "INSERT INTO a VALUES (1)",
        "CREATE SEQUENCE numbers",
    )
    topics = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
    # As with any row, the one of the largest signal must fit into a record.
    room = {"topic.creation.default.max.message.bytes": "20000000", "producer.override.max.request.size": "20000000"}
    isolation = {"snapshot.isolation.mode": "repeatable_read"}
    connector.create({**topics, **room, **isolation, "signal.data.collection": "public.sig", "snapshot.mode": "no_data"})
    try:
        with psycopg.connect(database.dsn, autocommit=True) as plain:
            for name, (kind, data, _) in REFUSED.items():
                plain.execute("INSERT INTO sig VALUES (%s, %s, %s)", (name, kind, data))
            # A signal without an id is obeyed, as in the reference.
            plain.execute("INSERT INTO sig VALUES (NULL, 'execute-snapshot', %s)", (execute("public.a"),))

        def lines() -> list[str]:
            return [line for line in shared_worker.log.splitlines() if f"connector={connector.name}" in line]

        def look() -> bool:
            return any('table ends" table=public.a rows=1 status=SUCCEEDED' in line for line in lines())

        wait_until(look, lambda: f"the last signal to be obeyed\n{shared_worker.log[-6000:]}", SECONDS)
        connector.await_confirmed(connector.lsn())
        assert [value["op"] for _, value in await connector.events("public.a")] == ["r"]
        for name, (_, _, reported) in REFUSED.items():
            found = [line for line in lines() if reported in line]
            assert len(found) == 1, (name, found)
            assert len(found[0]) < 1_000
        assert sum(f"id={'i' * 100}…" in line for line in lines()) == 1
        assert database.execute("SELECT to_regclass('stacked') IS NULL, is_called FROM numbers") == [(True, False)]
        assert not [line for line in lines() if "task failed" in line or "Traceback" in line]
    finally:
        connector.delete()
