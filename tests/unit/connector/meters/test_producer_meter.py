from __future__ import annotations

import math
import random

import pytest

from connector.meters.producer_meter import ProducerMeter, SentCounts
from connector.meters.sampled import Sampled
from tests.support.each_case import each_case


def test_batches_count_in_all_and_by_topic() -> None:
    meter = ProducerMeter()
    meter.packed("a", records=4, written=400, packed=100, now=10)
    meter.packed("b", records=2, written=100, packed=100, now=10)
    meter.answered(7.5, now=11)
    assert (meter.all.records, meter.all.written, meter.all.packed, meter.all.batches, meter.answers) == (6, 500, 200, 2, 1)
    assert {topic: counts.records for topic, counts in meter.topics.items()} == {"a": 4, "b": 2}
    assert meter.topics["a"].rates(11) == (4 / 31, 100 / 31, 0.25)
    assert (meter.latency.average(11), meter.record_size.largest(11), meter.all.records_per_batch(11)) == (7.5, 100, 3)


@each_case("seed", range(20))
def test_rates_have_the_windows_of_all_sampled_figures(seed: int) -> None:
    chance, now = random.Random(seed), 1_000.0
    counts, records, size, batches, ratio = SentCounts(), Sampled(), Sampled(), Sampled(), Sampled()
    for step in range(200):
        now += chance.choice((0.0, 0.5, 29.9, 30.0, 31.0, 60.0, 100.0)) * chance.random() ** 2
        # A question begins the windows of the others, too.
        if step == 0 or chance.random() < 0.7:
            sent, packed = chance.randrange(1, 50), chance.randrange(1, 1_000)
            counts.add(sent, 1_000, packed, now)
            for sampled, value in ((records, sent), (size, packed), (batches, 1), (ratio, packed / 1_000)):
                sampled.add(value, now)
        else:
            wanted = records.rate(now), size.rate(now), ratio.average(now), batches.rate(now), records.average(now)
            found = *counts.rates(now), counts.batches_per_second(now), counts.records_per_batch(now)
            assert list(found) == pytest.approx(list(wanted), rel=1e-12, nan_ok=True)


def test_before_the_first_batch_there_are_no_rates() -> None:
    counts = SentCounts()
    assert (*counts.rates(5.0)[:2], counts.batches_per_second(5.0)) == (0.0, 0.0, 0.0)
    assert math.isnan(counts.rates(5.0)[2])
    assert math.isnan(counts.records_per_batch(5.0))


def test_a_batch_without_bytes_is_as_large_after_compression() -> None:
    counts = SentCounts()
    counts.add(1, 0, 0, 5.0)
    assert counts.rates(6.0)[2] == 1.0


def test_refused_records_are_errors() -> None:
    meter = ProducerMeter()
    meter.packed("a", records=4, written=400, packed=100, now=10)
    meter.failed("a", records=4)
    meter.failed("never packed", records=1)
    assert (meter.all.errors, meter.topics["a"].errors) == (5, 4)
