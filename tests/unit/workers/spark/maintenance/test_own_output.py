"""What a child prints does not come between this program's own output."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from workers.spark.maintenance.own_output import own_output

PROGRAM = """
import subprocess, sys
from workers.spark.maintenance.own_output import own_output
print("before")
with own_output() as stream:
    subprocess.run([sys.executable, "-c", "print('noise')"], check=True)
    print("own", file=stream)
print("after")
"""


def test_a_child_prints_to_standard_error() -> None:
    done = subprocess.run([sys.executable, "-P", "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("before\nown\nafter\n", "noise\n")


def test_another_stream_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    other = io.StringIO()
    monkeypatch.setattr(sys, "stdout", other)
    with own_output() as stream:
        print("own", file=stream)
    assert other.getvalue() == "own\n"
