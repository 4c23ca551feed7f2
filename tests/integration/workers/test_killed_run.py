"""After a killed run of the tests no server, worker or JVM remains."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.project import ROOT
from workers.quickstart.embedded.wait import wait_until

pytestmark = [pytest.mark.server, pytest.mark.long]

CONFTEST = """
import pytest

pytest_plugins = ["tests.fix_targets", "tests.fix_pg", "tests.fix_kafka", "tests.fix_worker", "tests.fix_spark"]

def pytest_configure(config):
    for name in ("server", "long"):
        config.addinivalue_line("markers", name)
"""
TEST = """
import pathlib, threading

def test_run({fixtures}):
    pathlib.Path({ready!r}).touch()
    threading.Event().wait()
"""


@pytest.fixture
def short_tmp() -> Iterator[Path]:
    """A folder that PostgreSQL's account can reach: pytest's own are closed to others."""
    with tempfile.TemporaryDirectory(prefix="run-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def running(folder: Path) -> list[str]:
    """The processes that name the folder in their arguments."""
    listed = subprocess.run(["ps", "-ww", "-eo", "args="], capture_output=True, text=True, check=True).stdout
    return [words for words in listed.splitlines() if f"{folder}/" in words]


@pytest.mark.parametrize(
    ("fixtures", "options", "servers"),
    [
        ("pg, shared_worker", [], ("bin/postgres", "kafka.Kafka", "-m workers worker")),
        # The first process is killed, another one has started the servers.
        ("pg, shared_worker", ["-n", "1"], ("bin/postgres", "kafka.Kafka", "-m workers worker")),
        ("spark", [], ("org.apache.spark.deploy.SparkSubmit",)),
    ],
    ids=["one-process", "more-processes", "spark"],
)
def test_a_killed_run_leaves_nothing_running(short_tmp: Path, fixtures: str, options: list[str], servers: tuple[str, ...]) -> None:
    ready, inner = short_tmp / "ready", short_tmp / "t"
    inner.mkdir()
    inner.chmod(0o777)
    (short_tmp / "conftest.py").write_text(CONFTEST)
    (short_tmp / "test_run.py").write_text(TEST.format(fixtures=fixtures, ready=str(ready)))
    command = [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(short_tmp), "-c", os.devnull]
    command += ["-o", "asyncio_mode=auto", *options, str(short_tmp / "test_run.py")]
    environment = {**os.environ, "TMPDIR": str(inner), "PYTHONPATH": str(ROOT)}
    output = short_tmp / "output"
    with output.open("wb") as sink, subprocess.Popen(command, stdout=sink, stderr=sink, cwd=short_tmp, env=environment) as pytest_run:
        try:
            wait_until(lambda: ready.exists() or pytest_run.poll() is not None, lambda: f"the test to run:\n{output.read_text()}", 240)
            assert pytest_run.poll() is None, output.read_text()
            found = running(inner)
            assert all(any(server in words for words in found) for server in servers), found
        finally:
            pytest_run.send_signal(signal.SIGKILL)
    # pytest-xdist's process notices within a quarter of a minute that the first one has gone.
    wait_until(lambda: not running(inner), lambda: f"the end of {running(inner)}", 60)
