"""``understudy status`` and ``offsets`` on a worker in memory."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import httpx
import pytest

from tests.support.memory_worker import memory_worker
from workers.__main__ import main
from workers.cli.offsets import read_offsets
from workers.cli.output import Output
from workers.cli.rest import Rest
from workers.cli.status import _add_progress, _page, _table, failed, phase, state_of

CONFIG = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "db",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "shop",
    "topic.prefix": "shop",
}
PROGRESS: dict[str, Any] = {
    "phase": "snapshot",
    "tables": [{"table": "public.t", "rows": 7, "estimate": 9, "done": False}],
    "tables_done": 0,
    "rows": 7,
    "events": 0,
    "last_event_source_ms": 0,
    "incremental": None,
}
STATUS = {
    "name": "shop",
    "connector": {"state": "RUNNING", "worker_id": "w:1"},
    "tasks": [{"id": 0, "state": "FAILED", "worker_id": "w:1", "trace": "The slot is gone.\n\tat somewhere"}],
}


def test_a_state_has_the_first_line_of_its_trace() -> None:
    found = state_of(STATUS)
    assert found["tasks"] == [{"id": 0, "state": "FAILED", "worker": "w:1", "error": "The slot is gone."}]
    assert (found["error"], failed(found)) == (None, True)
    assert not failed({**found, "tasks": []})


def test_what_a_task_does() -> None:
    assert phase(None) == ""
    assert phase(PROGRESS) == "snapshot: 0 of 1 tables, 7 rows"
    streaming = {**PROGRESS, "phase": "streaming", "events": 3, "last_event_source_ms": 1_795_242_511_502}
    assert phase(streaming) == "streaming, 3 events, last at 2026-11-21 06:28:31 UTC"


def test_people_read_tables() -> None:
    stream = io.StringIO()
    state = {**state_of(STATUS), "progress": PROGRESS}
    _table(Output("text", stream), [state])
    _page(Output("text", stream), state)
    shown = stream.getvalue()
    assert "connector   state     task     worker" in shown
    assert "shop        RUNNING   FAILED   w:1      The slot is gone." in shown
    assert "  public.t: 7 of about 9 rows\n" in shown


def created(url: str, name: str, state: str) -> None:
    body = {"name": name, "config": CONFIG, "initial_state": state}
    assert httpx.post(f"{url}/connectors", json=body).status_code == httpx.codes.CREATED


def test_states_and_offsets_of_a_worker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    offsets = {"offsets": [{"partition": {"server": "shop"}, "offset": {"lsn": 42}}]}
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps(offsets))
    with memory_worker() as (url, _):
        created(url, "shop", "STOPPED")
        at = ("--url", url)
        assert main(["status", *at]) == 0
        [listed] = json.loads(capsys.readouterr().out)
        assert (listed["name"], listed["state"], listed["tasks"]) == ("shop", "STOPPED", [])
        assert main(["status", "shop", *at]) == 0
        assert json.loads(capsys.readouterr().out) == listed
        assert main(["status", "other", *at]) == 1
        assert "answers 404" in capsys.readouterr().err

        assert main(["offsets", "shop", "--alter", str(file), *at]) == 0
        assert "have been altered" in json.loads(capsys.readouterr().out)["message"]
        assert main(["offsets", "shop", *at]) == 0
        assert json.loads(capsys.readouterr().out) == offsets
        assert main(["offsets", "shop", "-o", "text", *at]) == 0
        assert "42 (0/2A)" in capsys.readouterr().out
        assert main(["offsets", "shop", "--reset", *at]) == 0
        capsys.readouterr()
        assert main(["offsets", "shop", *at]) == 0
        assert json.loads(capsys.readouterr().out) == {"offsets": []}
        assert main(["offsets", "shop", "--reset", "--alter", str(file), *at]) == 2


@pytest.mark.parametrize("content", ["", "[]", '{"offsets": {}}'])
def test_a_file_without_offsets(content: str, tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    file.write_text(content)
    with pytest.raises(click.UsageError, match=r"offsets\.json"):
        read_offsets(file)


def rest(answers: Callable[[httpx.Request], httpx.Response]) -> Rest:
    return Rest("http://w:8083", transport=httpx.MockTransport(answers))


def running(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "tasks": [{"state": "RUNNING"}], "progress": None} for name in names]


@pytest.mark.parametrize("status", [409, 500, 503])
def test_a_refused_progress_hides_only_that_progress(status: int) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, json={"message": "no"}) if "/moving/" in request.url.path else httpx.Response(200, json=PROGRESS)

    found = running("moving", "shop")
    _add_progress(rest(answer), found)
    assert [each["progress"] for each in found] == [None, PROGRESS]


@pytest.mark.parametrize("silent", [True, False])
def test_without_an_answer_no_further_progress_is_asked_for(silent: bool) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        if silent:
            raise httpx.ReadTimeout("slow")
        return httpx.Response(404)

    found = running("a", "b")
    _add_progress(rest(answer), found)
    assert asked == ["/connectors/a/progress"]
    assert [each["progress"] for each in found] == [None, None]
