"""Connections to PostgreSQL, and the server's errors in our words.

Every connection prints values alike (DateStyle ISO, UTC, …): the type table reads those texts and no others.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from connector.config import ConnectorConfig
from connector.driver_settings import connection_settings, cut_values
from connector.errors import CdcError, ErrorKind
from connector.io.regular_file import check_regular
from connector.preflight.server import no_replication_protocol, no_replication_role, refuses_replication
from connector.preflight.tls_files import PROPERTIES, SENTENCES, property_of, told_property

_log = logging.getLogger(__name__)

_SETTINGS: Final = (
    "-c datestyle=ISO -c timezone=UTC -c intervalstyle=postgres -c extra_float_digits=3 -c bytea_output=hex"
    " -c client_encoding=UTF8 -c standard_conforming_strings=on"
)

_DEAD_PEER: Final[Mapping[str, object]] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 20_000,
}
"""A network that swallows packets shows only in what is not acknowledged. The kernel's own limits are 15 minutes for data and 2 hours for
a silent connection. With these a connection ends after 20 s without an acknowledgement, counted from the next status update or probe,
at most 10 s away. The peer's kernel acknowledges, however busy its server is: a long transaction that is being decoded ends nothing."""

Connection = AsyncConnection[TupleRow]


async def connect(config: ConnectorConfig, purpose: str, *, replication: bool = False, timeout_s: int = 30) -> Connection:
    """Open a connection in autocommit mode. ``purpose`` shows in ``pg_stat_activity.application_name``.

    Raises CdcError: SOURCE_UNREACHABLE, SOURCE_AUTHENTICATION, SOURCE_PERMISSION (no REPLICATION), SOURCE_SETTING (a pooler in between)
    or what the server says.
    """
    if cut := cut_values(config.raw):
        raise CdcError(ErrorKind.CONFIG_INVALID, f"The value of {cut[0]} holds a NUL character, where libpq would cut it", "Remove it.")
    driver = connection_settings(config.driver)
    arguments: dict[str, object] = {
        "host": config.database_hostname,
        "port": config.database_port,
        "user": config.database_user,
        "password": config.database_password,
        "dbname": config.database_dbname,
        "application_name": purpose[:63],
        # The last setting of a name counts: nobody may change how values are printed.
        "options": f"{driver.options} {_SETTINGS}".lstrip(),
        "connect_timeout": connect_timeout(config, timeout_s),
        "sslmode": config.database_sslmode,
        "sslcert": config.database_sslcert,
        "sslkey": config.database_sslkey,
        "sslpassword": config.database_sslpassword,
        "sslrootcert": config.database_sslrootcert,
        "keepalives": 1 if config.database_tcp_keep_alive else 0,
        **_DEAD_PEER,
    }
    arguments.update(driver.libpq)
    if replication:
        arguments["replication"] = "database"
    given = {key: value for key, value in arguments.items() if value is not None}
    try:
        _check_files(given)
        connection = await AsyncConnection.connect(autocommit=True, **given)  # type: ignore[arg-type]
        # Statements run once or twice: a server-side plan would only cost, and breaks behind a transaction pooler.
        connection.prepare_threshold = None
        if not replication:
            for statement in config.initial_statements:
                await connection.execute(statement.encode())
    except psycopg.Error as error:
        address, told = f"{config.database_hostname}:{config.database_port}", str(error).lower()
        if refuses_replication(told):
            raise no_replication_protocol(address) from error
        if "to start wal" in told:
            # "permission denied to start WAL sender"; before 16 "must be superuser or replication role to start walsender".
            raise replace(no_replication_role(config.database_user), detail=told.splitlines()[0]) from error
        shown = _without_file_facts(error)
        raise source_error(shown, f"connecting to {address}/{config.database_dbname}") from shown
    return connection


def _check_files(arguments: Mapping[str, object]) -> None:
    """Keep libpq from files that it would wait for or read without end. Raises psycopg.OperationalError."""
    for parameter, name in PROPERTIES.items():
        path = arguments.get(parameter)
        if not path or path == "system":
            continue
        try:
            check_regular(str(path))
        except (OSError, ValueError) as problem:
            _log.warning("cannot use a file of the connection property=%s reason=%s", name, problem)
            raise psycopg.OperationalError(SENTENCES[name]) from None


