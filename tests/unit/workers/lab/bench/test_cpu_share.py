"""Groups with a quota of CPU time, in a folder that has what the kernel's has."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from workers.lab.bench.cpu_share import cpu_shares
from workers.lab.bench.failure import BenchError


@pytest.mark.parametrize(("unified", "file", "text"), [(False, "cpu.cfs_quota_us", "35000"), (True, "cpu.max", "35000 100000")])
def test_a_process_enters_its_group_and_is_the_command(unified: bool, file: str, text: str, tmp_path: Path) -> None:
    parent = tmp_path if unified else tmp_path / "cpu"
    parent.mkdir(exist_ok=True)
    if unified:
        (tmp_path / "cgroup.controllers").touch()
    with cpu_shares("run", 0.35, tmp_path) as limited:
        command = limited("worker-0", ["sh", "-c", 'echo "$$ $1"', "sh", "two words"])
        group = parent / "run-worker-0"
        assert (group / file).read_text() == text
        shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split(maxsplit=1)
        members = group / "cgroup.procs"
        assert shown == [members.read_text().strip(), "two words\n"]
        # The kernel removes its files with the group.
        for place in (members, group / file):
            place.unlink()
    assert not group.exists()


def test_a_machine_without_such_groups_is_reported(tmp_path: Path) -> None:
    with cpu_shares("run", 0.35, tmp_path) as limited, pytest.raises(BenchError, match=r"worker-0 cannot be made a control group"):
        limited("worker-0", ["true"])
