"""The record of the servers that ``up`` started, so that ``down`` ends exactly these."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import asdict, dataclass
from pathlib import Path

from workers.quickstart.demo.stack import Stack
from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.place import cache_folder, unwritable
from workers.quickstart.embedded.process import command_line, stop_recorded


@dataclass(frozen=True, slots=True)
class Running:
    """A running server. ``folder`` holds its files and is part of its command line."""

    name: str
    pid: int
    folder: str
    signal: int


@dataclass(frozen=True, slots=True)
class Record:
    """The servers in the order in which to stop them, and their addresses as text."""

    servers: tuple[Running, ...]
    addresses: str

    @property
    def alive(self) -> bool:
        """Whether all servers still run."""
        return all(server.folder in command_line(server.pid) for server in self.servers)


def write(stack: Stack, addresses: str) -> None:
    """Store a record of a running stack. It replaces the former record as a whole or not at all. Raises EmbeddedError."""
    servers = tuple(Running(name, pid, str(folder), int(number)) for name, pid, folder, number in stack.processes())
    file = _file()
    unfinished = file.with_suffix(".new")
    try:
        unfinished.write_text(json.dumps(asdict(Record(servers, addresses)), indent=2) + "\n", encoding="utf-8")
        unfinished.replace(file)
    except OSError as problem:
        raise unwritable(file, problem) from problem


def read() -> Record | None:
    """The stored record, None without one. Raises EmbeddedError with the remedy for a file that is no record."""
    file = _file()
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
        return Record(tuple(Running(**server) for server in read["servers"]), read["addresses"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as problem:
        raise EmbeddedError(
            f"{file} does not say which servers were started. If any run, end their processes, whose arguments contain understudy-worker-, "
            "understudy-kafka- and understudy-pg-. Then remove the file."
        ) from problem


def end(record: Record) -> list[str]:
    """Stop the servers of ``record`` that still run, and remove their files and the record. Returns the names of the stopped servers."""
    ended = [server.name for server in record.servers if stop_recorded(server.pid, server.folder, signal.Signals(server.signal))]
    for server in record.servers:
        shutil.rmtree(server.folder, ignore_errors=True)
    _file().unlink(missing_ok=True)
    return ended


def _file() -> Path:
    return cache_folder() / "up.json"
