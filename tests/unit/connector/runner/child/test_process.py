"""No Python process that this program starts imports modules from its working folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from connector.runner.child.process import python_command, python_environment
from connector.runner.snapshot.readers import start_reader
from workers.bulk import spark_snapshots as bulk_snapshots
from workers.bulk.spark_snapshots import SparkSnapshots

NAMES = ("orjson", "psycopg", "aiokafka", "argparse", "asyncio", "logging", "socket", "connector", "workers", "connect_api")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder has modules that create a file when they are imported."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("open('was-run', 'w').close()\nraise SystemExit(7)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    # The tests' own process stands elsewhere, and its path must not hide the fault.
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    return tmp_path


def ran(folder: Path) -> bool:
    return (folder / "was-run").exists()


def test_the_folder_is_hostile(hostile: Path) -> None:
    assert subprocess.run([sys.executable, "-c", "import orjson"], check=False).returncode == 7
    assert ran(hostile)


async def test_a_reader_of_the_snapshot(hostile: Path) -> None:
    child = await start_reader()
    child.send("no job")
    # It has imported everything by the time it looks at its job, which is none.
    assert await child.receive() is None
    assert "ended with code 0" in (await child.lost()).message
    await child.end(0)
    assert not ran(hostile)


async def test_a_snapshot_by_spark(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_snapshots, "find_spec", lambda _: True)
    monkeypatch.setattr(bulk_snapshots, "_MODULE", "orjson")
    assert "ended with code 1" in (await SparkSnapshots.of({}).refusal() or "")
    assert not ran(hostile)


def test_processes_of_a_child_are_as_careful(hostile: Path) -> None:
    program = f"import subprocess, sys\nsys.exit(subprocess.run([sys.executable, '-m', {NAMES[0]!r}]).returncode)"
    (hostile / "started.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-P", "started.py"]
    assert subprocess.run(command, env=python_environment(), check=False, stderr=subprocess.DEVNULL).returncode == 1
    assert not ran(hostile)


@pytest.mark.parametrize("program", ["understudy", "understudy-spark"])
def test_the_console_scripts(hostile: Path, program: str) -> None:
    script = Path(sys.executable).parent / program
    assert subprocess.run([script, "--help"], check=False, stdout=subprocess.DEVNULL).returncode == 0
    assert not ran(hostile)


def test_the_command_is_this_python() -> None:
    assert python_command("a.b", "c") == [sys.executable, "-P", "-m", "a.b", "c"]
