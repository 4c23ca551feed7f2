from __future__ import annotations

from connector.delivery.progress import Progress
from tests.support.console_site import FakeWorker
from workers.console.sampling import KEPT, Delay, Sampler, Series, delay


def test_a_series_keeps_the_latest_rates_and_begins_again_with_a_run() -> None:
    series = Series()
    for moment, events in ((0.0, 100), (5.0, 150), (10.0, 20), (15.0, 20)):
        series.add(moment, events)
    assert list(series.rates) == [10.0, 4.0, 0.0]
    for step in range(200):
        series.add(20.0 + step * 5, 20)
    assert len(series.rates) == KEPT


def test_a_sampler_forgets_what_no_longer_runs() -> None:
    worker, moments = FakeWorker(), iter((0.0, 5.0, 10.0))
    worker.add("a")
    worker.running["a"] = progress = Progress()
    sampler = Sampler(worker, lambda: next(moments))
    sampler.sample()
    progress.events = 50
    sampler.sample()
    assert list(sampler.rates("a")) == [10.0]
    del worker.running["a"]
    sampler.sample()
    assert sampler.rates("a") == ()


def test_the_delay_is_known_only_while_something_waits() -> None:
    waiting = Progress(acknowledged_lsn=100, received_lsn=160, last_event_source_ms=1000)
    assert delay(waiting, 3500) == Delay(60, 2500)
    assert delay(Progress(acknowledged_lsn=160, received_lsn=160, last_event_source_ms=1000), 3500) == Delay(0, None)
    assert delay(Progress(received_lsn=160), 3500) == Delay(0, None)
