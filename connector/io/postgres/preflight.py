"""The database checks before a configuration is accepted (Kafka Connect's validation; Debezium's connection check).

One connection reads the facts. A second connection checks that replication is possible. :mod:`connector.preflight` derives the findings.
Nothing is changed permanently: a configured output plugin is tried with a temporary slot, which is dropped with its connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import psycopg

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig, parse
from connector.config.driver_settings import cut_values, in_statements
from connector.errors import CdcError, ErrorKind
from connector.io.postgres.catalog import describe_tables, read_types
from connector.io.postgres.connection import Connection, connect
from connector.io.postgres.preflight_facts import read_facts
from connector.io.postgres.replication_connection import Replication
from connector.io.regular_file import read_regular
from connector.log import EventLog
from connector.ports import Backtracking, no_backtracking
from connector.preflight.connection import HOSTNAME, refused, server_words
from connector.preflight.facts import Facts, Refusal
from connector.preflight.finding import LEAD, Finding
from connector.preflight.requirements import Wish
from connector.preflight.rules import judge
from connector.preflight.tls_files import SENTENCES
from connector.preflight.unmatched_rules import needs_columns
from connector.wire.output_plugin import PGOUTPUT

LOG: Final = EventLog(__name__)

_PURPOSE: Final = "Understudy Validate Connection"
_LOOK_S: Final = 10.0
"""Time limit for all checks after the connection is open. Checks that exceed it do not refuse the configuration."""
_COLUMNS_S: Final = 3.0
"""Time limit for reading the columns of the captured tables."""
_PLUGIN_S: Final = 1
"""Time limit for trying the output plugin. The server loads the library at once, and then only waits for open transactions."""
_CUT: Final = "The '{name}' value is invalid: It holds a NUL character, where libpq would cut it; remove the character"
_NEGATIVE: Final = f"{LEAD}Query timeout must be a value greater than or equals to 0."
"""What Debezium's driver says to a negative database.query.timeout.ms, in the driver's words."""
_DER: Final = b"\x30"
"""The first byte of a key in DER, which is an ASN.1 sequence."""
_FILES: Final = {
    "database.sslrootcert": "database_sslrootcert",
    "database.sslcert": "database_sslcert",
    "database.sslkey": "database_sslkey",
}


async def findings(settings: Mapping[str, str], backtrack: Backtracking = no_backtracking, *, further: bool = True) -> Sequence[Finding]:
    """Return all findings about a configuration, within ``connection.validation.timeout.ms``. The configuration must parse.

    If some checks cannot be completed, this is a warning. Only a certain failure is an error. Without ``further``, only the checks of the
    emulated Debezium version are made: 3.6.3 only connects, and 2.3.4 also checks wal_level. Raises CdcError(CONFIG_INVALID) for a pattern
    that cannot be matched.
    """
    config, _notices = parse(settings)
    # As in Debezium, the initial statements are not run during validation.
    config = replace(config, initial_statements=())
    loop = asyncio.get_running_loop()
    timeout_ms = config.connection_validation_timeout_ms
    deadline = loop.time() + timeout_ms / 1000
    if cut := cut_values(settings):
        # Debezium detects a NUL in a value that is only used in statements when the task runs.
        return [Finding(name, _CUT.format(name=name), warning=in_statements(name), reference=not in_statements(name)) for name in cut]
    files = _unusable_files(config) if further else []
    try:
        async with asyncio.timeout_at(deadline):
            connection = await connect(config, _PURPOSE)
    except TimeoutError:
        return [*files, Finding(HOSTNAME, f"Connection validation timed out after {timeout_ms} ms", warning=False, reference=True)]
    except CdcError as error:
        problem = refused(_words(error), config.database_hostname, config.database_port, type(error.__cause__).__name__)
        return [*(file for file in files if file.key != problem.key), problem]
    try:
        async with asyncio.timeout_at(min(deadline, loop.time() + _LOOK_S)):
            if config.database_query_timeout_ms < 0:
                return [*files, Finding(HOSTNAME, _NEGATIVE, warning=False, reference=True)]
            found = await _look(config, connection, backtrack) if further or config.emulation.checks_wal_level else []
            return [*files, *(finding for finding in found if further or finding.reference)]
    except (TimeoutError, CdcError, psycopg.Error) as error:
        if isinstance(error, CdcError) and error.kind is ErrorKind.CONFIG_INVALID:
            raise
        LOG.debug("database checks stopped", cause=error)
        why = (
            "it took too long"
            if isinstance(error, TimeoutError)
            else f"{type(error).__name__} {getattr(error, 'sqlstate', None) or ''}".rstrip()
        )
        return [*files, Finding(HOSTNAME, f"The database could not be looked at any further ({why}); the rest was not checked")]
    finally:
        await connection.close()


async def _look(config: ConnectorConfig, connection: Connection, backtrack: Backtracking) -> list[Finding]:
    # Matching thousands of tables with a long list of expressions takes time, so a thread does it while the worker continues.
    wish = Wish(await asyncio.to_thread(Selection.of, config, backtrack))
    trying = asyncio.create_task(_replication(config)) if wish.streams else None
    try:
        facts = await read_facts(connection, config, wish.selection.signal_table, streams=wish.streams)
        tried = await trying if trying is not None else _Tried()
    finally:
        if trying is not None:
            trying.cancel()
            await asyncio.gather(trying, return_exceptions=True)
    facts = replace(facts, replication=tried.refusal, walsender=tried.walsender)
    if _plugin_can_be_tried(wish, facts):
        facts = replace(facts, plugin=await _plugin(config))
    if needs_columns(config):
        # The check whether rules match must not delay the answer.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_COLUMNS_S):
                facts = await _described(wish, facts, connection)
    return await asyncio.to_thread(judge, wish, facts)


async def _described(wish: Wish, facts: Facts, connection: Connection) -> Facts:
    captured = await asyncio.to_thread(wish.captured, facts)
    listed = [CatalogTable(table.oid, table.schema, table.table, ()) for table in captured]
    return replace(facts, described=await describe_tables(connection, listed), types=await read_types(connection))


@dataclass(frozen=True, slots=True)
class _Tried:
    refusal: Refusal | None = None
    walsender: bool = True


async def _replication(config: ConnectorConfig) -> _Tried:
    """Open a replication connection. Only this proves that the role may replicate, a WAL sender is free, and no pooler answers."""
    try:
        connection = await connect(config, _PURPOSE, replication=True)
    except CdcError as error:
        return _Tried(Refusal(server_words(_words(error))))
    try:
        # A pooler may ignore the startup parameter and provide an ordinary session, which does not know this command.
        await connection.execute(b"IDENTIFY_SYSTEM")
    except psycopg.errors.SyntaxError:
        return _Tried(walsender=False)
    finally:
        await connection.close()
    return _Tried()


def _plugin_can_be_tried(wish: Wish, facts: Facts) -> bool:
    server = facts.server
    named = wish.config.plugin_name not in (None, PGOUTPUT)
    ready = facts.replication is None and facts.walsender and server.wal_level == "logical" and not server.standby
    return wish.streams and named and ready and facts.slot is None and server.slots < server.max_slots


async def _plugin(config: ConnectorConfig) -> str:
    """Return why the configured plugin cannot be used. No catalog lists a server's libraries, so a temporary slot is created."""
    replication = Replication(await connect(config, _PURPOSE, replication=True))
    try:
        await replication.create_slot(
            f"understudy_{os.getpid()}_{id(replication):x}", str(config.plugin_name), temporary=True, timeout_s=_PLUGIN_S
        )
    except CdcError as error:
        if error.kind is ErrorKind.SOURCE_OBJECT_MISSING:
            reason = error.message.split(": ", 1)[-1]
            return f"{reason[:1].upper()}{reason[1:]}. {error.remedy}"
    finally:
        await replication.close()
    return ""


def _unusable_files(config: ConnectorConfig) -> list[Finding]:
    """Return findings for unusable files. Depending on the server and on sslmode, libpq ignores most of them."""
    if config.database_sslmode == "disable":
        return []
    found = []
    for key, attribute in _FILES.items():
        path = getattr(config, attribute)
        if not path or path == "system":
            continue
        try:
            text = read_regular(path)
            reason = "" if b"-----BEGIN " in text or (key == "database.sslkey" and text.startswith(_DER)) else "it holds no PEM"
        except (OSError, ValueError) as problem:
            reason = str(problem)
        if reason:
            LOG.warning("cannot use a file of the connection", property=key, reason=reason)
            found.append(Finding(key, f"{SENTENCES[key]}; TLS may do without it"))
    return found


def _words(error: CdcError) -> str:
    return str(error.__cause__ or error.message).strip()
