"""Connections to PostgreSQL, and the conversion of the server's errors to CdcError.

Every connection has the same settings for the text of values (DateStyle ISO, UTC, …), because the codecs parse only these forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from connector.config.connector_config import ConnectorConfig
from connector.config.driver_settings import connection_settings, cut_values
from connector.errors import CdcError, ErrorKind
from connector.io.postgres.environment import ignore_environment, own_defaults
from connector.io.regular_file import check_regular
from connector.log import EventLog
from connector.preflight.server import no_replication_protocol, no_replication_role, refuses_replication
from connector.preflight.tls_files import PROPERTIES, SENTENCES, named_property, property_of

LOG: Final = EventLog(__name__)

_SETTINGS: Final[Mapping[str, str]] = {
    "datestyle": "ISO",
    "timezone": "UTC",
    "intervalstyle": "postgres",
    "extra_float_digits": "3",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
}
_STARTUP_OPTIONS: Final = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
_SET_AGAIN: Final = "; ".join(f"SET {name} = '{value}'" for name, value in _SETTINGS.items()).encode()
_STAY_OPEN: Final = b"SET idle_session_timeout = 0"
_HAS_IDLE_TIMEOUT: Final = 140_000
"""The first server version with ``idle_session_timeout``."""

_DEAD_PEER: Final[Mapping[str, object]] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 20_000,
}
"""Limits for a network that silently drops packets, which only missing acknowledgements reveal. By default the kernel waits 15 minutes for
sent data and 2 hours on a silent connection. With these settings a connection ends after 20 s without an acknowledgement, counted from the
next status update or probe, at most 10 s later. The peer's kernel acknowledges even if its server is busy, so decoding a long transaction
does not end the connection."""

Connection = AsyncConnection[TupleRow]


async def connect(config: ConnectorConfig, purpose: str, *, replication: bool = False, timeout_s: int = 30) -> Connection:
    """Open a connection in autocommit mode. ``pg_stat_activity.application_name`` shows ``purpose``.

    The settings for the text of values apply whatever the configuration's options and initial statements say. The server does not end the
    connection because it is idle: some are used seldom.

    Raises CdcError: SOURCE_UNREACHABLE, SOURCE_AUTHENTICATION, SOURCE_PERMISSION (no REPLICATION), SOURCE_SETTING (a pooler answers),
    or another error of the server.
    """
    arguments = connection_arguments(config, purpose, timeout_s)
    if replication:
        arguments["replication"] = "database"
    try:
        check_files(arguments)
        connection = await AsyncConnection.connect(autocommit=True, **arguments)  # type: ignore[arg-type]
        # Statements run only once or twice, so prepared statements bring no gain, and they fail with a transaction pooler.
        connection.prepare_threshold = None
        if not replication:
            for statement in config.initial_statements:
                await connection.execute(statement.encode())
            if config.initial_statements:
                await connection.execute(_SET_AGAIN)
            if connection.info.server_version >= _HAS_IDLE_TIMEOUT:
                await connection.execute(_STAY_OPEN)
    except psycopg.Error as error:
        address, reason = f"{config.database_hostname}:{config.database_port}", str(error).lower()
        if refuses_replication(reason):
            raise no_replication_protocol(address) from error
        if "to start wal" in reason:
            # "permission denied to start WAL sender"; before 16 "must be superuser or replication role to start walsender".
            raise replace(no_replication_role(config.database_user), detail=reason.splitlines()[0]) from error
        shown = without_file_facts(error)
        raise source_error(shown, f"connecting to {address}/{config.database_dbname}") from shown
    return connection


def connection_arguments(config: ConnectorConfig, purpose: str, timeout_s: int) -> dict[str, object]:
    """Return libpq's parameters for a connection of ``config``, and hide libpq's environment variables from it.

    Raises CdcError(CONFIG_INVALID) for a value that libpq would cut.
    """
    if cut := cut_values(config.raw):
        raise CdcError(ErrorKind.CONFIG_INVALID, f"The value of {cut[0]} holds a NUL character, where libpq would cut it", "Remove it.")
    ignore_environment()
    driver = connection_settings(config.driver)
    arguments: dict[str, object] = {
        **own_defaults(),
        "host": config.database_hostname,
        "port": config.database_port,
        "user": config.database_user,
        "password": config.database_password,
        "dbname": config.database_dbname,
        "application_name": purpose[:63],
        # If a name occurs twice, the last setting applies, so users cannot change the text of values.
        "options": f"{driver.options} {_STARTUP_OPTIONS}".lstrip(),
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
    return {name: value for name, value in arguments.items() if value is not None}


def check_files(arguments: Mapping[str, object]) -> None:
    """Check the connection's files, because libpq would block on a pipe or a device. Raises psycopg.OperationalError."""
    for parameter, name in PROPERTIES.items():
        path = arguments.get(parameter)
        if not path or path == "system":
            continue
        try:
            check_regular(str(path))
        except (OSError, ValueError) as problem:
            LOG.warning("cannot use a file of the connection", property=name, reason=problem)
            raise psycopg.OperationalError(SENTENCES[name]) from None


