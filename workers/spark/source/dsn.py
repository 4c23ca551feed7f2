"""Checks a libpq connection string before anything is connected."""

from __future__ import annotations

from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from workers.spark.failure import WRONG, JobError

_SCHEMES: Final = ("postgresql://", "postgres://")


def check_dsn(name: str, dsn: str) -> None:
    """Raise JobError if ``dsn``, the value of the key or option ``name``, is not a connection string of libpq.

    The error contains no part of it. libpq's own errors quote what they could not read, which may be a part of a password.
    """
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.Error:
        parts = None
    if dsn.startswith(_SCHEMES):
        # libpq takes the rest of a password after an unescaped character for the host or the port, and quotes these when it connects.
        hosts, ports = (str((parts or {}).get(key) or "").split(",") for key in ("host", "port"))
        if parts is None or any("@" in host[1:] for host in hosts) or any(port and not port.isdecimal() for port in ports):
            raise JobError(
                WRONG, f"{name} is no connection URI of PostgreSQL. Write special characters of the password as %40 (@), %2F (/) etc."
            )
    elif parts is None:
        raise JobError(
            WRONG, f"{name} is no connection string of PostgreSQL (key=value …). Put a password with spaces into quotes: password='…'."
        )
