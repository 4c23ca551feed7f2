"""Looks at databases on demand: for the console at all that one connector needs, for metrics at the slots of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import psycopg

from connector.catalog.selection import Selection
from connector.config.connector_config import parse
from connector.errors import CdcError, ErrorKind
from connector.io.postgres.connection import Connection, connect
from connector.io.postgres.preflight_facts import read_facts
from connector.io.postgres.server import current_lsn, slot_states
from connector.ports import Backtracking, no_backtracking
from connector.preflight.requirements import Wish
from connector.preflight.slot_health import ServerSlots, SlotHealth

SECONDS: Final = 5.0
"""The time limit of a look."""
_PURPOSE: Final = "Understudy Console"
_METRICS: Final = "Understudy Metrics"
_OF_SERVER: Final = ("database.", "driver.")
_ELSE: Final = {"name": "metrics", "topic.prefix": "metrics", "connector.class": "io.debezium.connector.postgresql.PostgresConnector"}
"""What a configuration needs besides the properties of the connection."""

Server = tuple[tuple[str, str], ...]
"""The properties of a connection, with resolved references: equal ones mean the same server and role. Never show or log them."""


async def look(settings: Mapping[str, str], backtrack: Backtracking = no_backtracking, *, seconds: float = SECONDS) -> SlotHealth:
    """Look at the database that ``settings``, with resolved references, name; within ``seconds``. Nothing is changed there.

    Raises CdcError(CONFIG_INVALID) for settings that cannot be parsed.
    """
    config, _notices = parse(settings)
    wish = Wish(await asyncio.to_thread(Selection.of, replace(config, initial_statements=()), backtrack))
    address = f"{config.database_hostname}:{config.database_port}/{config.database_dbname}"
    found = SlotHealth(address, config.slot_name, config.plugin_name or "", wish.streams)
    try:
        async with asyncio.timeout(seconds):
            connection = await connect(wish.config, _PURPOSE)
            try:
                return await _answers(connection, wish, found)
            finally:
                await connection.close()
    except TimeoutError:
        return replace(found, problem=f"The database did not answer within {seconds:g} seconds.")
    except CdcError as problem:
        return replace(found, problem=str(problem))
    except psycopg.Error as problem:
        return replace(found, problem=f"The database could not be looked at ({type(problem).__name__} {problem.sqlstate or ''}).")


async def _answers(connection: Connection, wish: Wish, found: SlotHealth) -> SlotHealth:
    facts = await read_facts(connection, wish.config, None, streams=wish.streams)
    captured = await asyncio.to_thread(wish.captured, facts)
    role = facts.role
    return replace(
        found,
        plugin=wish.plugin(facts) or found.plugin,
        role=role.name,
        replicates=role.replication or role.superuser or bool(role.memberships),
        unreadable=[table.name for table in captured if not (table.readable and table.reachable)],
        slot=facts.slot,
        lsn=await current_lsn(connection),
        missing_publication=wish.config.publication_name if wish.publishes(facts) and facts.publication is None else "",
    )


def place_of_slot(settings: Mapping[str, str]) -> tuple[str, Server]:
    """Return the slot of the connector with these resolved settings, and the server that has it. Raises CdcError(CONFIG_INVALID)."""
    config, _notices = parse(settings)
    return config.slot_name, tuple(sorted((key, value) for key, value in settings.items() if key.startswith(_OF_SERVER)))


async def look_at_slots(server: Server, slots: Sequence[str], *, seconds: float = SECONDS) -> ServerSlots:
    """Look at these slots of a server, with one connection, within ``seconds``. Raises CdcError."""
    config, _notices = parse({**_ELSE, **dict(server)})
    try:
        async with asyncio.timeout(seconds):
            connection = await connect(replace(config, initial_statements=()), _METRICS, timeout_s=max(2, int(seconds)))
            try:
                return ServerSlots(await slot_states(connection, slots), await current_lsn(connection))
            finally:
                await connection.close()
    except TimeoutError:
        raise CdcError(ErrorKind.SOURCE_TIMEOUT, f"The database did not answer within {seconds:g} seconds.") from None
