"""A row of the signal table, as a change of that table reports it."""

from __future__ import annotations

from dataclasses import dataclass

from connector.wire.pgoutput import DELETE, NEW_TUPLE, ROW_KIND, UNCHANGED, UPDATE, split_tuple


@dataclass(frozen=True, slots=True)
class SignalRow:
    """A row that was inserted into the signal table or, when ``deleted``, was deleted from it."""

    deleted: bool
    cells: tuple[bytes | None, ...]


def signal_row(tag: int, frame: bytes) -> SignalRow | None:
    """Return the signal of an INSERT, UPDATE or DELETE of the signal table.

    An update that changes the row's id counts as an insert; any other update is no signal.
    """
    cells: list[bytes | None] = []
    at = ROW_KIND
    if tag == UPDATE:
        old: list[bytes | None] = []
        if frame[at] != NEW_TUPLE:
            at = split_tuple(frame, at + 1, old) >> 2
        split_tuple(frame, at + 1, cells)
        if not old or old[:1] == cells[:1]:
            return None
    else:
        split_tuple(frame, at + 1, cells)
    return SignalRow(tag == DELETE, tuple(None if cell is UNCHANGED else cell for cell in cells))
