"""What a look at a connector's database, or at the slots of a server, found, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # It needs the table of properties, for which the first page of the console would wait.
    from connector.start.decision import SlotState


@dataclass(frozen=True, slots=True)
class SlotHealth:
    """The answers of one look. Later ones are unknown if ``problem`` says why the database could not be reached."""

    address: str
    """``host:port/database``."""
    slot_name: str
    plugin: str
    """The output plugin that the connector uses."""
    streams: bool
    """Whether the connector reads changes, and so needs the slot."""
    problem: str = ""
    role: str = ""
    replicates: bool = False
    """Whether the role may replicate: by itself, as superuser, or by a role of a managed service."""
    unreadable: Sequence[str] = ()
    """Captured tables that the role may not select from."""
    slot: SlotState | None = None
    lsn: int = 0
    """The server's present position in the WAL."""
    missing_publication: str = ""
    """The publication that the connector reads, if it does not exist: PostgreSQL 18 then sends no change, and says so only in its log."""


@dataclass(frozen=True, slots=True)
class ServerSlots:
    """The slots that a look at a server found, by their names, and the server's position in the WAL at that moment."""

    slots: Mapping[str, SlotState]
    lsn: int
