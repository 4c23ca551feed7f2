from __future__ import annotations

from connector.meters.delay_meter import BOUNDS_S, DelayMeter
from connector.meters.stream_meter import StreamMeter


def counted(delays: DelayMeter) -> dict[float, int]:
    bounds = (*BOUNDS_S, float("inf"))
    return {bound: count for bound, count in zip(bounds, delays.histogram.counts, strict=True) if count}


def test_a_transaction_is_late_until_kafka_has_its_events() -> None:
    stream, delays = StreamMeter(), DelayMeter()
    stream.committed(1, 10, 1_000)
    delays.sent(12, stream)
    delays.acknowledged(11, 1_500)
    assert counted(delays) == {}
    delays.acknowledged(12, 1_004)
    assert counted(delays) == {0.005: 1}
    delays.acknowledged(99, 9_999)
    assert (counted(delays), delays.histogram.sum) == ({0.005: 1}, 0.004)


def test_the_transactions_of_a_burst_have_its_mean() -> None:
    stream, delays = StreamMeter(), DelayMeter()
    for commit_ms in (1_000, 1_010, 1_020):
        stream.committed(1, 10, commit_ms)
    delays.sent(20, stream)
    # A burst without a commit adds nothing.
    delays.sent(30, stream)
    stream.committed(2, 40, 1_030)
    delays.sent(50, stream)
    delays.acknowledged(50, 1_040)
    assert counted(delays) == {0.05: 3, 0.01: 1}
    assert round(delays.histogram.sum, 6) == 0.1


def test_a_server_whose_clock_is_ahead_counts_as_no_delay() -> None:
    stream, delays = StreamMeter(), DelayMeter()
    stream.committed(1, 10, 5_000)
    delays.sent(12, stream)
    delays.acknowledged(12, 1_000)
    assert (counted(delays), delays.histogram.sum) == ({0.001: 1}, 0.0)
