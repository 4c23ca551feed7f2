"""Rules about a replication slot that is already there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connector.preflight.facts import Facts
from connector.preflight.wish import Wish
from connector.reconcile import foreign_slot, lost_slot

_OWN: Final = "(Understudy Streaming,"


def foreign(wish: Wish, facts: Facts) -> Iterator[str]:
    """A slot that can never be this connector's."""
    slot, plugin = facts.slot, wish.plugin(facts)
    if not wish.streams or slot is None:
        return
    if not slot.logical or not slot.same_database or slot.plugin != plugin:
        yield str(foreign_slot(slot, plugin))


def lost(wish: Wish, facts: Facts) -> Iterator[str]:
    """Only snapshot.mode=when_needed makes it anew."""
    slot = facts.slot
    if wish.streams and slot is not None and slot.wal_status == "lost" and not (wish.mode is not None and wish.mode.when_needed):
        yield str(lost_slot(slot))


def losing(wish: Wish, facts: Facts) -> Iterator[str]:
    """It will be lost at one of the next checkpoints."""
    slot = facts.slot
    if wish.streams and slot is not None and slot.wal_status == "unreserved":
        yield (
            f"Replication slot {slot.name} is about to lose its WAL (wal_status unreserved)."
            " Raise max_slot_wal_keep_size (ALTER SYSTEM SET max_slot_wal_keep_size = …; SELECT pg_reload_conf();)"
        )


def active(wish: Wish, facts: Facts) -> Iterator[str]:
    """Somebody reads from it, who may be about to end; a connector of this project is most often the one that is changed."""
    slot = facts.slot
    if wish.streams and slot is not None and slot.active and _OWN not in slot.holder:
        yield (
            f"Replication slot {slot.name} is in use by {slot.holder or 'another connection'}; the task waits until it is free."
            " Stop that reader, or set slot.name to another name"
        )
