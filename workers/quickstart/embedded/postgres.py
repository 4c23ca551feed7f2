"""A temporary PostgreSQL server with logical replication, removed when stopped.

The superuser ``postgres`` has ``trust`` access on 127.0.0.1. Encoding UTF8, locale C, time zone UTC. ``fsync`` is off: the data is
temporary, and a killed process loses nothing, because the kernel still has its writes.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from workers.quickstart.embedded.account import Account, unprivileged_account
from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.place import free_port, fresh_folder
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.programs import Programs, wheel_programs
from workers.quickstart.embedded.wait import wait_until

SETTINGS: Final[Mapping[str, str]] = {
    "wal_level": "logical",
    "max_wal_senders": "64",
    "max_replication_slots": "64",
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
}
START_SECONDS: Final = 30.0
PORT_TRIES: Final = 3


class EmbeddedPostgres:
    """One server. Start it with :meth:`start` or as a context manager.

    ``programs`` is the installation to run (the wheel's by default), ``settings`` are added to the configuration,
    ``port`` 0 takes a free one.
    """

    host: Final = "127.0.0.1"
    user: Final = "postgres"

    def __init__(self, programs: Programs | None = None, *, port: int = 0, settings: Mapping[str, str] | None = None) -> None:
        self.programs = programs or wheel_programs()
        self.port = port
        self._settings = {**SETTINGS, **(settings or {})}
        self._wanted_port = port
        self._account: Account | None = None
        self._process: Process | None = None
        self._folder: Path | None = None

    @property
    def dsn(self) -> str:
        """The connection string of the database ``postgres``."""
        return self.dsn_of("postgres")

    def dsn_of(self, database: str) -> str:
        """The connection string of ``database``."""
        return f"host={self.host} port={self.port} user={self.user} dbname={database}"

    @property
    def folder(self) -> Path:
        """The folder of the server's files. Raises EmbeddedError before the start."""
        if self._folder is None:
            raise EmbeddedError("The embedded PostgreSQL has not been started")
        return self._folder

    @property
    def pid(self) -> int:
        """The postmaster's process id. Raises EmbeddedError when it is not running."""
        return self._running().pid

    def start(self) -> Self:
        """Create the cluster, start the server, and return when it accepts connections.

        Raises EmbeddedError with the end of the server's log when it does not start.
        """
        self._account = unprivileged_account()
        self._folder = fresh_folder("understudy-pg-", self._account)
        try:
            self.programs = self._reachable_programs()
            self._make_cluster()
            for left in reversed(range(PORT_TRIES)):
                self.port = self._wanted_port or free_port()
                if self._launch(last=left == 0 or bool(self._wanted_port)):
                    break
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop the server and its sessions, and remove its folder. No-op if it was never started."""
        self.halt()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def halt(self, *, immediate: bool = False) -> None:
        """Stop the server and keep its data: ``fast`` shutdown, or ``immediate`` (a crash, with recovery at the next start)."""
        if self._process is not None:
            self._process.stop(*([] if immediate else [signal.SIGINT]), signal.SIGQUIT)
            self._process = None

    def resume(self) -> None:
        """Start a halted server again, on the same port."""
        self._launch(last=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _running(self) -> Process:
        if self._process is None:
            raise EmbeddedError("The embedded PostgreSQL is not running")
        return self._process

    def _reachable_programs(self) -> Programs:
        """The programs. They are copied into the server's folder if the account cannot enter their own folder."""
        if self._account is None or self._account.can_run([self.programs.program("postgres"), "--version"]):
            return self.programs
        place = self.folder / "programs"
        shutil.copytree(self.programs.root, place / self.programs.root.name, symlinks=True)
        # The wheel has its additional shared libraries beside the package.
        libraries = self.programs.root.with_name(f"{self.programs.root.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, place / libraries.name, symlinks=True)
        for path in (place, *place.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        copied = place / self.programs.root.name / self.programs.bin.relative_to(self.programs.root)
        programs = replace(self.programs, bin=copied, root=place / self.programs.root.name)
        if not self._account.can_run([programs.program("postgres"), "--version"]):
            raise EmbeddedError(
                f"The account {self._account.name} cannot run PostgreSQL's programs, not even a copy in {place}. "
                "Point TMPDIR to a folder that other accounts may enter and that allows programs to run."
            )
        return programs

    def _make_cluster(self) -> None:
        options = ["--auth=trust", f"--username={self.user}", "--encoding=UTF8", "--locale=C", "--no-sync"]
        account = self._account
        made = subprocess.run(  # noqa: S603 - the server's own program
            [str(self.programs.program("initdb")), "-D", str(self.folder / "data"), *options],
            cwd=self.folder,
            capture_output=True,
            text=True,
            user=None if account is None else account.uid,
            group=None if account is None else account.gid,
            extra_groups=None if account is None else [],
            check=False,
        )
        if made.returncode != 0:
            raise EmbeddedError(f"initdb could not make a cluster in {self.folder}: {made.stderr.strip()}")
        lines = [f"{name} = '{value}'\n" for name, value in {**self._settings, "unix_socket_directories": str(self.folder)}.items()]
        with (self.folder / "data" / "postgresql.conf").open("a", encoding="utf-8") as configuration:
            configuration.writelines(lines)

    def _launch(self, *, last: bool) -> bool:
        """Start the server on ``port``. Returns False if it ended at once and another port may be tried."""
        data = self.folder / "data"
        (data / "postmaster.pid").unlink(missing_ok=True)
        command = [str(self.programs.program("postgres")), "-D", str(data), "-p", str(self.port)]
        process = Process(command, self.folder / "log", account=self._account)

        def state() -> str | None:
            if not process.running:
                return "ended"
            try:
                # The eighth line is the postmaster's state (PostgreSQL sources, pidfile.h).
                lines = (data / "postmaster.pid").read_text(encoding="ascii").splitlines()
            except FileNotFoundError:
                return None
            return "ready" if len(lines) > 7 and lines[7].strip() == "ready" else None

        try:
            reached = wait_until(state, "PostgreSQL to take connections", START_SECONDS, pause=0.01)
        except TimeoutError as late:
            process.stop(signal.SIGQUIT)
            raise EmbeddedError(f"{late}. The end of its log: {process.last_words()}") from None
        if reached == "ready":
            self._process = process
            return True
        if last:
            raise EmbeddedError(f"PostgreSQL {self.programs.major} ended at its start. The end of its log: {process.last_words()}")
        return False
