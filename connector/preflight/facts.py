"""The facts about the database, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from connector.catalog.table import CatalogTable
from connector.start.decision import SlotState
from connector.start.publication_sql import PublicationState
from connector.types.codec import Types


@dataclass(frozen=True, slots=True)
class Server:
    """The server. ``version`` is server_version_num; ``clouds`` are the existing roles of managed services, such as rds_replication."""

    version: int
    wal_level: str
    standby: bool
    max_slots: int
    slots: int
    pooled: bool
    """Whether a connection pooler answered instead of the server."""
    clouds: frozenset[str] = frozenset()
    english: bool = True
    """Whether the server's messages are in English."""


@dataclass(frozen=True, slots=True)
class Role:
    """The connector's database role. ``memberships`` are the roles of managed services that it has, directly or indirectly."""

    name: str
    superuser: bool
    replication: bool
    creates: bool
    """Whether the role has CREATE on the database, which publications require."""
    database: str
    memberships: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Publication:
    """The publication. ``tables`` are the oids of those that it lists.

    ``operations`` is a subset of insert, update, delete and truncate.
    """

    state: PublicationState
    operations: frozenset[str]
    owned: bool
    tables: frozenset[int]


@dataclass(frozen=True, slots=True)
class Table:
    """An ordinary or partitioned table. ``identity`` is pg_class.relreplident; ``ancestors`` are the oids of its partitioned parents."""

    oid: int
    schema: str
    table: str
    kind: str
    identity: str
    keyed: bool
    """Whether the key of its replica identity exists, which is the primary key or the index."""
    logged: bool
    readable: bool
    reachable: bool
    """Whether the role has USAGE on the schema."""
    owned: bool
    policed: bool = False
    """Whether row security hides rows from the role."""
    ancestors: Sequence[int] = ()

    @property
    def name(self) -> str:
        """``schema.table``."""
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class SignalTable:
    """The signal table: the role's privileges on it, and its columns in order."""

    inserts: bool
    deletes: bool
    columns: Sequence[str]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error message of the server; ``state`` is the SQLSTATE, empty if the driver reports none."""

    text: str
    state: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts. None means that an object does not exist, or that it was not read."""

    server: Server
    role: Role
    slot: SlotState | None = None
    publication: Publication | None = None
    tables: Sequence[Table] = ()
    signals: SignalTable | None = None
    heartbeat: Refusal | None = None
    """The error for ``heartbeat.action.query``."""
    replication: Refusal | None = None
    """The error for the replication connection."""
    walsender: bool = True
    """Whether the replication connection supports the replication protocol."""
    described: Sequence[CatalogTable] = ()
    """The captured tables, with their columns if rules name columns."""
    types: Types = field(default_factory=dict)
    """The types of those columns."""
    plugin: str = ""
    """Why the configured output plugin cannot be used; empty if it can, or if it was not tried."""
