"""The embedded schema registry keeps what its users rely on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.project import ROOT
from workers.quickstart.embedded.process import command_line
from workers.quickstart.embedded.registry import EmbeddedRegistry
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.server
HOLDER = """
import sys
from workers.quickstart.embedded.registry import EmbeddedRegistry
from workers.quickstart.embedded.watch import watched

with watched(), EmbeddedRegistry() as registry:
    print(registry.pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.long
def test_schemas_survive_a_halt_and_a_stop_leaves_nothing() -> None:
    with EmbeddedRegistry() as registry:
        folder, port = registry.folder, registry.port
        subject = f"{registry.confluent}/subjects/kept/versions"
        httpx.post(subject, json={"schema": '"string"'}).raise_for_status()
        registry.halt()
        with pytest.raises(httpx.ConnectError):
            httpx.get(subject)
        registry.resume()
        assert (registry.port, httpx.get(subject).json()) == (port, [1])
        pid = registry.pid
    assert command_line(pid) == ""
    assert not folder.exists()


@pytest.fixture
def short_tmp() -> Iterator[Path]:
    """A folder with a short name. In pytest's own the registry's folder would have too long a name, and another place would be chosen."""
    with tempfile.TemporaryDirectory(prefix="run-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.mark.long
def test_it_ends_with_a_killed_parent(short_tmp: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(short_tmp), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=short_tmp) as holder:
        assert holder.stdout is not None
        try:
            pid = int(holder.stdout.readline())
            assert "apicurio-registry-app" in command_line(pid)
        finally:
            holder.send_signal(signal.SIGKILL)
    wait_until(lambda: not command_line(pid), f"the end of the process {pid}", 30)
