"""Which transactions the read of a table could see (PostgreSQL manual, "Transaction ID and Snapshot Information Functions")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_XIDS: Final = 2**32
_AHEAD: Final = 2**24
"""How far from ``end`` on an xid counts as newer. All transactions from there to it are open, so they are few, even with subtransactions.

PostgreSQL's own half of all xids is too much, because it compares only xids that are not frozen. The xids of a quiet stream may be older.
"""


@dataclass(frozen=True, slots=True)
class Visibility:
    """The transactions that a read could not see: those in ``open``, and all from ``end`` on. All xids have 32 bits."""

    end: int
    open: frozenset[int]

    @classmethod
    def parse(cls, snapshot: str) -> Visibility:
        """Read the text of a ``pg_snapshot`` (``xmin:xmax:xid,xid``), whose xids have 64 bits."""
        _, end, listed = snapshot.split(":")
        return cls(int(end) % _XIDS, frozenset(int(xid) % _XIDS for xid in listed.split(",") if xid))

    def hides_any(self, xids: Iterable[int]) -> bool:
        """Return whether the read could not see one of these transactions.

        ``open`` lists no transaction from ``end`` on, although such a transaction may be in the WAL already.
        """
        # Xids wrap around.
        return any(xid in self.open or (xid - self.end) % _XIDS < _AHEAD for xid in xids)
