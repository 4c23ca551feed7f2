"""A part of a core's time for a process and its descendants: a control group with a quota (Linux, cgroups(7)).

So several machines are imitated on one: each process has the CPU time of its own machine, as long as the cores have enough for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from workers.lab.bench.failure import BenchError
from workers.quickstart.embedded.wait import wait_until

GROUPS: Final = Path("/sys/fs/cgroup")
_PERIOD: Final = 100_000
"""Microseconds in which the quota is used and renewed, the kernel's default."""

Limit = Callable[[str, Sequence[str | Path]], list[str | Path]]
"""Makes the command that starts ``command`` in a group of the given name."""


@contextmanager
def cpu_shares(run: str, cores: float, groups: Path = GROUPS) -> Iterator[Limit]:
    """Groups of ``cores`` of a core each, within the block, whose names begin with ``run``. Their processes must have ended by its end.

    Raises BenchError if this process cannot make such a group: it needs Linux, and the rights of root.
    """
    unified = (groups / "cgroup.controllers").exists()
    parent = groups if unified else groups / "cpu"
    with ExitStack() as stack:

        def limited(name: str, command: Sequence[str | Path]) -> list[str | Path]:
            group = parent / f"{run}-{name}"
            try:
                group.mkdir()
                stack.callback(_remove, group)
                quota = round(cores * _PERIOD)
                if unified:
                    (group / "cpu.max").write_text(f"{quota} {_PERIOD}", encoding="ascii")
                else:
                    (group / "cpu.cfs_quota_us").write_text(str(quota), encoding="ascii")
            except OSError as error:
                raise BenchError(
                    f"{group} cannot be made a control group with a quota of CPU time ({error.strerror}). "
                    "This needs Linux, and root's rights to its control groups; without --executor-cpu it is not done"
                ) from error
            # The shell enters the group and becomes the process, so that nothing of it runs outside.
            return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', group / "cgroup.procs", *command]

        yield limited


def _remove(group: Path) -> None:
    members = group / "cgroup.procs"
    wait_until(lambda: not (members.exists() and members.read_text(encoding="ascii")), f"the processes of {group} to end", 60)
    group.rmdir()
