"""Rules about a replication slot that is already there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connector.preflight.facts import Facts
from connector.preflight.wish import Wish

_OWN: Final = "(Understudy Streaming,"


def foreign(wish: Wish, facts: Facts) -> Iterator[str]:
    """A slot that can never be this connector's."""
    slot, plugin = facts.slot, wish.plugin(facts)
    if not wish.streams or slot is None:
        return
    if not slot.logical:
        what = "is a physical slot"
    elif not slot.same_database:
        what = f"belongs to database {slot.database}, not {facts.role.database}"
    elif slot.plugin != plugin:
        what = f"was made for plugin {slot.plugin}" + (f", not {plugin}" if plugin else "")
    else:
        return
    yield (
        f"Replication slot {slot.name} {what}. Set slot.name to another name, or drop it: SELECT pg_drop_replication_slot('{slot.name}');"
    )


def lost(wish: Wish, facts: Facts) -> Iterator[str]:
    """Only snapshot.mode=when_needed makes it anew."""
    slot = facts.slot
    if wish.streams and slot is not None and slot.wal_status == "lost" and not (wish.mode is not None and wish.mode.when_needed):
        yield (
            f"Replication slot {slot.name} is invalidated (wal_status lost): WAL that it needs is gone."
            f" Set snapshot.mode to when_needed, or drop it: SELECT pg_drop_replication_slot('{slot.name}');"
        )


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
