"""Named points of failure: off without the variable, exact with it, and each in the code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from connector import failpoints
from tests.support.project import ROOT

_REACH = "from connector import failpoints as f; f.reached('after-send'); f.reached('after-store'); f.reached('after-send'); print('end')"


def run(setting: str | None) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != failpoints.VARIABLE}
    if setting is not None:
        env[failpoints.VARIABLE] = setting
    return subprocess.run([sys.executable, "-c", _REACH], cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("setting", "code"),
    [
        (None, 0),
        ("", 0),
        ("after-send:kill", -signal.SIGKILL),
        ("after-send:kill:2", -signal.SIGKILL),
        ("after-send:kill:3", 0),
        ("after-confirm:kill", 0),
    ],
)
def test_a_process_is_killed_at_the_point_that_the_variable_names(setting: str | None, code: int) -> None:
    ended = run(setting)
    assert (ended.returncode, ended.stdout) == (code, "" if code else "end\n")


@pytest.mark.parametrize("setting", ["after-sand:kill", "after-send", "after-send:stop", "after-send:kill:0", "after-send:kill:x"])
def test_a_setting_with_a_mistake_keeps_the_process_from_starting(setting: str) -> None:
    ended = run(setting)
    assert ended.returncode == 1
    assert "ValueError: UNDERSTUDY_FAILPOINT must be POINT:kill" in ended.stderr


def test_every_point_is_in_the_code_once_or_more() -> None:
    code = "".join(path.read_text() for path in (ROOT / "connector").rglob("*.py") if path.name != "failpoints.py")
    names = {value: name for name, value in vars(failpoints).items() if isinstance(value, str) and value in failpoints.POINTS}
    assert set(names) == set(failpoints.POINTS)
    assert [name for name in names.values() if f"failpoints.reached(failpoints.{name})" not in code] == []


def test_a_point_is_armed_for_a_block_only() -> None:
    seen: list[str] = []
    with failpoints.armed("after-store", lambda: seen.append("hit"), nth=2):
        for _ in range(3):
            failpoints.reached("after-store")
            failpoints.reached("after-send")
    failpoints.reached("after-store")
    assert seen == ["hit"]
