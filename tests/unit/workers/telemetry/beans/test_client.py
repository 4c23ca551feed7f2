from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from connector.meters.producer_meter import ProducerMeter
from workers.telemetry.beans.client import ProducerBeans, ProducerFacts
from workers.telemetry.mbean import MBeanTable, separate


def test_a_producer_and_its_topics() -> None:
    meter = ProducerMeter()
    meter.packed("shop.public.a", records=30, written=3000, packed=600, now=100)
    meter.answered(4.0, now=100)
    producer, topic = separate(ProducerBeans().each("connector-producer-shop-0", ProducerFacts(meter, 100)))
    assert producer.name == "kafka.producer:type=producer-metrics,client-id=connector-producer-shop-0"
    assert topic.name == "kafka.producer:type=producer-topic-metrics,client-id=connector-producer-shop-0,topic=shop.public.a"
    assert {name: value for name, value in producer.attributes.items() if value == value and value} == {  # noqa: PLR0124 (NaN)
        "record-send-total": 30,
        "record-send-rate": 1,
        "record-size-avg": 100,
        "record-size-max": 100,
        "records-per-request-avg": 30,
        "batch-size-avg": 600,
        "batch-size-max": 600,
        "compression-rate-avg": 0.2,
        "request-latency-avg": 4,
        "request-latency-max": 4,
        "request-total": 1,
        "request-rate": 1 / 30,
        "request-size-avg": 600,
        "request-size-max": 600,
        "response-total": 1,
        "outgoing-byte-total": 600,
        "outgoing-byte-rate": 20,
        "buffer-total-bytes": 33_554_432,
        "buffer-available-bytes": 33_554_432,
    }
    assert {name: value for name, value in topic.attributes.items() if value} == {
        "record-send-total": 30,
        "record-send-rate": 1,
        "byte-total": 600,
        "byte-rate": 20,
        "compression-rate": 0.2,
    }
    meter.failed("shop.public.a", 30)
    producer, topic = separate(ProducerBeans().each("connector-producer-shop-0", ProducerFacts(meter, 100)))
    assert (producer.attributes["record-error-total"], topic.attributes["record-error-total"]) == (30, 30)


def test_the_mbeans_of_idle_topics_are_kept_until_something_changes() -> None:
    meter = ProducerMeter()
    meter.packed("shop.public.a", 2, 100, 50, 10.0)
    kept = ProducerBeans()

    def at(now: float) -> MBeanTable:
        _, topics = kept.each("p", ProducerFacts(meter, now))
        _, fresh = ProducerBeans().each("p", ProducerFacts(meter, now))
        # As texts, because NaN differs from itself.
        assert str(topics) == str(fresh)
        assert isinstance(topics, MBeanTable)
        return topics

    moments = [at(now) for now in (10.0, 11.0, 39.9, 40.0, 69.9, 70.0, 71.0, 500.0)]
    assert [moments[0] is each for each in moments[1:]] == [False] * 7
    assert moments[5] is moments[6] is moments[7]
    meter.failed("shop.public.a", 1)
    assert at(501.0).columns["record-error-total"] == [1.0]
    meter.packed("shop.public.a", 4, 100, 50, 502.0)
    before = at(502.0)
    assert before.columns["record-send-total"] == [6.0]
    # Another topic is new, and one that has settled stays as it is.
    meter.packed("shop.public.b", 4, 100, 50, 600.0)
    both = at(600.0)
    assert both.columns["record-send-total"] == [6.0, 4.0]
    assert [one.name.rpartition("=")[2] for one in separate([both])] == ["shop.public.a", "shop.public.b"]
    assert at(601.0).columns["record-send-rate"][0] == 0.0
    # Tables that were handed out do not change.
    assert before.columns["record-send-total"] == [6.0]


_TOPICS = st.sampled_from(("a", "b", "c"))


@given(st.lists(st.tuples(st.floats(0, 50), st.lists(_TOPICS, max_size=3), st.lists(_TOPICS, max_size=1)), max_size=12))
def test_kept_mbeans_are_those_of_a_first_scrape(scrapes: list[tuple[float, list[str], list[str]]]) -> None:
    meter, kept, now = ProducerMeter(), ProducerBeans(), 0.0
    for passed, sent, failed in scrapes:
        now += passed
        for topic in sent:
            meter.packed(topic, 3, 100, 30, now)
        for topic in failed:
            meter.failed(topic, 1)
        facts = ProducerFacts(meter, now)
        assert str(list(kept.each("p", facts))) == str(list(ProducerBeans().each("p", facts)))
