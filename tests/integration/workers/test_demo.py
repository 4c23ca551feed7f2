"""The demo as a command: it succeeds, and after a stop no process or file of it remains."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.project import ROOT
from workers.quickstart.demo import record, shop
from workers.quickstart.demo.stack import Stack
from workers.quickstart.embedded.process import command_line
from workers.quickstart.embedded.wait import wait_until

pytestmark = pytest.mark.server


@contextmanager
def demo(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A demo whose servers keep their files below ``folder``; its output goes to the file. It ends with the block at the latest."""
    folder.chmod(0o755)
    output = folder / "output"
    temporary = folder / "t"
    temporary.mkdir(mode=0o777)
    temporary.chmod(0o777)
    with output.open("wb") as sink:
        environment = {**os.environ, "TMPDIR": str(temporary)}
        arguments = [sys.executable, "-P", "-m", "workers.quickstart.demo", "run"]
        # A session of its own, so that a shell which ignores Ctrl-C for its background jobs does not hide the signal.
        # If this process ignores Ctrl-C, or the end of its terminal as below nohup, its children would too.
        former = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGINT, signal.SIGHUP)}
        try:
            process = subprocess.Popen(arguments, stdout=sink, stderr=sink, cwd=ROOT, env=environment, start_new_session=True)
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)
    with process:
        try:
            yield process, output
        finally:
            # Its servers see that it is gone, and end too.
            process.kill()


def servers(folder: Path) -> list[str]:
    listed = subprocess.run(["ps", "-ww", "-eo", "args="], capture_output=True, text=True, check=True).stdout
    return [words for words in listed.splitlines() if str(folder / "t") in words]


@pytest.fixture
def short_tmp() -> Iterator[Path]:
    """A folder that PostgreSQL's account can reach: pytest's own are closed to others."""
    with tempfile.TemporaryDirectory(prefix="demo-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.long
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_a_stopped_demo_leaves_nothing(short_tmp: Path, number: signal.Signals, code: int) -> None:
    with demo(short_tmp) as (process, output):
        wait_until(
            lambda: "The snapshot of the existing rows" in output.read_text(), lambda: f"the first events:\n{output.read_text()}", 120
        )
        assert len(servers(short_tmp)) >= 3
        process.send_signal(number)
        assert process.wait(60) == code, output.read_text()
    assert servers(short_tmp) == []
    assert list((short_tmp / "t").iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_no_server_outlives_the_demo(short_tmp: Path, number: signal.Signals) -> None:
    with demo(short_tmp) as (process, output):
        wait_until(lambda: len(servers(short_tmp)) >= 3, lambda: f"the servers:\n{output.read_text()}", 120)
        process.send_signal(number)
        process.wait(60)
    wait_until(lambda: not servers(short_tmp), lambda: f"the end of {servers(short_tmp)}", 60)


UP = """
import sys, threading
from pathlib import Path
from workers.quickstart.demo import __main__ as demo, record

record.cache_folder = lambda: Path(sys.argv[2])
if "hang" in sys.argv:
    record.write = lambda *_: threading.Event().wait()
sys.exit(demo.main([sys.argv[1]]))
"""


def test_up_leaves_only_recorded_servers_running(short_tmp: Path) -> None:
    (short_tmp / "t").mkdir()
    short_tmp.chmod(0o755)
    (short_tmp / "t").chmod(0o777)
    environment = {**os.environ, "TMPDIR": str(short_tmp / "t")}

    def command(*words: str) -> list[str]:
        return [sys.executable, "-P", "-c", UP, words[0], str(short_tmp), *words[1:]]

    with subprocess.Popen(command("up", "hang"), cwd=ROOT, env=environment, start_new_session=True) as process:
        wait_until(lambda: len(servers(short_tmp)) >= 3, "the servers", 120)
        process.kill()
    wait_until(lambda: not servers(short_tmp), lambda: f"the end of {servers(short_tmp)}", 60)
    subprocess.run(command("up"), cwd=ROOT, env=environment, check=True, timeout=120)
    try:
        assert len(servers(short_tmp)) >= 3
    finally:
        subprocess.run(command("down"), cwd=ROOT, env=environment, check=True, timeout=60)
    assert servers(short_tmp) == []


@pytest.mark.long
def test_the_demo_shows_every_change_and_ends_well(short_tmp: Path) -> None:
    with demo(short_tmp) as (process, output):
        # Alone it takes a minute; beside other tests on a slow machine more than five were seen.
        assert process.wait(900) == 0, output.read_text()
        shown = output.read_text()
    events = re.findall(r"^\d\d:\d\d:\d\d\.\d{3}  (shop\.public\.\w+) +(\w+)", shown, re.MULTILINE)
    assert len(events) == shop.FIRST_ROWS + sum(change.records for change in shop.CHANGES)
    assert [kind for _, kind in events[: shop.FIRST_ROWS]] == ["read"] * shop.FIRST_ROWS
    assert "price: 12.50 -> 13.90" in shown
    assert "All tables are equal." in shown or "This part was skipped" in shown
    assert list((short_tmp / "t").iterdir()) == []


def test_down_ends_what_up_left(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Kafka's jars come from the project's cache, the record goes elsewhere.
    monkeypatch.setattr(record, "cache_folder", lambda: short_tmp)
    with Stack() as stack:
        record.write(stack, "the addresses")
        known = record.read()
        assert known is not None
        assert known.alive
        assert known.addresses == "the addresses"
        assert record.end(known) == ["worker", "kafka", "postgres"]
        assert not known.alive
        assert [command_line(server.pid) for server in known.servers if server.folder in command_line(server.pid)] == []
        assert not any(Path(server.folder).exists() for server in known.servers)
        assert record.read() is None
