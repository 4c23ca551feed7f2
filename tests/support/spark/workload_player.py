"""Runs a workload on a server, in its own thread."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

import psycopg

from tests.support.spark.workload import Workload
from tests.support.spark.workload_draft import Unit
from workers.quickstart.embedded.wait import wait_until

Session = psycopg.Connection[Any]


def play(sessions: Sequence[Session], unit: Unit) -> None:
    """Carry out the steps of one unit, each in its session."""
    for step in unit.steps:
        if step.lines is None:
            sessions[step.session].execute(step.sql.encode())
        else:
            with sessions[step.session].cursor().copy(step.sql.encode()) as copy:
                copy.write(step.lines)


class Player:
    """The workload's tables and first rows at once; its transactions from :meth:`start` on, which :meth:`finish` waits for.

    ``pace`` is the most changes in a second, None for as many as the server takes.
    """

    def __init__(self, dsn: str, workload: Workload, *, rows: int, pace: float | None = None) -> None:
        self._dsn = dsn
        self._workload = workload
        self._pace = pace
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None
        self.changes = 0
        """How many are committed."""
        with self._session() as session:
            for statement in workload.schema:
                session.execute(statement.encode())
            play([session], workload.initial(rows))

    def start(self, changes: int) -> None:
        self._thread = threading.Thread(target=self._run, args=(changes,), name="workload")
        self._thread.start()

    def await_changes(self, count: int, seconds: float = 3600) -> None:
        """Wait until so many are committed. Raises what broke the workload."""

        def look() -> bool:
            if self._failure is not None:
                raise self._failure
            assert self.changes >= count or not self._stop.is_set(), f"the workload was stopped before change {count}"
            return self.changes >= count

        wait_until(look, lambda: f"{count} changes, {self.changes} are committed", seconds)

    def finish(self, *, stop: bool = False) -> str:
        """Wait for the last transaction; with ``stop`` no further one begins. Returns the WAL position. Raises the workload's exception."""
        if stop:
            self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._failure is not None:
            raise self._failure
        with self._session() as session:
            play([session], self._workload.closing())
            row = session.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
            assert row is not None
            return str(row[0])

    def _run(self, changes: int) -> None:
        try:
            with self._session() as one, self._session() as other:
                self._play((one, other), self._workload.units(changes))
        except BaseException as failure:  # noqa: BLE001 - those who wait for the thread raise its failure
            self._failure = failure

    def _play(self, sessions: Sequence[Session], units: Iterable[Unit]) -> None:
        for unit in units:
            play(sessions, unit)
            self.changes += unit.changes
            if self._stop.wait(0 if self._pace is None else unit.changes / self._pace):
                return

    def _session(self) -> Session:
        return psycopg.connect(self._dsn, autocommit=True)
