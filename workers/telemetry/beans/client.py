"""MBeans of Kafka's clients: ``connect-metrics`` of the worker, ``producer-metrics`` and ``producer-topic-metrics`` of each producer."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Final, cast

from connector.meters.connection_meter import ConnectionMeter
from connector.meters.producer_meter import ProducerMeter, Rates, SentCounts
from connector.meters.sampled import SETTLED_S
from workers.telemetry.beans.attribute import Row, attributes, unreported, unreported_averages
from workers.telemetry.beans.connect import DOMAIN
from workers.telemetry.beans.connections import AUTHENTICATION, CLIENT, COUNT, IN_FLIGHT, INCOMING, LOOP, ClientFacts
from workers.telemetry.beans.object_name import key_value
from workers.telemetry.mbean import MBean, MBeanTable

PRODUCER_DOMAIN: Final = "kafka.producer"
BUFFER: Final = 33_554_432
"""Kafka's default of ``buffer.memory``, which no producer has here."""

_UNTOLD: Final = "always 0 because aiokafka does not report it"
_SENT: Final = attrgetter("at")


@dataclass(frozen=True, slots=True)
class ProducerFacts:
    """What a producer has counted. ``now`` is monotonic seconds."""

    meter: ProducerMeter
    now: float

    @property
    def connections(self) -> ConnectionMeter:
        """The producer's connections."""
        return self.meter.connections

    @property
    def rates(self) -> Rates:
        """The present figures of all its topics together."""
        return self.meter.all.rates(self.now)


@dataclass(frozen=True, slots=True)
class TopicsFacts:
    """What a producer has counted of its topics, in their order. Values are columns: a number for each topic."""

    counts: Sequence[SentCounts]
    moving: Sequence[int]
    """The places of the topics whose rates may differ from those in ``former``."""
    rates: Sequence[Sequence[float]]
    """The present rates of these topics: a column for each part of :data:`Rates`."""
    former: Mapping[str, Sequence[float]]
    """The values of each attribute when it was computed last."""

    def total(self, name: str) -> Sequence[float]:
        """Return a count."""
        return list(map(float, map(attrgetter(name), self.counts)))

    def passing(self, attribute: str, part: int) -> Sequence[float]:
        """Return figures that change with time alone, of the rates' part with this index."""
        present = self.rates[part]
        if len(present) == len(self.counts):
            return present
        found = list(self.former[attribute])
        for place, number in zip(self.moving, present, strict=True):
            found[place] = number
        return found

    def zeros(self, attribute: str) -> Sequence[float]:
        """Return a figure that is always 0."""
        return self.former[attribute]


PRODUCER: Final[tuple[Row[ProducerFacts], ...]] = (
    Row(
        "record-send-total",
        "nearest",
        "records sent, without those that processes of a snapshot send; exact for a task; the stores write other records than Connect's",
        lambda facts: float(facts.meter.all.records),
    ),
    Row("record-send-rate", "exact", "records sent per second", lambda facts: facts.rates[0]),
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
        lambda facts: facts.meter.all.records_per_batch(facts.now),
    ),
    Row("batch-size-avg", "exact", "bytes of a batch after compression", lambda facts: facts.meter.batch_size.average(facts.now)),
    Row("batch-size-max", "exact", "likewise", lambda facts: facts.meter.batch_size.largest(facts.now)),
    Row(
        "compression-rate-avg",
        "exact",
        "bytes of a batch after compression for each byte before",
        lambda facts: facts.rates[2],
    ),
    Row(
        "request-latency-avg",
        "nearest",
        "ms from the sending of batches to Kafka's answer, with aiokafka's retries",
        lambda facts: facts.meter.latency.average(facts.now),
    ),
    Row("request-latency-max", "nearest", "likewise", lambda facts: facts.meter.latency.largest(facts.now)),
    Row("request-total", "nearest", "requests with records", lambda facts: float(facts.meter.all.batches)),
    Row("request-rate", "nearest", "likewise, per second", lambda facts: facts.meter.all.batches_per_second(facts.now)),
    Row("request-size-avg", "nearest", "bytes of a batch after compression", lambda facts: facts.meter.batch_size.average(facts.now)),
    Row("request-size-max", "nearest", "likewise", lambda facts: facts.meter.batch_size.largest(facts.now)),
    Row("response-total", "nearest", "answers to requests with records", lambda facts: float(facts.meter.answers)),
    Row("outgoing-byte-total", "nearest", "bytes of batches", lambda facts: float(facts.meter.all.packed)),
    Row("outgoing-byte-rate", "nearest", "likewise, per second", lambda facts: facts.rates[1]),
    Row("buffer-total-bytes", "no meaning here", "always 33554432: Kafka's default of `buffer.memory`", lambda _facts: float(BUFFER)),
    Row("buffer-available-bytes", "no meaning here", "always 33554432", lambda _facts: float(BUFFER)),
    *unreported(
        "batch-split-rate batch-split-total buffer-exhausted-rate buffer-exhausted-total bufferpool-wait-ratio "
        "bufferpool-wait-time-ns-total flush-time-ns-total metadata-age metadata-wait-time-ns-total "
        "record-error-rate record-retry-rate record-retry-total txn-abort-time-ns-total "
        "txn-begin-time-ns-total txn-commit-time-ns-total txn-init-time-ns-total txn-prepare-time-ns-total txn-send-offsets-time-ns-total "
        "waiting-threads"
    ),
    *unreported_averages("produce-throttle-time-avg produce-throttle-time-max record-queue-time-avg record-queue-time-max"),
    *COUNT,
    *INCOMING,
    *IN_FLIGHT,
    *AUTHENTICATION,
    *LOOP,
)
TOPIC: Final[tuple[Row[TopicsFacts], ...]] = (
    Row(
        "record-send-total",
        "nearest",
        "records sent to the topic, without those that processes of a snapshot send",
        lambda facts: facts.total("records"),
    ),
    Row(
        "record-send-rate",
        "exact",
        "likewise, per second",
        lambda facts: facts.passing("record-send-rate", 0),
    ),
    Row("byte-total", "exact", "bytes of batches after compression", lambda facts: facts.total("packed")),
    Row(
        "byte-rate",
        "exact",
        "likewise, per second",
        lambda facts: facts.passing("byte-rate", 1),
    ),
    Row(
        "compression-rate",
        "exact",
        "bytes after compression for each byte before",
        lambda facts: facts.passing("compression-rate", 2),
    ),
    Row("record-error-total", "exact", "records that Kafka refused", lambda facts: facts.total("errors")),
    Row("record-error-rate", "no meaning here", "always 0: the task ends with the first", lambda facts: facts.zeros("record-error-rate")),
    Row("record-retry-total", "no meaning here", _UNTOLD, lambda facts: facts.zeros("record-retry-total")),
    Row("record-retry-rate", "no meaning here", _UNTOLD, lambda facts: facts.zeros("record-retry-rate")),
)


