"""What a task has read in batches, and the offsets that it has stored."""

from __future__ import annotations

from connector.meters.sampled import Sampled


class SourceMeter:
    """The batches of a task: frames of the stream that were read together, or rows of a snapshot."""

    def __init__(self) -> None:
        self.read = 0
        """Records of all batches."""
        self.batch = Sampled()
        """Records of a batch."""
        self.batch_ms = Sampled()
        """Milliseconds in which a batch was made into records."""
        self.active = Sampled()
        """Records that were read and not acknowledged, at each batch."""
        self.commits = 0
        self.failed_commits = 0
        self.commit_ms = Sampled()
        self.commit_failed = Sampled()
        """1 for a failed write of the offset, else 0."""

    def batch_read(self, records: int, milliseconds: float, active: int, now: float) -> None:
        """Count a batch."""
        self.read += records
        self.batch.add(records, now)
        self.batch_ms.add(milliseconds, now)
        self.active.add(active, now)

    def committed(self, milliseconds: float, now: float, *, failed: bool = False) -> None:
        """Count a write of the offset."""
        self.commits += 1
        self.failed_commits += failed
        self.commit_ms.add(milliseconds, now)
        self.commit_failed.add(float(failed), now)
