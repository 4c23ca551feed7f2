"""A look at the database before a configuration is accepted (Kafka Connect's validation; Debezium's connection check).

Findings are (property, message) pairs; the messages begin as the reference's do, because consoles and scripts look for them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Final

import psycopg
from psycopg import AsyncConnection

from connector.config import parse

_FATAL: Final = re.compile(r"FATAL:\s+(.*)")
_LEAD: Final = "Error while validating connector config: "


async def findings(settings: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    """Connect once, within ``connection.validation.timeout.ms``; empty when that works. The configuration must parse."""
    config, _notices = parse(settings)
    timeout_ms = config.connection_validation_timeout_ms
    given: dict[str, object] = {
        "host": config.database_hostname,
        "port": config.database_port,
        "user": config.database_user,
        "password": config.database_password,
        "dbname": config.database_dbname,
        "sslmode": config.database_sslmode,
        "sslcert": config.database_sslcert,
        "sslkey": config.database_sslkey,
        "sslpassword": config.database_sslpassword,
        "sslrootcert": config.database_sslrootcert,
        "application_name": "Understudy Validate Connection",
    }
    arguments = {key: value for key, value in given.items() if value is not None}
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            connection = await AsyncConnection.connect(autocommit=True, **arguments)  # type: ignore[arg-type]
            await connection.close()
    except TimeoutError:
        return [("database.hostname", f"{_LEAD}Connection validation timed out after {timeout_ms} ms")]
    except psycopg.Error as error:
        return [("database.hostname", _LEAD + _told(error, config.database_hostname, config.database_port))]
    return []


def _told(error: psycopg.Error, host: str, port: int) -> str:
    text = str(error).strip()
    if "refused" in text.lower():
        return (
            f"Connection to {host}:{port} refused. Check that the hostname and port are correct and that the postmaster is"
            " accepting TCP/IP connections."
        )
    refusal = _FATAL.search(text)
    if refusal:
        return f"FATAL: {refusal.group(1).strip()}"
    return f"The connection attempt failed. ({text.splitlines()[0] if text else type(error).__name__})"
