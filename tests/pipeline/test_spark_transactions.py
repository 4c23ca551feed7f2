"""Whole transactions only: what a mirror shows while parts of them are still to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'embedded')")

from mirror_rig import Rig
from topic_log import TopicLog, frame

from workers.spark.failure import JobError
from workers.spark.jobs.batches import Done
from workers.spark.jobs.mirror_config import MirrorConfig, SinkConfig
from workers.spark.jobs.stream import transactions_of
from workers.spark.jobs.transactions import End, Span, Transactions, ended, held_back, whole

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENDS = "shop.transaction"
A, B = "public.a", "public.b"


class Source:
    """Two tables and the transactions' topic; each batch brings what was written since the one before."""

    def __init__(self, spark: SparkSession, folder: Path, pattern: str = r"shop\..+") -> None:
        self.rig = Rig(spark, folder, transactions=Transactions(ENDS, pattern, "shop"))
        self.a, self.b = TopicLog(topic=f"shop.{A}"), TopicLog(topic=f"shop.{B}")
        self.ends = TopicLog(None, topic=ENDS)

    def change(self, log: TopicLog, tx: int, order: int, name: str, *, id_: int = 1, op: str = "u", partition: int = 0) -> None:
        """A change of the row ``id_``; all tables share their LSNs."""
        log.lsn = max(self.a.lsn, self.b.lsn)
        log.tx = tx
        log.change(op, {"id": id_, "name": name}, order=order, partition=partition)

    def end(self, tx: int, *, partition: int = 0, lsn: int | None = None, **counts: int) -> None:
        """The end of a transaction, after its last change; ``counts`` by table without its schema."""
        lsn = max(self.a.lsn, self.b.lsn) + 4 if lsn is None else lsn
        told = [{"data_collection": f"public.{table}", "event_count": count} for table, count in counts.items()]
        self.told(f"{tx}:{lsn}", told, partition=partition)

    def told(self, name: str, counts: list[dict[str, object]], *, partition: int = 0) -> None:
        both: list[dict[str, object]] = [
            {"status": "BEGIN", "id": name, "event_count": None, "data_collections": None},
            {"status": "END", "id": name, "event_count": 0, "data_collections": counts},
        ]
        for record in both:
            self.ends.record({"id": name}, record, partition=partition)

    def batch(self, *logs: TopicLog) -> Done:
        """A batch of what is new in ``logs``, without them in all."""
        return self.rig.batch(frame(self.rig.spark, [record for log in logs or (self.a, self.b, self.ends) for record in log.new()]))

    def names(self) -> tuple[list[object], list[object]]:
        """What the mirror's two tables hold."""
        return self._names("a"), self._names("b")

    def _names(self, table: str) -> list[object]:
        name = f"public.{table}"
        return [row["name"] for row in self.rig.sink.rows(name)] if name in self.rig.sink.tables else []


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Source:
    return Source(spark, tmp_path)


def test_those_up_to_the_first_that_is_not_whole() -> None:
    ends = [End("1", 10, {A: 2, "other.b": 5}), End("2", 20, {A: 1, B: 2}), End("3", 30, {A: 1})]
    read = {"1": {A: 2}, "2": {B: 2}, "3": {A: 1}}
    assert whole(ends, read, {A, B}, 0) == (ends[:1], "transaction 2 has 1 events of public.a, of which 0 are read")
    assert whole(ends, {**read, "2": {A: 1, B: 2}}, {A, B}, 0) == (ends, None)
    # They come again, maybe in part.
    assert whole(ends, {"3": {A: 1}}, {A, B}, 20) == (ends, None)
    assert whole(ends, {}, {A, B}, 19)[0] == ends[:1]


