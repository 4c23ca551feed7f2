"""``.ci/run`` with the real Makefile, and with a pytest that only says how its parts end."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.failed_parts import main
from tests.support.project import ROOT

COPIED: Final = (".ci/run", ".ci/pytest", "Makefile", "pyproject.toml", "tests/support/failed_parts.py")
PARTS: Final = ("test-fast", "test-servers", "test-spark", "test-long-servers", "test-long-spark")
A, B, C, D = (f"tests/integration/test_a.py::test_{name}[x y]" for name in "abcd")

PYTHON: Final = f"""#!/bin/sh
case "$1 $2" in
"-m pytest") exec {sys.executable} "$(dirname "$0")/pytest.py" "$@" ;;
"-P -m") exit 0 ;;
*) exec {sys.executable} "$@" ;;
esac
"""
PYTEST: Final = """
import json, os, pathlib, signal, sys
plan = json.loads(pathlib.Path("plan.json").read_text())
folder = next((pathlib.Path(word.removeprefix("cache_dir=")) for word in sys.argv if word.startswith("cache_dir=")), None)
with open("calls", "a") as calls:
    calls.write(json.dumps([folder and folder.name, *sys.argv[3:]]) + "\\n")
if folder is None:
    sys.exit(plan.get("alone", 0))
code, failed, *ended = plan.get(folder.name, [0, []])
if failed:
    (folder / "v" / "cache").mkdir(parents=True)
    (folder / "v" / "cache" / "lastfailed").write_text(json.dumps(dict.fromkeys(failed, True)))
if ended == ["killed"]:
    os.kill(os.getpid(), signal.SIGKILL)
if ended == ["all killed"]:
    os.kill(os.getppid(), signal.SIGKILL)
sys.exit(code)
"""


@dataclass(frozen=True)
class Ended:
    code: int
    said: str
    calls: list[list[Any]]

    @property
    def again(self) -> list[str] | None:
        """What was run again alone; None if nothing was."""
        return next((call[1:] for call in self.calls if call[0] is None), None)


def run(folder: Path, plan: dict[str, Any], check: int = 0) -> Ended:
    for name in COPIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "plan.json").write_text(json.dumps(plan))
    programs = {f".venv/bin/{name}": f"#!/bin/sh\nexit {check}\n" for name in ("ruff", "mypy", "lint-imports")}
    # Debian's packages count as installed.
    programs |= {".venv/bin/python": PYTHON, ".venv/bin/pytest.py": PYTEST, "bin/dpkg-query": "#!/bin/sh\nprintf installed\n"}
    for name, text in programs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / ".venv" / ".ready").touch()
    left = folder / ".pytest_cache" / "parts" / "test-spark"
    left.mkdir(parents=True)
    left.with_suffix(".code").write_text("1\n")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHON", "MAKE", "UNDERSTUDY"))}
    environment["PATH"] = f"{folder / 'bin'}:{environment['PATH']}"
    done = subprocess.run([folder / ".ci/run"], env=environment, capture_output=True, text=True, check=False)
    calls = (folder / "calls").read_text().splitlines()
    return Ended(done.returncode, done.stdout + done.stderr, [json.loads(line) for line in calls])


def test_all_parts_are_run() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [first], [long] = (re.findall(rf"^{target}: ([a-z -]+) ##", makefile, re.MULTILINE) for target in ("test", "test-long"))
    assert (*first.removeprefix("fetch ").split(), *long.split()) == PARTS


def test_a_run_without_failures(tmp_path: Path) -> None:
    ended = run(tmp_path, {})
    assert (ended.code, ended.again) == (0, None), ended.said
    assert [call[0] for call in ended.calls] == list(PARTS)
    assert all("--durations=25" in call for call in ended.calls)


@pytest.mark.parametrize("alone", [0, 1])
def test_few_failures_on_servers_are_run_again_alone(tmp_path: Path, alone: int) -> None:
    ended = run(tmp_path, {"test-servers": [1, [B, A]], "test-long-spark": [1, [A, C]], "alone": alone})
    assert (ended.code, ended.again) == (alone, ["--hypothesis-profile=full", A, B, C]), ended.said
    assert f"run again alone:\n  {A}\n  {B}\n" in ended.said
    assert [call[0] for call in ended.calls] == [*PARTS, None]


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        ({"test-servers": [1, [A, B]], "test-spark": [1, [C, D]]}, "4 tests failed, 0 of them"),
        ({"test-fast": [1, ["tests/unit/test_a.py::test_a"]], "test-servers": [1, [A]]}, "2 tests failed, 1 of them"),
        ({"test-servers": [1, [A]], "test-spark": [3, []]}, "test-spark ended with the code 3"),
        ({"test-servers": [2, [A]]}, "test-servers ended with the code 2"),
        ({"test-servers": [1, [A]], "test-long-servers": [5, []]}, "test-long-servers ended with the code 5"),
        ({"test-servers": [1, [A]], "test-spark": [1, []]}, "test-spark ended with the code 1 and names 0 failed tests"),
        ({"test-servers": [1, [A]], "test-spark": [0, [B]]}, "test-spark ended with the code 0 and names 1 failed tests"),
        ({}, "0 tests failed"),
    ],
)
def test_other_failures_are_final(
    tmp_path: Path, ends: dict[str, tuple[int, list[str]]], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in PARTS:
        code, failed = ends.get(part, (0, []))
        (tmp_path / part / "v" / "cache").mkdir(parents=True)
        (tmp_path / part / "v" / "cache" / "lastfailed").write_text(json.dumps(dict.fromkeys(failed, True)))
        (tmp_path / f"{part}.code").write_text(f"{code}\n")
    assert main(tmp_path, list(PARTS)) == 1
    said = capsys.readouterr()
    assert (reason in said.err, said.out) == (True, "")


@pytest.mark.parametrize(("killed", "code"), [("killed", "137"), ("all killed", "none")])
def test_a_part_without_an_end_is_final(tmp_path: Path, killed: str, code: str) -> None:
    ended = run(tmp_path, {"test-servers": [1, [A]], "test-spark": [0, [], killed]})
    assert (ended.code, ended.again) == (1, None), ended.said
    assert f"test-spark ended with the code {code}" in ended.said
    assert [call[0] for call in ended.calls] == list(PARTS)


def test_failed_checks_are_final(tmp_path: Path) -> None:
    ended = run(tmp_path, {"test-servers": [1, [A]]}, check=1)
    assert (ended.code, ended.again) == (1, None), ended.said
