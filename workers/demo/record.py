"""What ``up`` left running, so that ``down`` ends exactly that."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import asdict, dataclass
from pathlib import Path

from workers.demo.stack import Stack
from workers.embedded.place import cache_folder
from workers.embedded.process import command_line, stop_recorded


@dataclass(frozen=True, slots=True)
class Running:
    """One server that was left running. ``folder`` holds its files and stands in its command line."""

    name: str
    pid: int
    folder: str
    signal: int


@dataclass(frozen=True, slots=True)
class Record:
    """The servers in the order to stop them, and what to tell about them."""

    servers: tuple[Running, ...]
    addresses: str

    @property
    def alive(self) -> bool:
        """Whether all of them still run."""
        return all(server.folder in command_line(server.pid) for server in self.servers)


def write(stack: Stack, addresses: str) -> None:
    """Remember a running stack. Replaces what was remembered before."""
    servers = tuple(Running(name, pid, str(folder), int(number)) for name, pid, folder, number in stack.processes())
    _file().write_text(json.dumps(asdict(Record(servers, addresses)), indent=2) + "\n", encoding="utf-8")


def read() -> Record | None:
    """What was remembered, None when there is nothing."""
    if not _file().exists():
        return None
    read = json.loads(_file().read_text(encoding="utf-8"))
    return Record(tuple(Running(**server) for server in read["servers"]), read["addresses"])


def end(record: Record) -> list[str]:
    """Stop what still runs of ``record``, remove its files and forget it; the names of those that were running."""
    ended = [server.name for server in record.servers if stop_recorded(server.pid, server.folder, signal.Signals(server.signal))]
    for server in record.servers:
        shutil.rmtree(server.folder, ignore_errors=True)
    _file().unlink(missing_ok=True)
    return ended


def _file() -> Path:
    return cache_folder() / "up.json"
