"""CPU time and memory of a process tree, read from files as /proc has them."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from workers.lab.bench.cost import Cost
from workers.lab.bench.failure import BenchError
from workers.lab.bench.process_tree import PeakMemory, ProcessTree, parse_pss, parse_stat

STAT = "{pid} ({name}) S {parent} 41 41 0 -1 4194560 9034 512 3 0 {user} {kernel} {waited_user} {waited_kernel} 20 0 4 0 99 1 2 3\n"
ROLLUP = """\
5583c8b2d000-7ffd5e7f2000 ---p 00000000 00:00 0                          [rollup]
Rss:               61200 kB
Pss:               {kib} kB
Pss_Dirty:         41000 kB
Pss_Anon:          40000 kB
SwapPss:               0 kB
"""
TICKS = os.sysconf("SC_CLK_TCK")


def put(
    proc: Path, pid: int, parent: int, ticks: tuple[int, int, int, int] = (0, 0, 0, 0), kib: int | None = None, name: str = "python3"
) -> None:
    folder = proc / str(pid)
    folder.mkdir(exist_ok=True)
    user, kernel, waited_user, waited_kernel = ticks
    stat = STAT.format(pid=pid, name=name, parent=parent, user=user, kernel=kernel, waited_user=waited_user, waited_kernel=waited_kernel)
    replace(folder / "stat", stat)
    if kib is not None:
        replace(folder / "smaps_rollup", ROLLUP.format(kib=kib))


def replace(file: Path, text: str) -> None:
    """Replace all files at once, as /proc does, because a thread may be reading them."""
    file.with_suffix(".new").write_text(text)
    file.with_suffix(".new").replace(file)


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A worker 10 with a child 11, a grandchild 12, and a stranger 20."""
    (tmp_path / "self").mkdir()
    (tmp_path / "meminfo").write_text("MemTotal: 1 kB\n")
    put(tmp_path, 12, 11, (1, 0, 0, 0), 300)
    put(tmp_path, 10, 1, (TICKS, 2 * TICKS, 3 * TICKS, 0), 1_000)
    put(tmp_path, 11, 10, (TICKS, 0, 0, 0), 200)
    put(tmp_path, 20, 1, (900, 900, 900, 900), 9_000)
    return tmp_path


@pytest.mark.parametrize("name", ["python3", "a b", "odd) S 7 (name", ")"])
def test_stat_with_any_program_name(name: str) -> None:
    text = STAT.format(pid=10, name=name, parent=3, user=5, kernel=70, waited_user=200, waited_kernel=1_000)
    assert parse_stat(text) == (3, 1_275)


def test_stat_that_is_cut_short_is_refused() -> None:
    with pytest.raises(ValueError, match="fewer than 17 fields"):
        parse_stat("10 (python3) S 1 2 3")


def test_pss_is_bytes_and_no_part_of_it() -> None:
    assert parse_pss(ROLLUP.format(kib=45_678)) == 45_678 * 1024


def test_text_without_pss_is_refused() -> None:
    with pytest.raises(ValueError, match="no line begins with Pss:"):
        parse_pss("Rss: 1 kB\nSwapPss: 2 kB\n")


def test_a_tree_is_the_process_and_its_descendants(proc: Path) -> None:
    tree = ProcessTree(10, proc)
    assert tree.memory() == 1_500 * 1024
    assert tree.cpu() == pytest.approx(7 + 1 / TICKS)


def test_the_time_of_a_child_that_ended_stays_with_its_parent(proc: Path) -> None:
    tree = ProcessTree(11, proc)
    before = tree.cpu()
    shutil.rmtree(proc / "12")
    put(proc, 11, 10, (TICKS, 0, 1, 0), 200)
    assert tree.cpu() == before


def test_a_child_that_ends_while_it_is_read_counts_nothing(proc: Path) -> None:
    (proc / "12" / "smaps_rollup").unlink()
    (proc / "11" / "smaps_rollup").write_text("")
    (proc / "13").mkdir()
    assert ProcessTree(10, proc).memory() == 1_000 * 1024


def test_a_worker_that_has_ended_is_reported(proc: Path) -> None:
    with pytest.raises(BenchError, match="There is no process 99"):
        ProcessTree(99, proc).cpu()


def test_this_very_process_uses_memory_and_time() -> None:
    if not Path("/proc/self/smaps_rollup").exists():
        pytest.skip("this system has no /proc/self/smaps_rollup")
    tree = ProcessTree(os.getpid())
    assert tree.memory() > 2**20
    assert tree.cpu() > 0


class Scripted(ProcessTree):
    """A tree with scripted values of memory, which reports when the last one has been read."""

    def __init__(self, *memory: int | BenchError) -> None:
        super().__init__(1)
        self.script = list(memory)
        self.read = threading.Event()

    def memory(self) -> int:
        now = self.script[0] if len(self.script) == 1 else self.script.pop(0)
        if len(self.script) == 1:
            self.read.set()
        if isinstance(now, BenchError):
            raise now
        return now


def test_peak_is_kept_per_phase_and_over_all() -> None:
    tree = Scripted(10, 50, 20, 20)
    with PeakMemory(tree, pause=0.001) as peak:
        assert tree.read.wait(10)
        assert peak.since_restart() == 50
        tree.script = [30]
        assert peak.restart() == 30
        assert peak.since_restart() == 30
        assert peak.total() == 50


def test_a_failed_measurement_is_reported_at_the_next_call() -> None:
    tree = Scripted(10, BenchError("the worker has ended"), 20)
    with PeakMemory(tree, pause=0.001) as peak:
        assert tree.read.wait(10)
        peak._thread.join(10)
        with pytest.raises(BenchError, match="the worker has ended"):
            peak.total()


def test_cost_of_a_worker_elsewhere_has_no_figures() -> None:
    cost = Cost(None)
    with cost.watching():
        cost.begin()
    assert (cost.idle(), cost.figures(10), cost.peak()) == ({}, {}, {})


def test_cost_of_a_phase(proc: Path) -> None:
    cost = Cost(ProcessTree(10, proc))
    with cost.watching():
        put(proc, 10, 1, kib=20 * 1024)
        cost.begin()
        assert cost.idle() == {"idle_mb": 20}
        put(proc, 10, 1, (TICKS, TICKS, 0, 0), kib=70 * 1024)
        figures = cost.figures(4_000)
        put(proc, 10, 1, kib=30 * 1024)
    assert figures.pop("cpu_pct") > 0
    assert figures == {"cpu_s": 2.0, "cpu_us_per_event": 500.0, "events_per_cpu_s": 2_000, "before_mb": 20, "peak_mb": 70}
    assert cost.peak() == {"peak_mb": 70}