def _without_file_facts(error: psycopg.Error) -> psycopg.Error:
    """``error``, or where it tells what is wrong with a file one that does not; the log has the reason then."""
    name = property_of(str(error))
    if name is None:
        return error
    _log.warning("cannot use a file of the connection property=%s reason=%s", name, str(error).strip())
    return psycopg.OperationalError(SENTENCES[name])


def connect_timeout(config: ConnectorConfig, default_s: int) -> int:
    """Seconds for opening a connection: ``database.connection.timeout.ms`` when it is given, rounded up; libpq knows no less than 2."""
    if "database.connection.timeout.ms" not in config.raw:
        return default_s
    return max(2, -(-config.database_connection_timeout_ms // 1000))


_KINDS: Final = {
    "28": (ErrorKind.SOURCE_AUTHENTICATION, "Check database.user, database.password and pg_hba.conf"),
    "42501": (ErrorKind.SOURCE_PERMISSION, "Grant what the server names to the connector's role"),
    "3D000": (ErrorKind.SOURCE_OBJECT_MISSING, "Check database.dbname"),
    "42P01": (ErrorKind.SOURCE_OBJECT_MISSING, "Check the table's name"),
    "42704": (ErrorKind.SOURCE_OBJECT_MISSING, "Check that the slot or publication exists"),
    "55006": (ErrorKind.SLOT_BUSY, "Another connection holds it; see pg_replication_slots.active_pid"),
    "55000": (ErrorKind.SOURCE_SETTING, "See what the server says"),
    "53300": (ErrorKind.SOURCE_UNREACHABLE, "Raise max_connections, max_wal_senders or the role's connection limit"),
    "53400": (ErrorKind.SOURCE_SETTING, "Raise max_replication_slots on the server, or drop a slot that nobody uses"),
    "57P01": (ErrorKind.SOURCE_CONNECTION_LOST, ""),
    "57P02": (ErrorKind.SOURCE_CONNECTION_LOST, ""),
    "57P03": (ErrorKind.SOURCE_UNREACHABLE, ""),
    "57014": (ErrorKind.SOURCE_TIMEOUT, "Raise database.query.timeout.ms, or find what blocks the statement"),
    "55P03": (ErrorKind.SOURCE_TIMEOUT, "Find who holds the lock (pg_locks), or raise snapshot.lock.timeout.ms"),
    "58": (ErrorKind.SOURCE_OBJECT_MISSING, "The server lost or removed WAL that the slot needs"),
    "08": (ErrorKind.SOURCE_CONNECTION_LOST, ""),
}
"""By SQLSTATE, or its class (PostgreSQL manual, appendix A). The reference treats class 28 alone as final."""


def source_error(error: psycopg.Error, doing: str) -> CdcError:
    """A psycopg error as a CdcError: what was being done, and the server's first line. Never values: the detail line is left out."""
    if (name := told_property(str(error))) is not None:
        return CdcError(ErrorKind.SOURCE_AUTHENTICATION, SENTENCES[name])
    state = error.sqlstate or ""
    told = (error.diag.message_primary or str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__).strip()
    if not state:
        # libpq's own errors carry no SQLSTATE.
        text = str(error).lower()
        if "password" in text or "authentication" in text or "pg_hba" in text or "does not exist" in text:
            kind, remedy = _KINDS["28"] if "database" not in text.split("fatal:")[-1] else _KINDS["3D000"]
        elif "permission denied" in text:
            kind, remedy = _KINDS["42501"]
        elif isinstance(error, psycopg.OperationalError):
            kind, remedy = ErrorKind.SOURCE_UNREACHABLE, "Check database.hostname, database.port and that PostgreSQL runs"
        else:
            kind, remedy = ErrorKind.SOURCE_QUERY, ""
    else:
        kind, remedy = _KINDS.get(state) or _KINDS.get(state[:2]) or (ErrorKind.SOURCE_QUERY, "")
    return CdcError(kind, f"PostgreSQL refused while {doing}: {told}", remedy, f"SQLSTATE {state}" if state else "")