def without_file_facts(error: psycopg.Error) -> psycopg.Error:
    """Return ``error``. If it says what is wrong with a file, log the reason and return an error that does not say it."""
    name = property_of(str(error))
    if name is None:
        return error
    LOG.warning("cannot use a file of the connection", property=name, reason=str(error).strip())
    return psycopg.OperationalError(SENTENCES[name])


def connect_timeout(config: ConnectorConfig, default_s: int) -> int:
    """Return the connection timeout: ``database.connection.timeout.ms``, if set, in whole seconds. libpq's minimum is 2 seconds."""
    if "database.connection.timeout.ms" not in config.raw:
        return default_s
    return max(2, -(-config.database_connection_timeout_ms // 1000))


_KINDS: Final = {
    "25P03": (ErrorKind.SOURCE_CONNECTION_LOST, ""),
    "25P04": (ErrorKind.SOURCE_CONNECTION_LOST, ""),
    "28": (ErrorKind.SOURCE_AUTHENTICATION, "Check database.user, database.password and pg_hba.conf"),
    "42501": (ErrorKind.SOURCE_PERMISSION, "Grant what the server names to the connector's role"),
    "3D000": (ErrorKind.SOURCE_OBJECT_MISSING, "Check database.dbname"),
    "42P01": (ErrorKind.SOURCE_OBJECT_MISSING, "Check the table's name"),
    "42704": (ErrorKind.SOURCE_OBJECT_MISSING, "Check that the slot or publication exists"),
    "55006": (ErrorKind.SLOT_BUSY, "Another connection holds it; see pg_replication_slots.active_pid"),
    "55000": (ErrorKind.SOURCE_SETTING, "See what the server says"),
    "40": (ErrorKind.SOURCE_INTERRUPTED, "See what the server says"),
    "53": (ErrorKind.SOURCE_INTERRUPTED, "Give the server the memory or the disk space that it lacks"),
    "53300": (ErrorKind.SOURCE_UNREACHABLE, "Raise max_connections, max_wal_senders or the role's connection limit"),
    "53400": (ErrorKind.SOURCE_SETTING, "Raise the limit that the server names"),
    "57": (ErrorKind.SOURCE_CONNECTION_LOST, ""),
    "57P03": (ErrorKind.SOURCE_UNREACHABLE, ""),
    "57014": (ErrorKind.SOURCE_TIMEOUT, "Raise database.query.timeout.ms, or find what blocks the statement"),
    "55P03": (ErrorKind.SOURCE_TIMEOUT, "Find who holds the lock (pg_locks), or raise snapshot.lock.timeout.ms"),
    "58": (ErrorKind.SOURCE_OBJECT_MISSING, "The server lost or removed WAL that the slot needs"),
    "08": (ErrorKind.SOURCE_CONNECTION_LOST, ""),
    "XX": (ErrorKind.SOURCE_INTERNAL, "See the server's log"),
}
"""The kind of error and the remedy for a SQLSTATE or its class (PostgreSQL manual, appendix A). Debezium retries all classes except 28.

A state without an entry is a statement's own fault, which a new attempt repeats."""

_NO_ROOM: Final = ("max_wal_senders", "too many clients", "too many connections", "remaining connection slots")
"""Words of the server's message when it has no free connection, which libpq reports without the SQLSTATE (53300)."""

_LIMIT_EXCEEDED: Final = "53400"
_LIMITS: Final = {
    "max_replication_slots": "Raise max_replication_slots on the server, or drop a slot that nobody uses",
    "temp_file_limit": "Raise temp_file_limit or work_mem (ALTER ROLE or ALTER DATABASE ... SET), or let the statement sort and join less",
}
"""The remedy by the setting that the message or the hint of SQLSTATE 53400 names. No translation changes the names."""


def source_error(error: psycopg.Error, doing: str) -> CdcError:
    """Convert a psycopg error to a CdcError with ``doing`` and the server's message. It omits the detail, which may contain cell values."""
    if (name := named_property(str(error))) is not None:
        return CdcError(ErrorKind.SOURCE_AUTHENTICATION, SENTENCES[name])
    state = error.sqlstate or ""
    reason = (error.diag.message_primary or str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__).strip()
    if not state:
        # libpq's own errors have no SQLSTATE.
        text = str(error).lower()
        if "password" in text or "authentication" in text or "pg_hba" in text or "does not exist" in text:
            kind, remedy = _KINDS["28"] if "database" not in text.split("fatal:")[-1] else _KINDS["3D000"]
        elif "permission denied" in text:
            kind, remedy = _KINDS["42501"]
        elif any(words in text for words in _NO_ROOM):
            kind, remedy = _KINDS["53300"]
        elif isinstance(error, psycopg.OperationalError):
            kind, remedy = ErrorKind.SOURCE_UNREACHABLE, "Check database.hostname, database.port and that PostgreSQL runs"
        else:
            kind, remedy = ErrorKind.SOURCE_QUERY, ""
    else:
        kind, remedy = _KINDS.get(state) or _KINDS.get(state[:2]) or (ErrorKind.SOURCE_QUERY, "")
        if state == _LIMIT_EXCEEDED:
            words_of_server = f"{reason} {error.diag.message_hint or ''}"
            remedy = next((words for setting, words in _LIMITS.items() if setting in words_of_server), remedy)
    return CdcError(kind, f"PostgreSQL refused while {doing}: {reason}", remedy, f"SQLSTATE {state}" if state else "")