class _Topics:
    """The MBeans of a producer's topics as they were made last, at ``now``. A topic without records for a minute stays as it is."""

    __slots__ = ("_client", "_errors", "_now", "_sent", "_table")

    def __init__(self, client: str) -> None:
        self._client: Final = key_value(client)
        self._now = float("-inf")
        self._sent: list[float] = []
        """When the last batch of each topic was counted."""
        self._errors = 0
        self._table = MBeanTable(PRODUCER_DOMAIN, (), {row.name: () for row in TOPIC})

    def present(self, meter: ProducerMeter, now: float) -> MBeanTable:
        """Return the MBeans. Topics are added behind the others, and none is removed."""
        counts, former, before = list(meter.topics.values()), self._sent, self._now
        sent = list(map(_SENT, counts))
        if sent == former and self._errors == meter.all.errors and (not sent or before - max(sent) >= SETTLED_S):
            return self._table
        known = len(former)
        moving = [place for place, (at, last) in enumerate(zip(sent, former, strict=False)) if at != last or before - at < SETTLED_S]
        moving += range(known, len(sent))
        keys, columns = self._table.keys, self._table.columns
        if len(sent) > known:
            keys = [*keys, *(self._keys(topic) for topic in islice(meter.topics, known, None))]
            columns = {name: [*column, *([0.0] * (len(sent) - known))] for name, column in columns.items()}
        rates = [list(column) for column in zip(*(counts[place].rates(now) for place in moving), strict=True)] or [[], [], []]
        found = attributes(TOPIC, TopicsFacts(counts, moving, rates, columns))
        self._table = MBeanTable(PRODUCER_DOMAIN, keys, cast("Mapping[str, Sequence[float]]", found))
        self._sent, self._errors, self._now = sent, meter.all.errors, now
        return self._table

    def _keys(self, topic: str) -> tuple[tuple[str, str], ...]:
        return (("type", "producer-topic-metrics"), ("client-id", self._client), ("topic", key_value(topic)))


class ProducerBeans:
    """Makes the MBeans of producers. Those of topics are kept, and the rates of one that is idle are not computed again."""

    def __init__(self) -> None:
        self._topics: Final = weakref.WeakKeyDictionary[ProducerMeter, _Topics]()

    def each(self, client: str, facts: ProducerFacts) -> Iterator[MBean | MBeanTable]:
        """Yield the MBeans of the producer with this client id: its own, and a table of those of its topics."""
        yield MBean(PRODUCER_DOMAIN, (("type", "producer-metrics"), ("client-id", key_value(client))), attributes(PRODUCER, facts))
        topics = self._topics.get(facts.meter)
        if topics is None:
            topics = self._topics[facts.meter] = _Topics(client)
        yield topics.present(facts.meter, facts.now)


def connect_bean(client: str, facts: ClientFacts) -> MBean:
    """Return the MBean of the worker's connections in its group. ``client`` is written as in an MBean's name."""
    return MBean(DOMAIN, (("type", "connect-metrics"), ("client-id", client)), attributes(CLIENT, facts))
