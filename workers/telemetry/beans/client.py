"""MBeans of Kafka's clients: ``connect-metrics`` of the worker, ``producer-metrics`` and ``producer-topic-metrics`` of each producer."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from connector.meters.connection_meter import ConnectionMeter
from connector.meters.producer_meter import ProducerMeter, SentCounts
from connector.meters.sampled import SETTLED_S
from workers.telemetry.beans.attribute import Row, attributes, untold, untold_averages
from workers.telemetry.beans.connect import DOMAIN
from workers.telemetry.beans.connections import AUTHENTICATION, CLIENT, COUNT, IN_FLIGHT, INCOMING, LOOP, ClientFacts
from workers.telemetry.beans.object_name import key_value
from workers.telemetry.mbean import MBean

PRODUCER_DOMAIN: Final = "kafka.producer"
BUFFER: Final = 33_554_432
"""Kafka's default of ``buffer.memory``, which no producer has here."""

_OTHER: Final = "aiokafka does not tell"


@dataclass(frozen=True, slots=True)
class ProducerFacts:
    """What a producer has counted. ``now`` is monotonic seconds."""

    meter: ProducerMeter
    now: float

    @property
    def connections(self) -> ConnectionMeter:
        """The producer's connections."""
        return self.meter.connections


@dataclass(slots=True)
class TopicFacts:
    """What it has counted of one topic."""

    counts: SentCounts
    now: float


PRODUCER: Final[tuple[Row[ProducerFacts], ...]] = (
    Row(
        "record-send-total",
        "nearest",
        "records sent, without those that processes of a snapshot send; exact for a task; the stores write other records than Connect's",
        lambda facts: float(facts.meter.all.records),
    ),
    Row("record-send-rate", "exact", "records sent per second", lambda facts: facts.meter.all.record_rate.rate(facts.now)),
    Row("record-error-total", "exact", "records that Kafka refused", lambda facts: float(facts.meter.all.errors)),
    Row(
        "record-size-avg",
        "nearest",
        "bytes of a record before compression, the mean of each batch",
        lambda facts: facts.meter.record_size.average(facts.now),
    ),
    Row("record-size-max", "nearest", "likewise, the largest mean", lambda facts: facts.meter.record_size.largest(facts.now)),
    Row(
        "records-per-request-avg",
        "exact",
        "records of a request, which has one batch",
        lambda facts: facts.meter.batch_records.average(facts.now),
    ),
    Row("batch-size-avg", "exact", "bytes of a batch after compression", lambda facts: facts.meter.batch_size.average(facts.now)),
    Row("batch-size-max", "exact", "likewise", lambda facts: facts.meter.batch_size.largest(facts.now)),
    Row(
        "compression-rate-avg",
        "exact",
        "bytes of a batch after compression for each byte before",
        lambda facts: facts.meter.all.compression.average(facts.now),
    ),
    Row(
        "request-latency-avg",
        "nearest",
        "ms from the sending of batches to Kafka's answer, with aiokafka's retries",
        lambda facts: facts.meter.latency.average(facts.now),
    ),
    Row("request-latency-max", "nearest", "likewise", lambda facts: facts.meter.latency.largest(facts.now)),
    Row("request-total", "nearest", "requests with records", lambda facts: float(facts.meter.all.batches)),
    Row("request-rate", "nearest", "likewise, per second", lambda facts: facts.meter.batch_rate.rate(facts.now)),
    Row("request-size-avg", "nearest", "bytes of a batch after compression", lambda facts: facts.meter.batch_size.average(facts.now)),
    Row("request-size-max", "nearest", "likewise", lambda facts: facts.meter.batch_size.largest(facts.now)),
    Row("response-total", "nearest", "answers to requests with records", lambda facts: float(facts.meter.answers)),
    Row("outgoing-byte-total", "nearest", "bytes of batches", lambda facts: float(facts.meter.all.packed)),
    Row("outgoing-byte-rate", "nearest", "likewise, per second", lambda facts: facts.meter.all.byte_rate.rate(facts.now)),
    Row("buffer-total-bytes", "no meaning here", "always 33554432: Kafka's default of `buffer.memory`", lambda _facts: float(BUFFER)),
    Row("buffer-available-bytes", "no meaning here", "always 33554432", lambda _facts: float(BUFFER)),
    *untold(
        "batch-split-rate batch-split-total buffer-exhausted-rate buffer-exhausted-total bufferpool-wait-ratio "
        "bufferpool-wait-time-ns-total flush-time-ns-total metadata-age metadata-wait-time-ns-total "
        "record-error-rate record-retry-rate record-retry-total txn-abort-time-ns-total "
        "txn-begin-time-ns-total txn-commit-time-ns-total txn-init-time-ns-total txn-prepare-time-ns-total txn-send-offsets-time-ns-total "
        "waiting-threads"
    ),
    *untold_averages("produce-throttle-time-avg produce-throttle-time-max record-queue-time-avg record-queue-time-max"),
    *COUNT,
    *INCOMING,
    *IN_FLIGHT,
    *AUTHENTICATION,
    *LOOP,
)
_COUNTED: Final[tuple[Row[TopicFacts], ...]] = (
    Row(
        "record-send-total",
        "nearest",
        "records sent to the topic, without those that processes of a snapshot send",
        lambda facts: float(facts.counts.records),
    ),
    Row("record-send-rate", "exact", "likewise, per second", lambda facts: facts.counts.record_rate.rate(facts.now)),
    Row("byte-total", "exact", "bytes of batches after compression", lambda facts: float(facts.counts.packed)),
    Row("byte-rate", "exact", "likewise, per second", lambda facts: facts.counts.byte_rate.rate(facts.now)),
    Row(
        "compression-rate",
        "exact",
        "bytes after compression for each byte before",
        lambda facts: facts.counts.compression.average(facts.now),
    ),
    Row("record-error-total", "exact", "records that Kafka refused", lambda facts: float(facts.counts.errors)),
)
_NOT_COUNTED: Final[tuple[Row[object], ...]] = (
    Row("record-error-rate", "no meaning here", "always 0: the task ends with the first", lambda _facts: 0.0),
    Row("record-retry-total", "no meaning here", f"always 0: {_OTHER}", lambda _facts: 0.0),
    Row("record-retry-rate", "no meaning here", f"always 0: {_OTHER}", lambda _facts: 0.0),
)


