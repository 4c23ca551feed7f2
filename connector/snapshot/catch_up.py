"""The end of a stream that catches up with a snapshot: before the first transaction that the snapshot does not contain.

PostgreSQL's rule (``SnapBuildXactNeedsSkip``): a slot's snapshot contains the transactions whose commit record begins before the slot's
consistent point. A stream from that point sends all others. The same boundary applies to messages outside of transactions.
"""

from __future__ import annotations

from collections.abc import Sequence

from connector.wire.pgoutput import BEGIN, BODY, COMMIT, KIND, MESSAGE, XLOG_DATA, parse_begin, parse_keepalive, parse_message


class Boundary:
    """Cuts a stream of frames at ``lsn``. Use one object for each stream, from its start."""

    def __init__(self, lsn: int) -> None:
        self._lsn = lsn
        self._inside = False
        self.reached = False
        """Whether all frames before the boundary have been returned."""

    def before(self, frames: Sequence[bytes]) -> list[bytes]:
        """Return those of ``frames`` that are before the boundary; none once it is reached."""
        if self.reached:
            return []
        for number, frame in enumerate(frames):
            if not self._inside and self._beyond(frame):
                self.reached = True
                return list(frames[:number])
            if frame[KIND] == XLOG_DATA:
                self._inside = frame[BODY] == BEGIN or (self._inside and frame[BODY] != COMMIT)
        return list(frames)

    def _beyond(self, frame: bytes) -> bool:
        if frame[KIND] != XLOG_DATA:
            return parse_keepalive(frame).wal_end >= self._lsn
        if frame[BODY] == BEGIN:
            return parse_begin(frame).final_lsn >= self._lsn
        # A message's LSN is its end; a transaction's final LSN is the begin of its commit record.
        return frame[BODY] == MESSAGE and parse_message(frame).lsn > self._lsn
