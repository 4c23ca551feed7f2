from __future__ import annotations

from connector.meters.producer_meter import ProducerMeter


def test_batches_count_in_all_and_by_topic() -> None:
    meter = ProducerMeter()
    meter.packed("a", records=4, written=400, packed=100, now=10)
    meter.packed("b", records=2, written=100, packed=100, now=10)
    meter.answered(7.5, now=11)
    assert (meter.all.records, meter.all.written, meter.all.packed, meter.all.batches, meter.answers) == (6, 500, 200, 2, 1)
    assert {topic: counts.records for topic, counts in meter.topics.items()} == {"a": 4, "b": 2}
    assert meter.topics["a"].compression.average(11) == 0.25
    assert (meter.latency.average(11), meter.record_size.largest(11), meter.batch_records.average(11)) == (7.5, 100, 3)


def test_refused_records_are_errors() -> None:
    meter = ProducerMeter()
    meter.packed("a", records=4, written=400, packed=100, now=10)
    meter.failed("a", records=4)
    meter.failed("never packed", records=1)
    assert (meter.all.errors, meter.topics["a"].errors) == (5, 4)
