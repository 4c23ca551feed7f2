"""The health ladder of a replication slot: each rung needs the ones above it.

reachable → role → slot → connected → flowing
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from connector.catalog.identifiers import quote_identifier
from connector.preflight.slot_health import SlotHealth
from workers.console.figures import size

Verdict = Literal["good", "warning", "bad", "unknown"]

_SLOW_BYTES: Final = 1 << 30
"""WAL that waits for the slot, from which on the ladder warns: a GiB fills many servers' disks within hours."""
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung: its name, the verdict, what was found, and how to fix it (empty if nothing is wrong)."""

    name: str
    verdict: Verdict
    text: str
    remedy: str = ""


def ladder(found: SlotHealth) -> list[Rung]:
    """The rungs from a look at the database. Below one that is bad all are unknown."""
    rungs: list[Rung] = []
    for judge in (_reachable, _role, _slot, _connected, _flowing):
        name = judge.__name__.removeprefix("_")
        if any(rung.verdict == "bad" for rung in rungs):
            rungs.append(Rung(name, "unknown", "Not known before the rung above holds."))
        else:
            rungs.append(next(judge(found, name)))
    return rungs


def _reachable(found: SlotHealth, name: str) -> Iterator[Rung]:
    if found.problem:
        yield Rung(name, "bad", found.problem, "Check database.hostname, database.port, the login, and that PostgreSQL runs.")
    yield Rung(name, "good", f"PostgreSQL answers at {found.address}.")


def _role(found: SlotHealth, name: str) -> Iterator[Rung]:
    role = quote_identifier(found.role)
    if found.streams and not found.replicates:
        yield Rung(name, "bad", f"The role {found.role} may not replicate.", f"ALTER ROLE {role} REPLICATION;")
    if found.unreadable:
        shown = ", ".join(found.unreadable[:_NAMED]) + (", …" if len(found.unreadable) > _NAMED else "")
        yield Rung(
            name,
            "warning",
            f"The role {found.role} may not read {len(found.unreadable)} captured tables ({shown}). Snapshots need that.",
            f"GRANT SELECT ON … TO {role}; and USAGE on the schemas.",
        )
    yield Rung(name, "good", f"The role {found.role} may replicate and read the captured tables.")


def _slot(found: SlotHealth, name: str) -> Iterator[Rung]:
    slot = found.slot
    if not found.streams:
        yield Rung(name, "good", "The snapshot mode reads no changes, so that no slot is needed.")
    if slot is None:
        yield Rung(
            name,
            "bad",
            f"The replication slot {found.slot_name} does not exist.",
            "The task creates it at its start. Restart it.",
        )
        return
    if slot.wal_status == "lost":
        yield Rung(
            name,
            "bad",
            f"The server has removed WAL that the slot {slot.name} needs.",
            f"Drop it (SELECT pg_drop_replication_slot('{slot.name}')) and take a new snapshot; raise max_slot_wal_keep_size.",
        )
    if not slot.logical or not slot.same_database or (found.plugin and slot.plugin != found.plugin):
        yield Rung(
            name,
            "bad",
            f"The slot {slot.name} is of database {slot.database or '-'} and plugin {slot.plugin or '-'}.",
            "Set slot.name to a slot of this database and plugin, or drop the slot.",
        )
    if slot.wal_status == "unreserved":
        yield Rung(name, "warning", f"The server will soon remove WAL that the slot {slot.name} needs.", "Raise max_slot_wal_keep_size.")
    yield Rung(name, "good", f"The slot {slot.name} exists with plugin {slot.plugin}; WAL: {slot.wal_status}.")


def _connected(found: SlotHealth, name: str) -> Iterator[Rung]:
    slot = found.slot
    if slot is None:
        yield Rung(name, "good", "No slot is needed.")
    elif not slot.active:
        yield Rung(name, "bad", f"Nobody reads the slot {slot.name}.", "Resume or restart the connector; see its error.")
    else:
        yield Rung(name, "good", f"Read by {slot.holder}.")


def _flowing(found: SlotHealth, name: str) -> Iterator[Rung]:
    slot = found.slot
    if slot is None:
        yield Rung(name, "good", "No slot is needed.")
        return
    if found.missing_publication:
        yield Rung(
            name,
            "bad",
            f"The publication {found.missing_publication} does not exist. The server sends no change without it.",
            "Restart the connector, which creates it unless publication.autocreate.mode is disabled. "
            "Then take a snapshot of its tables: changes may be missing.",
        )
    waiting = max(0, found.lsn - slot.confirmed)
    if waiting >= _SLOW_BYTES:
        yield Rung(
            name,
            "warning",
            f"{size(waiting)} of WAL wait for the slot's confirmation.",
            "Look at the event rate and at Kafka. A long transaction, or a table that is not captured, can hold it back too.",
        )
    yield Rung(name, "good", f"{size(waiting)} between the slot's confirmed position and the server's.")
