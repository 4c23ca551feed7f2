"""Rules about an existing replication slot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connector.preflight.facts import Facts
from connector.preflight.requirements import Wish
from connector.start.decision import foreign_slot, lost_slot

_OWN: Final = "(Understudy Streaming,"


def foreign(wish: Wish, facts: Facts) -> Iterator[str]:
    """The connector cannot use the slot."""
    slot, plugin = facts.slot, wish.plugin(facts)
    if not wish.streams or slot is None:
        return
    if not slot.logical or not slot.same_database or slot.plugin != plugin:
        yield str(foreign_slot(slot, plugin))


def lost(wish: Wish, facts: Facts) -> Iterator[str]:
    """The server invalidated the slot. Only snapshot.mode=when_needed creates it again."""
    slot, mode = facts.slot, wish.selection.mode
    if wish.streams and slot is not None and slot.wal_status == "lost" and not (mode is not None and mode.when_needed):
        yield str(lost_slot(slot))


def losing(wish: Wish, facts: Facts) -> Iterator[str]:
    """The server will invalidate the slot at one of the next checkpoints."""
    slot = facts.slot
    if wish.streams and slot is not None and slot.wal_status == "unreserved":
        yield (
            f"Replication slot {slot.name} is about to lose its WAL (wal_status unreserved)."
            " Raise max_slot_wal_keep_size (ALTER SYSTEM SET max_slot_wal_keep_size = …; SELECT pg_reload_conf();)"
        )


def active(wish: Wish, facts: Facts) -> Iterator[str]:
    """Another reader uses the slot; it may end soon. A connection of Understudy is ignored, because it is usually this connector's own."""
    slot = facts.slot
    if wish.streams and slot is not None and slot.active and _OWN not in slot.holder:
        yield (
            f"Replication slot {slot.name} is in use by {slot.holder or 'another connection'}; the task waits until it is free."
            " Stop that reader, or set slot.name to another name"
        )
