"""What waits of each topic partition, so that a mirror shows whole transactions and nothing older than what it has shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.each_case import each_case
from workers.spark.jobs.spans import Commit, Held, Position, Span, TopicPartition, held_back, repeating
from workers.spark.jobs.transactions import End, commits_of, whole

A0, A1, B0 = ("a", 0), ("a", 1), ("b", 0)
PLACES = (A0, A1, B0)
ENDS = ("ends", 0)


def spans(*reported: str, place: TopicPartition = A0) -> list[Span]:
    """Records of a partition from offset 0 on: ``7.2`` is event 2 of transaction 7, ``@50`` names none and has LSN 50."""
    return [_span(place, offset, text) for offset, text in enumerate(reported)]


def _span(place: TopicPartition, offset: int, text: str) -> Span:
    if text.startswith("@"):
        return Span(*place, None, offset, offset, lsn=int(text[1:]))
    xid, order = text.split(".")
    return Span(*place, xid, offset, offset, int(order))


def commits(*xids: int, new: bool = True) -> dict[str, Commit]:
    """Each ends at ten times its xid."""
    return {str(xid): Commit(xid * 10, new) for xid in xids}


@each_case(
    ("read", "known", "before", "waits", "after"),
    [
        ("7.1 7.2 8.1", commits(7, 8), None, None, (80, 1)),
        ("7.1 8.1 7.1", commits(7), None, 1, (70, 1)),
        ("8.1", {}, (70, 2), 0, (70, 2)),
        # Never ended: something new came after it.
        ("7.1 8.1", commits(8), None, None, (80, 1)),
        # Repeated events do not show this.
        ("8.1 7.1", commits(7, new=False), (70, 1), 0, (70, 1)),
        # A replay that has not come to the newest event yet, in one batch and in two.
        ("7.1 8.1 7.1", commits(7, 8), None, 2, (80, 1)),
        ("7.1", commits(7, new=False), (80, 1), 0, (80, 1)),
        ("8.1 8.2", commits(8, new=False), (80, 3), 0, (80, 3)),
        # And one that has, or has gone beyond it.
        ("7.1 8.1 7.1 8.1", commits(7, 8), None, None, (80, 1)),
        ("8.1 8.2 8.3", commits(8, new=False), (80, 3), None, (80, 3)),
        ("8.3 9.1", commits(8, new=False) | commits(9), (80, 4), None, (90, 1)),
        # The end of the repeated events has not been read yet.
        ("7.1 8.1", commits(7, new=False), (80, 1), 0, (80, 1)),
        ("7.1 8.1 8.1 9.1", commits(9), (80, 1), None, (90, 1)),
        # A second crash in the middle of a replay: the first part of it waits too.
        ("7.1 8.1 9.1 8.1 6.1 7.1 8.1 9.1", commits(7, 8, 9), (60, 1), 3, (90, 1)),
        # Rows of a snapshot are taken after what the partition shows, or before.
        ("7.1 @85 @85", commits(7, new=False), (80, 1), None, (80, 1)),
        ("7.1 @75", commits(7, new=False), (80, 1), 0, (80, 1)),
        ("9.1 @95", {}, (80, 1), 0, (80, 1)),
        ("@15", {}, None, None, None),
        # The source was restored: its log continues at lower LSNs.
        ("3.1 4.1", {"3": Commit(30, new=False, lower=True), "4": Commit(40, new=False, lower=True)}, (80, 1), None, (40, 1)),
        ("7.1 3.1", commits(7, new=False) | {"3": Commit(30, new=False, lower=True)}, (80, 1), None, (30, 1)),
    ],
)
def test_from_where_on_a_partition_waits(
    read: str, known: Mapping[str, Commit], before: Position | None, waits: int | None, after: Position | None
) -> None:
    held = held_back(spans(*read.split()), known, {} if before is None else {A0: before})
    assert held == Held({} if waits is None else {A0: waits}, {} if after is None else {A0: after})


def test_partitions_wait_by_themselves() -> None:
    both = [*spans("7.1", "8.1", place=A0), *spans("8.2", "7.2", place=B0)]
    assert held_back(both, commits(7, 8), {("c", 3): (50, 1)}) == Held({B0: 1}, {A0: (80, 1), B0: (80, 2), ("c", 3): (50, 1)})


@pytest.mark.parametrize(
    ("read", "before", "repeats"),
    [
        ([Span("a", 0, "7", 0, 3, 2), Span("a", 0, "8", 4, 9, 5)], (60, 4), False),
        ([Span("a", 0, "7", 0, 3, 2), Span("a", 0, "8", 4, 9, 5)], (70, 4), True),
        # In one another, and in another order than that of their commits.
        ([Span("a", 0, "7", 0, 5, 2), Span("a", 0, "8", 4, 9, 5)], (60, 4), True),
        ([Span("a", 0, "8", 0, 3, 2), Span("a", 0, "7", 4, 9, 5)], (60, 4), True),
        # Of those that cannot be applied nothing is known.
        ([Span("a", 0, "9", 0, 3, 2), Span("a", 0, "8", 4, 9, 5)], (60, 4), False),
    ],
)
def test_where_records_are_repeated(read: list[Span], before: Position, repeats: bool) -> None:
    assert repeating(read, commits(7, 8), {A0: before}) == ({A0} if repeats else set())


def test_a_repeated_transaction_is_not_beyond_those_in_the_tables() -> None:
    ends = [End("7", 70, {}, ts_ms=7), End("9", 90, {}, ts_ms=9), End("3", 30, {}, ts_ms=10)]
    assert commits_of(ends, 80, 8) == {"7": Commit(70, new=False), "9": Commit(90), "3": Commit(30, new=False, lower=True)}
    # An older checkpoint does not have the time, and an older connector does not send it.
    assert commits_of(ends[2:], 80, 0) == {"3": Commit(30, new=False)}
    assert commits_of([End("3", 30, {})], 80, 8) == {"3": Commit(30, new=False)}


@dataclass(frozen=True)
class Sent:
    """A record of a partition: event ``order`` of a transaction sets a key."""

    xid: str
    order: int
    key: str


@dataclass
class Kafka:
    """The records that a connector has sent of ``log``, and the mirror's state."""

    log: Sequence[tuple[TopicPartition, Sent] | End]
    topics: dict[TopicPartition, list[Sent]] = field(default_factory=lambda: {place: [] for place in PLACES})
    ends: list[End] = field(default_factory=list)
    sent: list[TopicPartition] = field(default_factory=list)
    read: Counter[TopicPartition] = field(default_factory=Counter)
    waiting: dict[TopicPartition, dict[int, Sent]] = field(default_factory=lambda: {place: {} for place in PLACES})
    ends_waiting: dict[int, End] = field(default_factory=dict)
    applied: int = 0
    reached: Mapping[TopicPartition, Position] = field(default_factory=dict)
    rows: dict[str, Sent] = field(default_factory=dict)

    def send(self, first: int, last: int) -> None:
        for record in self.log[first:last]:
            if isinstance(record, End):
                self.ends.append(End(record.xid, record.lsn, record.counts, len(self.ends)))
                self.sent.append(ENDS)
            else:
                self.topics[record[0]].append(record[1])
                self.sent.append(record[0])

    def some(self, rng: Random) -> Counter[TopicPartition]:
        """How far a batch may read each topic partition."""
        there = Counter(self.sent)
        return Counter({place: rng.randint(self.read[place], there[place]) for place in (*PLACES, ENDS)})

    def batch(self, to: Counter[TopicPartition]) -> None:
        """Read on."""
        for place in PLACES:
            self.waiting[place].update((offset, self.topics[place][offset]) for offset in range(self.read[place], to[place]))
        self.ends_waiting.update((end.offset, end) for end in self.ends[self.read[ENDS] : to[ENDS]])
        self.read = to
        self._apply()

    def _apply(self) -> None:
        ends = [self.ends_waiting[offset] for offset in sorted(self.ends_waiting)]
        events = {(place[0], one.xid, one.order) for place in PLACES for one in self.waiting[place].values()}
        counts: dict[str, Counter[str]] = {}
        for topic, xid, _ in events:
            counts.setdefault(xid, Counter())[topic] += 1
        found, _ = whole(ends, counts, {"a", "b"}, self.applied)
        known = commits_of(found, self.applied, 0)
        exact = [_span_of(place, offset, one) for place in PLACES for offset, one in self.waiting[place].items()]
        held = held_back(exact, known, self.reached)
        assert held == held_back(self._coarse(exact, known), known, self.reached), "few spans tell the same"
        wait = {span.xid for span in exact if span.first >= held.first.get(span.place, span.first + 1)}
        kept = {end.xid: end.offset for end in found if end.xid in wait}.values()
        self.ends_waiting = {end.offset: end for at, end in enumerate(ends) if at >= len(found) or end.offset in kept}
        for place in PLACES:
            for offset in sorted(self.waiting[place]):
                if offset < held.first.get(place, offset + 1):
                    one = self.waiting[place].pop(offset)
                    self.rows[one.key] = one
        self.reached, self.applied = held.reached, max([self.applied, *(end.lsn for end in found)])

    def _coarse(self, exact: Collection[Span], known: Mapping[str, Commit]) -> list[Span]:
        """One span for each transaction and partition, without repetitions."""
        groups: dict[tuple[TopicPartition, str | None], list[Span]] = {}
        for span in exact:
            groups.setdefault((span.place, span.xid), []).append(span)
        twice = {place for (place, _), of in groups.items() if len({span.order for span in of}) < len(of)}
        few = [
            Span(*place, xid, min(span.first for span in of), max(span.last for span in of), max(span.order for span in of))
            for (place, xid), of in groups.items()
        ]
        again = twice | repeating(few, known, self.reached)
        return [span for span in few if span.place not in again] + [span for span in exact if span.place in again]

    def source(self) -> dict[str, Sent]:
        """The rows when the transaction ended that the mirror is at."""
        rows: dict[str, Sent] = {}
        at: dict[str, Sent] = {}
        for record in self.log:
            if not isinstance(record, End):
                at[record[1].key] = record[1]
            elif record.lsn <= self.applied:
                rows = dict(at)
        return rows


