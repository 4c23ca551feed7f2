"""What a task does at its start: one pure table over slot, stored offset and snapshot mode.

The first row that matches applies (``decide``):

=========================  ======================  ==========================================================================
slot                       offset                  decision
=========================  ======================  ==========================================================================
of another plugin or       any                     stop; the error names the slot and the SQL that fixes it
another database
lost (wal_status)          any                     when_needed: drop it, create it again, snapshot; else stop
missing                    of a finished snapshot
                           or of streaming         when_needed or always: create it, snapshot; else stop
missing                    missing, or of an
                           aborted snapshot        create it; snapshot as the mode says
exists                     missing                 snapshot as the mode says; then stream from the snapshot, or without one from
                                                   the slot
exists                     of an aborted snapshot  snapshot as the mode says; stream from the *slot's* position. If rows of the
                                                   aborted snapshot were deleted meanwhile, the stream contains their deletes
exists                     before the slot's WAL   when_needed or always: snapshot; else stop. PostgreSQL cannot report whether
                                                   anything in this database was committed between the two
exists                     of streaming            no snapshot (always, and configuration_based with data: snapshot); stream from the
                                                   offset
=========================  ======================  ==========================================================================

A user's snapshotter (``snapshot.mode=custom``) decides where the table says "as the mode says" or names ``always``. Its answer about lost
changes counts as ``when_needed``; after a loss it is asked once more as if there were no offset. This is as recorded from Debezium.

Source of Debezium's behaviour: Debezium documentation, ``snapshot.mode`` and ``offset.mismatch.strategy``; its tests
``shouldStopConnectorOnSlotRecreation``, ``shouldAdvanceOffsetToSlotWithTrustSlotStrategy``,
``shouldSyncToGreaterLsnWithTrustGreaterLsnStrategy``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.catalog.snapshot_mode import SnapshotMode
from connector.delivery.offsets import StoredOffset
from connector.errors import CdcError, ErrorKind
from connector.wire.lsn import format_lsn


@dataclass(frozen=True, slots=True)
class SlotState:
    """A replication slot as ``pg_replication_slots`` shows it. An LSN that the server does not report is 0."""

    name: str
    plugin: str
    logical: bool
    same_database: bool
    database: str
    active: bool
    holder: str
    """A description of the connection that uses the slot; empty if none does."""
    restart: int
    confirmed: int
    wal_status: str
    """reserved, extended, unreserved or lost (PostgreSQL 13 and later)."""
    safe_wal_size: int | None = None
    """Bytes that may be written before the slot may lose WAL; None without ``max_slot_wal_keep_size``, and before PostgreSQL 13."""


FROM_SNAPSHOT: Final = -1
"""Value of ``Decision.start``: stream from the snapshot's position."""
FROM_SLOT: Final = 0
"""Value of ``Decision.start``: stream from the slot's confirmed position."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the task does at its start.

    The order is: ``drop_slot``, ``create_slot``, ``catch_up`` (stream from this LSN up to the snapshot; 0: no), ``snapshot`` (read the
    tables), ``advance_slot`` (to this LSN; 0: no), then ``stream`` from ``start`` (an LSN, :data:`FROM_SNAPSHOT` or :data:`FROM_SLOT`).
    Streaming resumes from ``offset``. ``why`` is the reason for the log.
    """

    create_slot: bool
    snapshot: bool
    stream: bool
    start: int
    why: str
    drop_slot: bool = False
    advance_slot: int = 0
    catch_up: int = 0
    offset: StoredOffset | None = None
    unsent: tuple[int, int] | None = None
    """The LSNs of offset and slot, if the slot is ahead of the offset. The server does not send what was committed between them."""


def decide(
    mode: SnapshotMode,
    slot: SlotState | None,
    offset: StoredOffset | None,
    strategy: str,
    plugin: str = "pgoutput",
    *,
    check_position: bool = True,
) -> Decision:
    """Decide by the module's table. Raises CdcError(SLOT_LOST, SLOT_MISMATCH) when an operator must act.

    Without ``check_position`` (``internal.log.position.check.enable`` false) it is not checked whether the slot still has the offset's WAL.
    """
    complete = offset is not None and not offset.snapshot_running
    broken = offset is not None and not complete
    if not mode.stream:
        wanted = mode.wants(offset=offset is not None, broken=broken)
        return Decision(False, wanted, False, FROM_SNAPSHOT, "snapshot only" if wanted else "the snapshot was taken already")
    if slot is not None and (not slot.logical or slot.plugin != plugin or not slot.same_database):
        raise foreign_slot(slot, plugin)
    if slot is not None and slot.wal_status == "lost":
        if mode.when_needed:
            return Decision(True, mode.wants_after_loss(), True, FROM_SNAPSHOT, "the slot lost its WAL", drop_slot=True)
        raise lost_slot(slot)
    if slot is None:
        if complete and not (mode.when_needed or mode.always):
            raise _missing(offset)
        wanted = mode.wants(offset=broken, broken=broken)
        return Decision(True, wanted, True, FROM_SNAPSHOT, "no slot yet")
    if offset is None:
        if mode.wants(offset=False):
            return Decision(False, True, True, FROM_SNAPSHOT, "a slot but no offset yet")
        return Decision(False, False, True, FROM_SLOT, "a slot but no offset yet")
    if broken:
        return Decision(False, mode.wants(offset=True, broken=True), True, FROM_SLOT, "the last snapshot did not end")
    return _resume(mode, slot, offset, strategy, check_position)


