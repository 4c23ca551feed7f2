"""A forked worker is a process like one that the command starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.project import ROOT
from tests.support.worker_forks import AVAILABLE, WorkerForks
from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the system has no file descriptors of processes")
NOBODY = "127.0.0.1:1"
"""No broker is there. A worker waits for one."""
RUN = """
import os, pathlib, sys, time
from tests.support.worker_forks import WorkerForks
from workers.quickstart.embedded.watch import watched

properties = pathlib.Path(sys.argv[1])
forks = WorkerForks()
assert forks.serve(os.environ)
with watched():
    print(forks.start(("worker", properties), properties.with_name("log"), 0).pid, flush=True)
    time.sleep(300)
"""


@pytest.fixture
def forks() -> Iterator[WorkerForks]:
    fresh = WorkerForks()
    assert fresh.serve(os.environ)
    yield fresh
    fresh.close()


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    lines = {"bootstrap.servers": NOBODY, "group.id": "forked", "listeners": f"http://127.0.0.1:{free_port()}"}
    for side in ("key", "value"):
        lines[f"{side}.converter"] = "org.apache.kafka.connect.json.JsonConverter"
    for store in ("config", "offset", "status"):
        lines[f"{store}.storage.topic"] = f"forked-{store}"
    file = tmp_path / "worker.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()), encoding="utf-8")
    return file


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def stat(pid: int) -> list[str]:
    """The state, the parent and so on; nothing when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def runs(pid: int) -> bool:
    return stat(pid)[:1] not in ([], ["Z"])


def test_it_has_its_own_session_folder_and_output_and_ends_in_order(forks: WorkerForks, properties: Path) -> None:
    worker = forks.start(("worker", properties), properties.with_name("log"), 0)
    wait_until(lambda: "trying again" in worker.log.read_text(), worker.last_words)
    assert worker.running
    assert (os.getpgid(worker.pid), os.getsid(worker.pid)) == (worker.pid, worker.pid)
    assert Path(f"/proc/{worker.pid}/cwd").resolve() == properties.parent
    files = {number: Path(f"/proc/{worker.pid}/fd/{number}").resolve() for number in range(3)}
    assert files == {0: Path(os.devnull), 1: worker.log, 2: worker.log}
    assert worker.stop(signal.SIGTERM) == 0
    assert "msg=stopped" in worker.last_words()
    assert not worker.running
    assert not exists(worker.pid)


def test_it_can_be_killed_and_keeps_its_id_until_that_is_noticed(forks: WorkerForks, properties: Path) -> None:
    worker = forks.start(("worker", properties), properties.with_name("log"), 0)
    os.kill(worker.pid, signal.SIGKILL)
    wait_until(lambda: not runs(worker.pid), "the end of the worker")
    assert exists(worker.pid)
    assert not worker.running
    assert not exists(worker.pid)
    worker.send(signal.SIGTERM)
    assert worker.stop() == -signal.SIGKILL


def test_it_says_why_it_cannot_run(forks: WorkerForks, properties: Path) -> None:
    properties.write_text("", encoding="utf-8")
    worker = forks.start(("worker", properties), properties.with_name("log"), 0)
    wait_until(lambda: not worker.running, "the end of the worker")
    assert worker.stop() == 1
    assert worker.last_words().startswith("understudy: group.id, ")


def test_workers_of_the_two_servers_have_other_parents(forks: WorkerForks, properties: Path) -> None:
    first, second, third = (forks.start(("worker", properties), properties.with_name(f"log-{turn}"), turn) for turn in range(3))
    parents = [stat(worker.pid)[1] for worker in (first, second, third)]
    assert parents[0] == parents[2] != parents[1]
    assert [worker.stop() for worker in (first, second, third)] == [-signal.SIGKILL] * 3


def test_it_and_its_server_end_with_a_killed_run(properties: Path) -> None:
    command = [sys.executable, "-P", "-c", RUN, str(properties)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}) as run:
        assert run.stdout is not None
        worker = int(run.stdout.readline())
        server = int(stat(worker)[1])
        run.kill()
    wait_until(lambda: not runs(worker) and not runs(server), lambda: f"the end of {stat(worker)} and {stat(server)}", 60)


def test_another_environment_needs_the_command(forks: WorkerForks) -> None:
    assert forks.serve({**os.environ, "PYTEST_CURRENT_TEST": "another"})
    assert not forks.serve({**os.environ, "LOG_LEVEL": "DEBUG"})
