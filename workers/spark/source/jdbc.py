"""Options for Spark's JDBC source that connect to PostgreSQL as psycopg did."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import psycopg

from workers.spark.failure import UNREADABLE, JobError

# libpq's names and pgJDBC's (pgJDBC documentation, "Initializing the Driver"); the values mean the same.
_NAMES: Final = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslpassword": "sslpassword",
    "connect_timeout": "connectTimeout",
    "application_name": "ApplicationName",
    "options": "options",
}


def jdbc_access(connection: psycopg.Connection) -> dict[str, str]:
    """Options of Spark's JDBC source that reach the server of ``connection`` as the same user.

    Address and password are those that libpq used, from the DSN, the environment or a password file. The password is a separate
    option, which Spark leaves out of its logs. Raises JobError(UNREADABLE) for a Unix socket, which JDBC cannot open.
    """
    info = connection.info
    host = info.host
    if not host or host.startswith(("/", "@")):
        raise JobError(UNREADABLE, "The dsn uses a Unix socket, which Java cannot open: name a host, such as 127.0.0.1.")
    address = f"[{host}]" if ":" in host else host
    given = info.get_parameters()
    options = {name: given[libpq] for libpq, name in _NAMES.items() if libpq in given}
    options |= {"url": f"jdbc:postgresql://{address}:{info.port}/{quote(info.dbname, safe='')}", "driver": "org.postgresql.Driver"}
    options["user"] = info.user
    if info.password:
        options["password"] = info.password
    return options