def test_an_end_names_its_transaction_and_its_place() -> None:
    counts = {A: 3, "LOGICAL_DECODING_MESSAGE": 1, "io.debezium.connector.postgresql.PostgresEventDispatcher$Id@1f2e": 1, "io.d@1": 1}
    assert ended("571:53195832", counts) == End("571", 53195832, {A: 3, "io.d@1": 1})
    with pytest.raises(JobError, match=r"the id 'GTID-1', which is not <xid>:<LSN>. Check transaction_topic"):
        ended("GTID-1", {})


def test_a_partition_waits_from_the_first_on_that_is_not_ready() -> None:
    spans = [Span("a", 0, "1", 3), Span("a", 0, "2", 6), Span("a", 0, "3", 8), Span("b", 1, "1", 0), Span("b", 0, "9", 2)]
    everything = {"1", "2", "3", "9"}
    assert held_back(spans, everything, everything) == {}
    assert held_back(spans, {"1", "9"}, {"1", "9"}) == {("a", 0): 6}
    # Before one that is ready for the first time: it has no end and will get none.
    assert held_back(spans, {"2"}, {"2"}) == {("a", 0): 8, ("b", 0): 2, ("b", 1): 0}
    # One that comes again says nothing of those before it.
    assert held_back(spans, {"2"}, ()) == {("a", 0): 3, ("b", 0): 2, ("b", 1): 0}


def test_a_crash_behind_a_part_of_a_transaction_does_not_show_it(source: Source) -> None:
    """Transaction 7 comes again behind the first part of 8, whose other part and whose end are still to be read."""
    source.change(source.a, 7, 1, "first", op="c")
    source.end(7, a=1, lsn=700)
    source.change(source.a, 8, 1, "half", id_=2, op="c")
    source.a.repeat(0, 2)
    source.batch()
    assert source.names() == (["first"], [])
    # And once more, when 7 is in the table already.
    source.a.repeat(0, 2)
    source.end(7, a=1, lsn=700)
    source.batch()
    assert source.names() == (["first"], [])
    source.change(source.b, 8, 2, "other half", op="c")
    source.end(8, a=1, b=1, lsn=800)
    source.batch()
    assert source.names() == (["first", "half"], ["other half"])


def test_part_of_a_transaction_waits(source: Source) -> None:
    source.a.change("r", {"id": 1, "name": "read"}, snapshot="last")
    source.change(source.a, 7, 1, "half")
    source.change(source.b, 7, 2, "other half", op="c")
    assert source.batch(source.a).waiting == 1
    assert source.names() == (["read"], [])
    source.end(7, a=1, b=1)
    done = source.batch(source.ends)
    assert (done.waiting, done.lacking) == (2, "transaction 7 has 1 events of public.b, of which 0 are read")
    assert source.names() == (["read"], [])
    done = source.batch(source.b)
    assert (done.waiting, done.lacking, done.apart) == (0, None, 0)
    assert source.names() == (["half"], ["other half"])


def test_one_that_is_whole_waits_for_those_before_it(source: Source) -> None:
    source.change(source.a, 7, 1, "first", op="c")
    source.change(source.b, 7, 2, "first", op="c")
    source.end(7, a=1, b=1)
    source.change(source.a, 9, 1, "second")
    source.end(9, a=1)
    # Two changes, and of the ends' topic all from the first one on.
    assert source.batch(source.a, source.ends).waiting == 5
    assert source.names() == ([], [])
    source.batch()
    assert source.names() == (["second"], ["first"])


def test_tables_that_are_not_mirrored_do_not_count(spark: SparkSession, tmp_path: Path) -> None:
    """The pattern is Java's, which has letters' classes of its own."""
    source = Source(spark, tmp_path, rf"shop\.\p{{Alpha}}+\.a|{ENDS}")
    source.change(source.a, 7, 1, "first", op="c")
    source.end(7, a=1, b=4)
    assert source.batch(source.a, source.ends).waiting == 0
    assert source.names() == (["first"], [])