TOPIC: Final[tuple[Row[TopicFacts], ...]] = (*_COUNTED, *_NOT_COUNTED)
_ZEROS: Final = attributes(_NOT_COUNTED, None)
_PASSING: Final = tuple(row for row in _COUNTED if row.name in ("record-send-rate", "byte-rate", "compression-rate"))
"""Those that change with time alone."""


class _Topic:
    """The MBean of a topic as it was made last. ``settled`` is False if its rates would be others now without a further batch."""

    __slots__ = ("at", "bean", "errors", "facts", "keys", "settled")

    def __init__(self, client: str, topic: str, counts: SentCounts) -> None:
        self.keys: Final = (("type", "producer-topic-metrics"), ("client-id", key_value(client)), ("topic", key_value(topic)))
        self.bean = MBean(PRODUCER_DOMAIN, self.keys, {})
        self.facts: Final = TopicFacts(counts, 0.0)
        self.at: float | None = None
        self.errors = 0
        self.settled = False

    def present(self, now: float) -> MBean:
        """Return the MBean."""
        counts, facts = self.facts.counts, self.facts
        same = self.at == counts.at and self.errors == counts.errors
        if same and self.settled:
            return self.bean
        facts.now = now
        found = {**self.bean.attributes, **attributes(_PASSING, facts)} if same else {**attributes(_COUNTED, facts), **_ZEROS}
        self.bean = MBean(PRODUCER_DOMAIN, self.keys, found)
        self.at, self.errors, self.settled = counts.at, counts.errors, now - counts.at >= SETTLED_S
        return self.bean


class ProducerBeans:
    """Makes the MBeans of producers. That of a topic which got no records for a minute is kept: most of 1,000 tables are idle."""

    def __init__(self) -> None:
        self._topics: Final = weakref.WeakKeyDictionary[ProducerMeter, dict[str, _Topic]]()

    def each(self, client: str, facts: ProducerFacts) -> Iterator[MBean]:
        """Yield the MBeans of the producer with this client id: its own, and one for each topic."""
        yield MBean(PRODUCER_DOMAIN, (("type", "producer-metrics"), ("client-id", key_value(client))), attributes(PRODUCER, facts))
        topics = self._topics.setdefault(facts.meter, {})
        for topic, counts in facts.meter.topics.items():
            known = topics.get(topic)
            if known is None:
                known = topics[topic] = _Topic(client, topic, counts)
            yield known.present(facts.now)


def connect_bean(client: str, facts: ClientFacts) -> MBean:
    """Return the MBean of the worker's connections in its group. ``client`` is written as in an MBean's name."""
    return MBean(DOMAIN, (("type", "connect-metrics"), ("client-id", client)), attributes(CLIENT, facts))
