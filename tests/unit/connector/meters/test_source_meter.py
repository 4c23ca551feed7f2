from __future__ import annotations

from connector.meters.source_meter import SourceMeter


def test_batches_and_commits() -> None:
    meter = SourceMeter()
    meter.batch_read(10, 2.0, 3, now=100)
    meter.batch_read(20, 4.0, 5, now=100)
    assert (meter.read, meter.batch.average(100), meter.batch.largest(100), meter.batch_ms.average(100)) == (30, 15, 20, 3)
    assert (meter.active.average(100), meter.active.largest(100)) == (4, 5)
    meter.committed(6.0, now=101)
    meter.committed(8.0, now=101, failed=True)
    assert (meter.commits, meter.failed_commits, meter.commit_ms.average(101), meter.commit_failed.average(101)) == (2, 1, 7, 0.5)