def test_messages_are_in_no_table(source: Source) -> None:
    source.change(source.a, 7, 1, "first", op="c")
    source.told("7:900", [{"data_collection": A, "event_count": 1}, {"data_collection": "LOGICAL_DECODING_MESSAGE", "event_count": 1}])
    assert source.batch().lacking is None
    assert source.names() == (["first"], [])


def test_what_comes_again_after_a_crash_is_not_waited_for(source: Source) -> None:
    for tx, name in ((7, "first"), (8, "second")):
        source.change(source.a, tx, 1, name, op="c" if tx == 7 else "u")
        source.change(source.b, tx, 2, name, op="c" if tx == 7 else "u")
        source.end(tx, a=1, b=1, lsn=tx * 100)
    source.batch()
    # The connector goes on in the middle of transaction 8, without the beginning of which its end counts all the same.
    source.b.repeat(1, 2)
    source.end(8, a=1, b=1, lsn=800)
    source.change(source.a, 9, 1, "third")
    source.end(9, a=1)
    assert source.batch().waiting == 0
    assert source.names() == (["third"], ["second"])


def test_a_transaction_without_an_end_holds_nothing_up(source: Source) -> None:
    """The connector was removed in the middle of it: the next one begins with a snapshot."""
    source.change(source.a, 7, 1, "never ended", op="c")
    assert source.batch().waiting == 1
    source.a.change("r", {"id": 1, "name": "read"}, snapshot="last")
    source.change(source.a, 8, 1, "after", id_=2, op="c")
    source.end(8, a=1)
    assert source.batch().waiting == 0
    assert source.names() == (["read", "after"], [])


def test_changes_without_a_transaction_are_told_of(source: Source) -> None:
    source.a.change("c", {"id": 1, "name": "before the metadata"})
    source.change(source.b, 7, 1, "with it", op="c")
    source.end(7, b=1)
    assert source.batch().apart == 1
    assert source.names() == (["before the metadata"], ["with it"])


def test_names_that_no_topic_can_have(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path)
    source.a = TopicLog(topic="shop.public.m_r__")
    source.a.table = "mär🐘"
    source.change(source.a, 7, 1, "first", op="c")
    source.told("7:900", [{"data_collection": "public.mär🐘", "event_count": 2}])
    assert source.batch().lacking == "transaction 7 has 2 events of public.mär🐘, of which 1 are read"


@pytest.mark.parametrize("counts", [{}, {"a": 1}], ids=["empty", "not empty"])
def test_several_partitions_of_ends_are_refused(source: Source, counts: Mapping[str, int]) -> None:
    source.end(7, partition=1, **counts)
    with pytest.raises(JobError, match=r"the topic shop.transaction has several partitions, which have no order of commits. Give it one"):
        source.batch()


def test_routed_topics_are_refused(source: Source) -> None:
    source.a = TopicLog(topic="all")
    source.a.table = "a"
    source.change(source.a, 7, 1, "first", op="c")
    with pytest.raises(JobError, match=r"all holds events of public.a, which are counted for shop.public.a. Set consistency"):
        source.batch()


def test_flattened_events_are_refused(source: Source) -> None:
    source.a.fields = None
    source.a.record({"id": 1}, {"id": 1, "name": "flat", "__op": "c"})
    source.end(7, a=1)
    with pytest.raises(JobError, match=r"the topic shop.public.a holds flattened events, which name no transaction. Set consistency"):
        source.batch()


def test_the_prefix_is_what_the_transaction_topic_begins_with() -> None:
    config = MirrorConfig("m", "kafka:9092", "/c", SinkConfig(path="/t"), consistency="transaction", topics="shop.*")
    found = transactions_of(replace(config, transaction_topic="shop.eu.boundaries"))
    assert found is not None
    assert (found.topic, found.prefix) == ("shop.eu.boundaries", "shop.eu")
    found = transactions_of(replace(config, topics=None, prefix="shop"))
    assert found is not None
    assert (found.topic, found.prefix) == ("shop.transaction", "shop")
    assert transactions_of(replace(config, consistency="row")) is None
