"""Rules about the server, the connector's role, and connection poolers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connector.catalog.identifiers import quote_identifier
from connector.errors import CdcError, ErrorKind
from connector.preflight.facts import Facts
from connector.preflight.requirements import Wish

OLDEST: Final = 120_000
"""PostgreSQL 12 added pg_attribute.attgenerated, which is read for every table."""
_STANDBY_DECODES: Final = 160_000

CLOUD_ROLES: Final = ("rds_replication", "rds_superuser", "cloudsqlsuperuser", "azure_pg_admin")
"""Roles of managed servers (Amazon, Google, Microsoft) that have the right to replicate or can grant it."""

_NO_REPLICATION: Final = (
    "startup parameter",
    "replication not supported",
    "replication is not supported",
    "replication connections are not",
)


def unread_version(version: int) -> CdcError | None:
    """Return the error for a server whose catalog lacks columns that the connector reads; ``version`` is server_version_num."""
    if version >= OLDEST:
        return None
    shown = f"{version // 10000}.{version % 10000}" if version >= 100_000 else f"{version // 10000}.{version // 100 % 100}"
    return CdcError(
        ErrorKind.SOURCE_SETTING, f"The server is PostgreSQL {shown}, and the oldest that can be read is 12", "Upgrade the server"
    )


def undecoded_wal(version: int, level: str, *, in_recovery: bool) -> CdcError | None:
    """Return the error for a server that cannot decode its WAL. The sentence about ``level`` is Debezium 2.3.4's."""
    if level != "logical":
        return CdcError(
            ErrorKind.SOURCE_SETTING,
            f"Postgres server wal_level property must be 'logical' but is: '{level}'",
            "Run ALTER SYSTEM SET wal_level = 'logical'; and restart PostgreSQL, or use your provider's setting, such as "
            "rds.logical_replication or cloudsql.logical_decoding",
        )
    if in_recovery and version < _STANDBY_DECODES:
        return CdcError(
            ErrorKind.SOURCE_SETTING,
            f"The server is a standby of PostgreSQL {version // 10000}, and standbys can be decoded since version 16",
            "Set database.hostname to the primary",
        )
    return None


def too_old(_wish: Wish, facts: Facts) -> Iterator[str]:
    """The server's catalog lacks columns that the connector reads."""
    if problem := unread_version(facts.server.version):
        yield str(problem)


def wal_level(wish: Wish, facts: Facts) -> Iterator[str]:
    """wal_level is not logical. Debezium 3.6.3 accepts the configuration and fails when it creates the slot."""
    server = facts.server
    if wish.streams and (problem := undecoded_wal(server.version, server.wal_level, in_recovery=False)):
        yield str(problem)


def standby(wish: Wish, facts: Facts) -> Iterator[str]:
    """The server is a standby before PostgreSQL 16, which cannot decode its WAL."""
    server = facts.server
    if wish.streams and server.version >= OLDEST and (problem := undecoded_wal(server.version, "logical", in_recovery=server.standby)):
        yield str(problem)


def no_replication(wish: Wish, facts: Facts) -> Iterator[str]:
    """The server refuses replication to the role. The catalog does not decide, because managed servers have their own rules."""
    if wish.streams and _role_refused(facts):
        yield str(no_replication_role(facts.role.name, amazon="rds_replication" in facts.server.clouds))


def no_replication_role(user: str, *, amazon: bool | None = None) -> CdcError:
    """Return the error for a role without the right to replicate. ``amazon`` is None if it is unknown whether this is Amazon RDS."""
    name = quote_identifier(user)
    own, rds = f"ALTER ROLE {name} REPLICATION;", f"GRANT rds_replication TO {name};"
    remedy = f"{own} (on Amazon RDS {rds})" if amazon is None else rds if amazon else own
    return CdcError(ErrorKind.SOURCE_PERMISSION, f"Postgres roles LOGIN and REPLICATION are not assigned to user: {user}", f"Run {remedy}")


def no_replication_protocol(address: str) -> CdcError:
    """Return the error for a connection pooler that answers at ``address`` instead of the server."""
    return CdcError(
        ErrorKind.SOURCE_SETTING,
        f"There is no replication protocol at {address}: a connection pooler answers there",
        "Set database.hostname and database.port to the server itself",
    )


def refuses_replication(message: str) -> bool:
    """Return whether the message ``message`` is a pooler's refusal of the replication protocol."""
    return any(words in message.lower() for words in _NO_REPLICATION)


def _role_refused(facts: Facts) -> bool:
    if facts.replication is None or _pooler_refused(facts):
        return False
    # "permission denied to start WAL sender"; before 16 "must be superuser or replication role to start walsender". If the server's
    # messages are in another language, the catalog decides.
    if "to start wal" in facts.replication.text.lower():
        return True
    if facts.server.english:
        return False
    role = facts.role
    entitled = role.superuser or role.replication or bool(role.memberships & set(CLOUD_ROLES))
    return not entitled and "max_wal_senders" not in facts.replication.text


def _pooler_refused(facts: Facts) -> bool:
    return (facts.replication is not None and refuses_replication(facts.replication.text)) or not facts.walsender


def pooler_without_replication(wish: Wish, facts: Facts) -> Iterator[str]:
    """A pooler refuses the startup parameter ``replication``, or ignores it and provides an ordinary session."""
    if wish.streams and _pooler_refused(facts):
        yield str(no_replication_protocol(_address(wish)))


def pooler(wish: Wish, facts: Facts) -> Iterator[str]:
    """A pooler allows replication, but it may share sessions, so locks and settings are not reliable."""
    if facts.server.pooled and not _pooler_refused(facts):
        yield (
            f"A connection pooler answers at {_address(wish)}: snapshots and signals need sessions of their own."
            " Set database.hostname and database.port to the server itself, or let the pooler work by sessions"
        )


def no_replication_connection(wish: Wish, facts: Facts) -> Iterator[str]:
    """The server refuses the replication connection for a reason that may pass: WAL senders, connection limits, access rules."""
    if not wish.streams or facts.replication is None or _role_refused(facts) or _pooler_refused(facts):
        return
    if "max_wal_senders" in facts.replication.text:
        yield (
            "The server has no free WAL sender. Run ALTER SYSTEM SET max_wal_senders = …; with a higher number and restart PostgreSQL,"
            " or end the connections that use them: SELECT pid, application_name FROM pg_stat_replication;"
        )
    else:
        yield f"The server refuses a replication connection: {facts.replication.text}. Fix the cause before the connector starts"


def no_slot_free(wish: Wish, facts: Facts) -> Iterator[str]:
    """The slot must be created, but the server has no free slot."""
    server = facts.server
    if wish.streams and facts.slot is None and server.slots >= server.max_slots:
        yield (
            f"All {server.max_slots} replication slots of the server are taken, and slot {wish.config.slot_name} does not exist yet."
            " Drop an unused one (SELECT slot_name FROM pg_replication_slots WHERE NOT active;)"
            " or raise max_replication_slots and restart PostgreSQL"
        )


def plugin_missing(wish: Wish, facts: Facts) -> Iterator[str]:
    """The output plugin cannot be used. It was tried with a temporary slot, except pgoutput, which every server has."""
    if wish.streams and facts.plugin:
        yield facts.plugin


def _address(wish: Wish) -> str:
    return f"{wish.config.database_hostname}:{wish.config.database_port}"
