"""The subcommands of ``understudy`` on a real worker, Kafka and PostgreSQL."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import SECONDS, Worker, properties_of
from tests.support.connector import Connector
from workers.__main__ import main
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.pg_once

UNDERSTUDY = (sys.executable, "-P", "-m", "workers")
FORMS = {"key.converter.schemas.enable": "true", "value.converter.schemas.enable": "true"}


class Run(Protocol):
    def __call__(self, *words: str, given: str = "") -> tuple[int, Any, str]:
        """Exit code, JSON of standard output (None without one), and standard error. ``given`` is standard input."""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process, which has imported what it needs."""

    def call(*words: str, given: str = "") -> tuple[int, Any, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        capsys.readouterr()
        code = main(list(words))
        said = capsys.readouterr()
        return code, json.loads(said.out) if said.out else None, said.err

    return call


@pytest.fixture
def connector(pg: PgServer, shared_worker: Worker) -> Iterator[Connector]:
    """Streams table t of two rows; takes signals by REST and through its table."""
    database = pg.database("command_line")
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, name text)",
        "CREATE TABLE debezium_signal (id text PRIMARY KEY, type text, data text)",
        "INSERT INTO t VALUES (1, 'one'), (2, 'two')",
    )
    found = Connector(shared_worker, database, f"cli_{uuid.uuid4().hex[:8]}")
    kafka = {"signal.kafka.bootstrap.servers": shared_worker.bootstrap}
    found.create({"signal.enabled.channels": "source,http,kafka", "signal.data.collection": "public.debezium_signal", **kafka, **FORMS})
    yield found
    found.delete()


@pytest.fixture
def properties(shared_worker: Worker, tmp_path: Path) -> Path:
    """The .properties of the shared worker's cluster."""
    file = tmp_path / "connect-distributed.properties"
    lines = properties_of(shared_worker.group, shared_worker.bootstrap)
    file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()), encoding="utf-8")
    return file


def test_check_looks_at_the_database_without_a_worker(connector: Connector, run: Run) -> None:
    body = {"name": connector.name, "config": connector.config()}
    code, found, _ = run("check", "-", given=json.dumps(body))
    assert (code, found["accepted"]) == (0, True)
    wrong = {**body, "config": connector.config({"database.dbname": "no_such_database", "publication.autocreate.mode": "disabled"})}
    for where in ((), ("--url", connector.worker.url)):
        code, found, _ = run("check", "-", *where, given=json.dumps(wrong))
        [error] = [one for one in found["findings"] if one["severity"] == "error"]
        assert (code, found["accepted"], error["property"]) == (1, False, "database.hostname")
        assert "no_such_database" in error["what"]


def test_status_offsets_snapshot_and_tail(connector: Connector, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    url = ("--url", connector.worker.url)
    code, status, _ = run("status", connector.name, *url)
    assert (code, status["state"], [task["state"] for task in status["tasks"]]) == (0, "RUNNING", ["RUNNING"])
    assert status["progress"]["phase"] == "streaming"

    code, sent, _ = run("snapshot", connector.name, "public.t", "--filter", "id = 2", *url)
    assert (code, sent["via"]) == (0, "rest")
    kafka = ("--bootstrap", connector.worker.bootstrap)
    assert main(["tail", connector.name, "public.t", "--from", "beginning", "-n", "3", *url, *kafka]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["key"], each["value"]["op"], each["value"]["source"]["snapshot"]) for each in records] == [
        ({"id": 1}, "r", "first"),
        ({"id": 2}, "r", "last"),
        ({"id": 2}, "r", "incremental"),
    ]

    connector.await_confirmed(connector.lsn())
    connector.stop()
    code, offsets, _ = run("offsets", connector.name, *url)
    assert (code, offsets["offsets"][0]["partition"]) == (0, {"server": connector.name})
    code, _, _ = run("offsets", connector.name, "--reset", *url)
    assert (code, connector.offset()) == (0, {})
    code, _, _ = run("offsets", connector.name, "--alter", "-", *url, given=json.dumps(offsets))
    assert (code, connector.offset()) == (0, offsets["offsets"][0]["offset"])


@pytest.mark.parametrize("via", ["source", "kafka"])
def test_a_signal_without_rest(via: str, connector: Connector, run: Run) -> None:
    data = json.dumps({"message": f"{connector.name} by {via} at {{}}"})
    code, sent, error = run("signal", connector.name, "log", data, "--id", "s1", "--url", connector.worker.url, "--via", via)
    place = {"source": "public.debezium_signal", "kafka": f"{connector.name}-signal-0@0"}[via]
    assert (code, sent) == (0, {"id": "s1", "via": via, "place": place}), error
    wait_until(lambda: f"{connector.name} by {via} at" in connector.worker.log, "the signal in the log", SECONDS)


def test_migrate_tells_and_rehearses(connector: Connector, properties: Path, run: Run) -> None:
    connector.await_confirmed(connector.lsn())
    _, told, error = run("migrate", "--from", str(properties))
    [plan] = [one for one in told["connectors"] if one["name"] == connector.name]
    assert (plan["verdict"], plan["state"], plan["findings"]) == ("resumes", "RUNNING", []), error
    assert (plan["slot"]["active"], plan["slot"]["plugin"]) == (True, "pgoutput")
    assert plan["slot"]["behind_offset"] is not None
    assert plan["offset"].keys() == connector.offset().keys()
    before = connector.slot()

    rehearsal = subprocess.Popen(
        [*UNDERSTUDY, "migrate", "--from", str(properties), "--rehearse", connector.name, "--events", "4", "--seconds", "30"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert rehearsal.stderr is not None
    assert rehearsal.stderr.readline().startswith(f"Reading the next 4 records of {connector.name} from a temporary slot")
    temporary = "SELECT slot_name FROM pg_replication_slots WHERE temporary AND database = current_database()"
    assert len(connector.database.execute(temporary)) == 1
    connector.database.execute("INSERT INTO t VALUES (3, 'three')", "UPDATE t SET name = 'drei' WHERE id = 3", "DELETE FROM t WHERE id = 3")
    answer, error = rehearsal.communicate(timeout=2 * SECONDS)
    assert rehearsal.returncode == 0, error + answer
    assert json.loads(answer) == {
        "name": connector.name,
        "agrees": True,
        "records": 4,
        "equal": 4,
        "different": [],
        "only_here": 0,
        "only_in_connect": 0,
    }
    assert connector.database.execute(temporary) == []
    assert connector.slot()["slot_name"] == before["slot_name"]
