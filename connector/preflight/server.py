"""Rules about the server, the role, and what stands between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connector.preflight.facts import Facts, Role, Server
from connector.preflight.wish import Wish
from connector.table import quote_identifier

OLDEST: Final = 120_000
"""pg_attribute.attgenerated, which every reading of a table asks for, came with it."""
_STANDBY_DECODES: Final = 160_000

CLOUD_ROLES: Final = ("rds_replication", "rds_superuser", "cloudsqlsuperuser", "azure_pg_admin")
"""Roles of managed servers that carry, or may hand on, the right to replicate (Amazon, Google, Microsoft)."""

_UNTOLD: Final = ("startup parameter", "replication not supported", "replication is not supported", "replication connections are not")


def too_old(_wish: Wish, facts: Facts) -> Iterator[str]:
    """The catalog lacks what the connector reads."""
    if facts.server.version < OLDEST:
        number = facts.server.version
        shown = f"{number // 10000}.{number % 10000}" if number >= 100_000 else f"{number // 10000}.{number // 100 % 100}"
        yield f"The server is PostgreSQL {shown}, and the oldest that can be read is 12. Upgrade it"


def wal_level(wish: Wish, facts: Facts) -> Iterator[str]:
    """In the words of 2.3.4; 3.6.3 lets the configuration pass and fails when it makes the slot."""
    level = facts.server.wal_level
    if wish.streams and level != "logical":
        yield (
            f"Postgres server wal_level property must be 'logical' but is: '{level}'."
            " Run ALTER SYSTEM SET wal_level = 'logical'; and restart PostgreSQL"
        )


def standby(wish: Wish, facts: Facts) -> Iterator[str]:
    """Standbys decode since PostgreSQL 16."""
    if wish.streams and facts.server.standby and OLDEST <= facts.server.version < _STANDBY_DECODES:
        yield (
            f"The server is a standby of PostgreSQL {facts.server.version // 10000}, and standbys can be decoded since version 16."
            " Set database.hostname to the primary"
        )


def no_replication(wish: Wish, facts: Facts) -> Iterator[str]:
    """The role: refused by the server, whatever the catalog says, for managed servers have rules of their own."""
    if wish.streams and _role_refused(facts):
        yield (f"Postgres roles LOGIN and REPLICATION are not assigned to user: {facts.role.name}. Run {_grant(facts.server, facts.role)}")


def _role_refused(facts: Facts) -> bool:
    if facts.replication is None or _pooler_refused(facts):
        return False
    # "permission denied to start WAL sender"; before 16 "must be superuser or replication role to start walsender". A server
    # that speaks another language is believed when the catalog agrees.
    if "to start wal" in facts.replication.text.lower():
        return True
    if facts.server.english:
        return False
    role = facts.role
    entitled = role.superuser or role.replication or bool(role.memberships & set(CLOUD_ROLES))
    return not entitled and "max_wal_senders" not in facts.replication.text


def _grant(server: Server, role: Role) -> str:
    name = quote_identifier(role.name)
    return f"GRANT rds_replication TO {name};" if "rds_replication" in server.clouds else f"ALTER ROLE {name} REPLICATION;"


def _pooler_refused(facts: Facts) -> bool:
    refused = facts.replication is not None and any(words in facts.replication.text.lower() for words in _UNTOLD)
    return refused or not facts.walsender


def pooler_without_replication(wish: Wish, facts: Facts) -> Iterator[str]:
    """A pooler refuses the startup parameter ``replication``, or swallows it and hands out an ordinary session."""
    if wish.streams and _pooler_refused(facts):
        yield (
            f"There is no replication protocol at {_address(wish)}: a connection pooler answers there."
            " Set database.hostname and database.port to the server itself"
        )


def pooler(wish: Wish, facts: Facts) -> Iterator[str]:
    """It lets replication through: sessions, locks and settings are still not the connector's own."""
    if facts.server.pooled and not _pooler_refused(facts):
        yield (
            f"A connection pooler answers at {_address(wish)}: snapshots and signals need sessions of their own."
            " Set database.hostname and database.port to the server itself, or let the pooler work by sessions"
        )


def no_replication_connection(wish: Wish, facts: Facts) -> Iterator[str]:
    """Refused for a reason that may pass: wal senders, connection limits, access rules."""
    if not wish.streams or facts.replication is None or _role_refused(facts) or _pooler_refused(facts):
        return
    if "max_wal_senders" in facts.replication.text:
        yield (
            "The server has no wal sender free. Run ALTER SYSTEM SET max_wal_senders = …; with a higher number and restart PostgreSQL,"
            " or end who uses them: SELECT pid, application_name FROM pg_stat_replication;"
        )
    else:
        yield f"The server refuses a replication connection: {facts.replication.text}. Mend what it names before the connector starts"


def no_slot_free(wish: Wish, facts: Facts) -> Iterator[str]:
    """Only where one must be made."""
    server = facts.server
    if wish.streams and facts.slot is None and server.slots >= server.max_slots:
        yield (
            f"All {server.max_slots} replication slots of the server are taken, and slot {wish.config.slot_name} is not there yet."
            " Drop one that nobody uses (SELECT slot_name FROM pg_replication_slots WHERE NOT active;)"
            " or raise max_replication_slots and restart PostgreSQL"
        )


def plugin_missing(wish: Wish, facts: Facts) -> Iterator[str]:
    """Tried with a temporary slot; pgoutput is in every server."""
    if wish.streams and facts.plugin:
        yield facts.plugin


def _address(wish: Wish) -> str:
    return f"{wish.config.database_hostname}:{wish.config.database_port}"