def _span_of(place: TopicPartition, offset: int, one: Sent) -> Span:
    return Span(*place, one.xid, offset, offset, one.order)


def drafted(rng: Random, transactions: int) -> list[tuple[TopicPartition, Sent] | End]:
    """A log. A key is always in the same partition."""
    log: list[tuple[TopicPartition, Sent] | End] = []
    for number in range(1, transactions + 1):
        xid, counts = str(rng.randrange(10**6) * 1000 + number), Counter[str]()
        for order in range(1, rng.randint(1, 5) + 1):
            place = rng.choice(PLACES)
            log.append((place, Sent(xid, order, f"{place}{rng.randrange(3)}")))
            counts[place[0]] += 1
        log.append(End(xid, number * 10, dict(counts)))
    return log


def sendings(kafka: Kafka, rng: Random) -> Iterator[None]:
    """Send the log in parts. After some parts the connector is killed and continues at an earlier place, possibly inside a transaction."""
    at = 0
    while at < len(kafka.log):
        to = rng.randint(at + 1, min(len(kafka.log), at + 12))
        kafka.send(at, to)
        at = to if rng.random() < 0.5 else rng.randint(max(0, to - 25), to)
        yield


@each_case("seed", range(150))
def test_a_mirror_is_always_at_the_end_of_a_transaction(seed: int) -> None:
    """However far each topic partition is read."""
    rng = Random(seed)
    kafka = Kafka(drafted(rng, 12))
    for _ in sendings(kafka, rng):
        for _ in range(rng.randint(0, 2)):
            applied = kafka.applied
            kafka.batch(kafka.some(rng))
            assert kafka.rows == kafka.source()
            assert kafka.applied >= applied
    kafka.batch(Counter(kafka.sent))
    assert kafka.rows == kafka.source()
    assert kafka.applied == 120


@each_case("seed", range(50))
def test_nothing_waits_in_the_end(seed: int) -> None:
    """Where the ends are not read before the events that they count."""
    rng = Random(seed)
    kafka = Kafka(drafted(rng, 12))
    at = 0
    for _ in sendings(kafka, rng):
        at = rng.randint(at, len(kafka.sent))
        kafka.batch(Counter(kafka.sent[:at]))
        assert kafka.rows == kafka.source()
    kafka.batch(Counter(kafka.sent))
    assert (kafka.applied, kafka.ends_waiting) == (120, {})
    assert not any(kafka.waiting.values())
