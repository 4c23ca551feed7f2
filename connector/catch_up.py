"""Where streaming ends that only catches up with a snapshot: before the first transaction that the snapshot does not hold.

PostgreSQL's rule (``SnapBuildXactNeedsSkip``): a slot's snapshot holds the transactions whose commit record begins before the
slot's consistent point, and a stream from that point sends all others. Messages outside of transactions are cut at the same place.
"""

from __future__ import annotations

from collections.abc import Sequence

from connector.pgoutput import BEGIN, BODY, COMMIT, MESSAGE, XLOG_DATA, parse_begin, parse_keepalive, parse_message


class Boundary:
    """Cuts a stream of frames at ``lsn``. One use, from the start of a stream."""

    def __init__(self, lsn: int) -> None:
        self._lsn = lsn
        self._inside = False
        self.reached = False
        """Nothing more comes before the boundary."""

    def before(self, frames: Sequence[bytes]) -> list[bytes]:
        """Those of ``frames`` that are before the boundary; none once it is reached."""
        if self.reached:
            return []
        for number, frame in enumerate(frames):
            if not self._inside and self._beyond(frame):
                self.reached = True
                return list(frames[:number])
            if frame[0] == XLOG_DATA:
                self._inside = frame[BODY] == BEGIN or (self._inside and frame[BODY] != COMMIT)
        return list(frames)

    def _beyond(self, frame: bytes) -> bool:
        if frame[0] != XLOG_DATA:
            return parse_keepalive(frame).wal_end >= self._lsn
        if frame[BODY] == BEGIN:
            return parse_begin(frame).final_lsn >= self._lsn
        # A message tells where it ends, a transaction where its commit record begins.
        return frame[BODY] == MESSAGE and parse_message(frame).lsn > self._lsn
