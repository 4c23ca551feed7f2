"""Looks at the database of one connector on demand: its role, its slot, and the server's position."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import psycopg

from connector.catalog.selection import Selection
from connector.config.connector_config import parse
from connector.errors import CdcError
from connector.io.postgres.connection import Connection, connect
from connector.io.postgres.preflight_facts import read_facts
from connector.io.postgres.server import current_lsn
from connector.ports import Backtracking, no_backtracking
from connector.preflight.requirements import Wish
from connector.preflight.slot_health import SlotHealth

SECONDS: Final = 5.0
"""The time limit of a look."""
_PURPOSE: Final = "Understudy Console"


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
