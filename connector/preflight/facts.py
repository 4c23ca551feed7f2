"""What was seen of the server, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from connector.reconcile import SlotState
from connector.table import CatalogTable
from connector.types.codec import Types


@dataclass(frozen=True, slots=True)
class Server:
    """``version`` is server_version_num; ``clouds`` are the managed services' own roles that exist, such as rds_replication."""

    version: int
    wal_level: str
    standby: bool
    max_slots: int
    slots: int
    pooled: bool
    """Something between here and the server answered in its stead."""
    clouds: frozenset[str] = frozenset()
    english: bool = True
    """Its messages are."""


@dataclass(frozen=True, slots=True)
class Role:
    """Who the connector is. ``memberships`` are the managed services' roles that it has, directly or not."""

    name: str
    superuser: bool
    replication: bool
    creates: bool
    """It may create in the database, and so make publications."""
    database: str
    memberships: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Publication:
    """``tables`` are oids, ``schemas`` names of those published as a whole; ``operations`` of insert, update, delete, truncate."""

    all_tables: bool
    operations: frozenset[str]
    owned: bool
    tables: frozenset[int]
    schemas: frozenset[str]


@dataclass(frozen=True, slots=True)
class Table:
    """An ordinary or partitioned table. ``identity`` is pg_class.relreplident, ``ancestors`` what it is a partition of."""

    oid: int
    schema: str
    table: str
    kind: str
    identity: str
    keyed: bool
    """It has what its replica identity refers to: the primary key, or the index."""
    logged: bool
    readable: bool
    reachable: bool
    """The role may use the schema."""
    owned: bool
    policed: bool = False
    """Row security hides rows of it from the role."""
    ancestors: Sequence[int] = ()

    @property
    def name(self) -> str:
        """``schema.table``."""
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class SignalTable:
    """What the role may do with the signal table, and its columns in their order."""

    inserts: bool
    deletes: bool
    columns: Sequence[str]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The server's words for something that it refused; ``state`` is the SQLSTATE, empty where the driver tells none."""

    text: str
    state: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it. None in place of a thing means that it is not there, or was not asked for."""

    server: Server
    role: Role
    slot: SlotState | None = None
    publication: Publication | None = None
    tables: Sequence[Table] = ()
    signals: SignalTable | None = None
    heartbeat: Refusal | None = None
    """Why ``heartbeat.action.query`` cannot be run."""
    replication: Refusal | None = None
    """Why no replication connection can be had."""
    walsender: bool = True
    """The replication connection speaks the replication protocol."""
    described: Sequence[CatalogTable] = ()
    """The captured tables with their columns, where rules name columns."""
    types: Types = field(default_factory=dict)
    """The types of those columns."""
    plugin: str = ""
    """Why the output plugin that is named cannot be used; empty when it can, or was not tried."""
