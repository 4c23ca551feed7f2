"""A physical standby of an embedded server: it streams the WAL of its primary, and can be promoted."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

import psycopg

from workers.quickstart.embedded.postgres import EmbeddedPostgres
from workers.quickstart.embedded.wait import wait_until

SECONDS = 60.0
SLOT = "standby"
"""The physical slot on the primary. PostgreSQL 17 copies failover slots only to a standby that has one."""


class Standby(EmbeddedPostgres):
    """A standby of ``primary``, which is halted for a moment to be copied, and resumed. ``settings`` as in EmbeddedPostgres."""

    def __init__(self, primary: EmbeddedPostgres, *, settings: Mapping[str, str] | None = None) -> None:
        own = {
            "primary_conninfo": primary.dsn,
            "primary_slot_name": SLOT,
            "hot_standby_feedback": "on",
            # The standby tells it at once, so that nothing waits for the default of 10 s.
            "wal_receiver_status_interval": "1",
            "wal_retrieve_retry_interval": "100",
        }
        super().__init__(primary.programs, settings={**own, **(settings or {})})
        self._primary = primary

    def _make_cluster(self) -> None:
        primary = self._primary
        with psycopg.connect(primary.dsn, autocommit=True) as connection:
            connection.execute("SELECT pg_create_physical_replication_slot(%s, true)", (SLOT,))
        primary.halt()
        data = self.folder / "data"
        shutil.copytree(primary.folder / "data", data)
        primary.resume()
        # A slot is not part of a base backup (PostgreSQL manual, "pg_basebackup").
        shutil.rmtree(data / "pg_replslot")
        (data / "pg_replslot").mkdir()
        (data / "standby.signal").touch()
        lines = [f"{name} = '{value}'\n" for name, value in {**self._settings, "unix_socket_directories": str(self.folder)}.items()]
        with (data / "postgresql.conf").open("a", encoding="utf-8") as configuration:
            configuration.writelines(lines)
        owner = (primary.folder / "data").stat()
        for path in (data, *data.rglob("*")):
            shutil.chown(path, owner.st_uid, owner.st_gid)
        data.chmod(0o700)

    def promote(self) -> None:
        """Make it a primary, and return when it is one."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            assert connection.execute("SELECT pg_promote()").fetchone() == (True,)
            # The checkpoint that ends recovery may still run.
            wait_until(lambda: connection.execute("SELECT pg_is_in_recovery()").fetchone() == (False,), "the promotion", SECONDS)

    def caught_up(self) -> None:
        """Return when it has replayed what the primary has written until now."""
        with psycopg.connect(self._primary.dsn, autocommit=True) as primary, psycopg.connect(self.dsn, autocommit=True) as standby:
            [end] = primary.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone() or ("",)
            reached = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
            wait_until(lambda: standby.execute(reached, (end,)).fetchone() == (True,), f"the standby to reach {end}", SECONDS)