def _resume(mode: SnapshotMode, slot: SlotState, offset: StoredOffset, strategy: str, check_position: bool) -> Decision:
    at = offset.start or offset.lsn or 0
    reached = max(at, offset.lsn or 0)
    if strategy in ("trust_slot", "trust_greater_lsn") and slot.confirmed > reached:
        again = mode.wants(offset=True)
        why, unsent = "the slot is ahead: trusted", None if again else (reached, slot.confirmed)
        return Decision(False, again, True, FROM_SNAPSHOT if again else slot.confirmed, why, offset=offset, unsent=unsent)
    if check_position and reached < slot.restart:
        if mode.when_needed or mode.always:
            wanted = mode.wants_after_loss()
            return Decision(False, wanted, True, FROM_SNAPSHOT if wanted else FROM_SLOT, "the offset's WAL is gone")
        raise _gone(slot, reached)
    if mode.wants(offset=True):
        if mode.catch_up:
            return Decision(False, True, True, FROM_SNAPSHOT, "again, after the changes until now", offset=offset, catch_up=at)
        return Decision(False, True, True, FROM_SNAPSHOT, mode.name)
    if strategy in ("trust_offset", "trust_greater_lsn"):
        if slot.confirmed > reached:
            raise _ahead(slot, reached)
        if slot.confirmed < at:
            return Decision(False, False, True, at, "the offset is ahead: slot advanced", advance_slot=at, offset=offset)
    if slot.confirmed > reached:
        why = "resume; the slot was confirmed beyond the offset, changes between are not sent"
        return Decision(False, False, True, at, why, offset=offset, unsent=(reached, slot.confirmed))
    return Decision(False, False, True, at, "resume", offset=offset)


def foreign_slot(slot: SlotState, plugin: str | None) -> CdcError:
    """Return the error for a slot that this connector cannot use; ``plugin`` is None if the server decides which plugin is used."""
    if not slot.logical:
        what = "is a physical slot"
    elif not slot.same_database:
        what = f"belongs to database {slot.database}"
    else:
        what = f"was made for plugin {slot.plugin}" + (f", not {plugin}" if plugin else "")
    return CdcError(
        ErrorKind.SLOT_MISMATCH,
        f"Replication slot {slot.name} {what}",
        f"Set slot.name to another name, or drop it: SELECT pg_drop_replication_slot('{slot.name}');",
    )


def lost_slot(slot: SlotState) -> CdcError:
    """Return the error for a slot that the server has invalidated."""
    return CdcError(
        ErrorKind.SLOT_LOST,
        f"The server removed WAL that replication slot {slot.name} needs (wal_status lost), so changes are permanently missing",
        f"Run SELECT pg_drop_replication_slot('{slot.name}'); and restart with snapshot.mode=when_needed; raise max_slot_wal_keep_size",
    )


def _missing(offset: StoredOffset | None) -> CdcError:
    at = format_lsn((offset.lsn or 0) if offset else 0)
    return CdcError(
        ErrorKind.SLOT_MISMATCH,
        f"The stored offset is at {at}, but the replication slot is gone: changes since then may be missing",
        "Restart with snapshot.mode=when_needed to take a new snapshot, or delete the connector's offsets",
        "The connector is trying to read change stream starting at the stored offset, but this is no longer available on the server.",
    )


def _gone(slot: SlotState, reached: int) -> CdcError:
    return CdcError(
        ErrorKind.SLOT_MISMATCH,
        f"{_behind(slot, reached)} The slot holds WAL from {format_lsn(slot.restart)} only",
        f"{_UNKNOWN} To be sure, restart with snapshot.mode=when_needed, which takes a new snapshot. If nothing is missing, or if"
        " missing changes do not matter, set offset.mismatch.strategy=trust_slot to continue from the slot",
        "The connector is trying to read change stream starting at the stored offset, but this is no longer available on the server.",
    )


def _ahead(slot: SlotState, reached: int) -> CdcError:
    return CdcError(
        ErrorKind.SLOT_MISMATCH,
        _behind(slot, reached),
        f"{_UNKNOWN} Set offset.mismatch.strategy=trust_slot to continue from the slot, or remove the connector's offsets to take a new"
        " snapshot",
    )


def _behind(slot: SlotState, reached: int) -> str:
    ahead = max(slot.confirmed, slot.restart)
    return (
        f"The stored offset {format_lsn(reached)} is {ahead - reached} bytes of WAL before {format_lsn(ahead)}, where replication slot"
        f" {slot.name} continues: the slot was created again or advanced."
    )


_UNKNOWN: Final = (
    "The server does not send what was committed between the two positions, and it cannot report what that was. If captured tables"
    " changed, these changes are missing. If only other tables or databases were written to, nothing is missing."
)
