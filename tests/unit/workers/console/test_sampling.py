from __future__ import annotations

from connector.delivery.progress import Progress
from tests.support.console_site import FakeWorker
from workers.console.sampling import KEPT, Sampler, Series


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
