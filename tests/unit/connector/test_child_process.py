"""No Python that this program starts runs what lies in the folder where it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from connector.runner.child_process import python_command, python_environment
from connector.runner.snapshot_workers import SnapshotWorkers
from workers import bulk_snapshots
from workers.bulk_snapshots import SparkSnapshots

NAMES = ("orjson", "psycopg", "aiokafka", "argparse", "asyncio", "logging", "socket", "connector", "workers", "connect_api")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder holds modules that leave a file behind when they are run."""
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
    no_job: Any = SimpleNamespace(transactional_id=None)
    none: Any = None
    child = await SnapshotWorkers(no_job, 1, none, none, none, none, none)._start(0)
    # It has imported everything by the time it looks at its job, which is none.
    assert await child.process.wait() == 0
    child.writer.close()
    assert not ran(hostile)


async def test_a_snapshot_by_spark(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_snapshots, "find_spec", lambda _: True)
    monkeypatch.setattr(bulk_snapshots, "_MODULE", "orjson")
    assert "ended with code 1" in (await SparkSnapshots.of({}).refusal() or "")
    assert not ran(hostile)


def test_what_a_child_starts_is_as_careful(hostile: Path) -> None:
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
