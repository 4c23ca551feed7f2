"""Whole transactions only: what a mirror shows while parts of them are still to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.memory_sink import Crash
from tests.support.spark.mirror_rig import Rig
from tests.support.spark.topic_log import EPOCH, ID, NAME, TopicLog, frame
from workers.spark.effects.known_rows import known_rows
from workers.spark.failure import JobError
from workers.spark.jobs.batch_totals import BatchTotals
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror_config import MirrorConfig, SinkConfig
from workers.spark.jobs.stream import transactions_of
from workers.spark.jobs.transactions import End, Transactions, ended, whole

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

    def end(self, tx: int, *, partition: int = 0, lsn: int | None = None, ts_ms: int = 1, **counts: int) -> None:
        """The end of a transaction, after its last change; ``counts`` by table without its schema."""
        lsn = max(self.a.lsn, self.b.lsn) + 4 if lsn is None else lsn
        reported = [{"data_collection": f"public.{table}", "event_count": count} for table, count in counts.items()]
        self.reported(f"{tx}:{lsn}", reported, partition=partition, ts_ms=ts_ms)

    def reported(self, name: str, counts: list[dict[str, object]], *, partition: int = 0, ts_ms: int = 1) -> None:
        both: list[dict[str, object]] = [
            {"status": "BEGIN", "id": name, "event_count": None, "data_collections": None, "ts_ms": ts_ms},
            {"status": "END", "id": name, "event_count": 0, "data_collections": counts, "ts_ms": ts_ms},
        ]
        for record in both:
            self.ends.record({"id": name}, record, partition=partition)

    def batch(self, *logs: TopicLog) -> BatchTotals:
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
    # They are repeated, possibly in part.
    assert whole(ends, {"3": {A: 1}}, {A, B}, 20) == (ends, None)
    assert whole(ends, {}, {A, B}, 19)[0] == ends[:1]


def test_an_end_names_its_transaction_and_its_place() -> None:
    counts = {A: 3, "LOGICAL_DECODING_MESSAGE": 1, "io.debezium.connector.postgresql.PostgresEventDispatcher$Id@1f2e": 1, "io.d@1": 1}
    assert ended("571:53195832", counts) == End("571", 53195832, {A: 3, "io.d@1": 1})
    with pytest.raises(JobError, match=r"the id 'GTID-1', which is not <xid>:<LSN>. Check transaction_topic"):
        ended("GTID-1", {})


def test_a_crash_after_part_of_a_transaction_does_not_show_it(source: Source) -> None:
    """Transaction 7 is repeated after the first part of 8, whose other part and end have not been read yet."""
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


@pytest.mark.long
def test_tables_that_are_not_mirrored_do_not_count(spark: SparkSession, tmp_path: Path) -> None:
    """The pattern is Java's, whose character classes differ from Python's."""
    source = Source(spark, tmp_path, rf"shop\.\p{{Alpha}}+\.a|{ENDS}")
    source.change(source.a, 7, 1, "first", op="c")
    source.end(7, a=1, b=4)
    assert source.batch(source.a, source.ends).waiting == 0
    assert source.names() == (["first"], [])


def test_messages_are_in_no_table(source: Source) -> None:
    source.change(source.a, 7, 1, "first", op="c")
    source.reported("7:900", [{"data_collection": A, "event_count": 1}, {"data_collection": "LOGICAL_DECODING_MESSAGE", "event_count": 1}])
    assert source.batch().lacking is None
    assert source.names() == (["first"], [])


@pytest.mark.long
def test_repeated_moves_after_a_crash_are_not_awaited(source: Source) -> None:
    for tx, name in ((7, "first"), (8, "second")):
        source.change(source.a, tx, 1, name, op="c" if tx == 7 else "u")
        source.change(source.b, tx, 2, name, op="c" if tx == 7 else "u")
        source.end(tx, a=1, b=1, lsn=tx * 100)
    source.batch()
    # The connector continues in the middle of transaction 8. The end of the transaction also counts the events before.
    source.b.repeat(1, 2)
    source.end(8, a=1, b=1, lsn=800)
    source.change(source.a, 9, 1, "third")
    source.end(9, a=1, lsn=900)
    assert source.batch().waiting == 0
    assert source.names() == (["third"], ["second"])


@pytest.mark.long
def test_a_replay_that_is_read_in_part_shows_nothing_older(source: Source) -> None:
    """A connector that was killed sends transactions again that are in the tables, and a batch ends in the middle of them."""
    for tx, name, op in ((7, "first", "c"), (8, "second", "u"), (9, "third", "u")):
        source.change(source.a, tx, 1, name, op=op)
        source.change(source.b, tx, 2, name, op=op)
        source.end(tx, a=1, b=1, lsn=tx * 100)
    source.batch()
    assert source.names() == (["third"], ["third"])
    # Of one table two transactions, of the other one, and the end of the first.
    source.a.repeat(0, 2)
    source.b.repeat(0, 1)
    source.end(7, a=1, b=1, lsn=700)
    source.batch()
    assert source.names() == (["third"], ["third"])
    source.b.repeat(1, 2)
    source.end(8, a=1, b=1, lsn=800)
    assert source.batch().waiting > 0
    assert source.names() == (["third"], ["third"])
    # The newest event of one table is repeated, and a new one follows. Neither event of the other table has been read yet.
    source.a.repeat(2, 3)
    source.change(source.a, 10, 1, "fourth")
    source.end(9, a=1, b=1, lsn=900)
    source.end(10, a=1, lsn=1000)
    source.batch()
    assert source.names() == (["fourth"], ["third"])
    source.b.repeat(2, 3)
    source.change(source.b, 11, 1, "fifth")
    source.end(11, b=1, lsn=1100)
    assert source.batch().waiting == 0
    assert source.names() == (["fourth"], ["fifth"])


@pytest.mark.long
def test_a_replay_waits_until_the_newest_event_is_repeated(source: Source) -> None:
    """Of one transaction a part was read again, and a delete's tombstone is the last of what was."""
    for order, (op, name) in enumerate((("c", "one"), ("d", "one"), ("c", "two"), ("u", "three")), 1):
        source.change(source.a, 7, order, name, op=op)
    source.end(7, a=4, lsn=700)
    # In the same batch as the first time: the second event, with its tombstone.
    source.a.repeat(1, 3)
    assert source.batch().waiting == 3
    assert source.names() == (["three"], [])
    # In the next batch up to the third, by a mirror that is killed.
    source.a.repeat(3, 4)
    source.end(7, a=4, lsn=700)
    third = frame(source.rig.spark, [*source.a.new(), *source.ends.new()])
    source.rig.sink.crash = "after"
    with pytest.raises(Crash):
        source.rig.again(third)
    # The delete, its tombstone, the create, and one end for them.
    assert source.rig.batch(third).waiting == 4
    assert source.names() == (["three"], [])
    source.a.repeat(4, 5)
    assert source.batch().waiting == 0
    assert source.names() == (["three"], [])
    # Nothing is left of it that would hold anything up.
    source.a.change("r", {"id": 2, "name": "read"}, snapshot="last")
    source.batch()
    assert source.names() == (["three", "read"], [])


@pytest.mark.long
def test_a_transaction_whose_first_part_came_before_a_replay_is_shown_whole(source: Source) -> None:
    source.change(source.a, 7, 1, "first", op="c")
    source.end(7, a=1, lsn=700)
    source.change(source.a, 8, 1, "half", id_=2, op="c")
    source.a.repeat(0, 2)
    source.batch()
    # The end is repeated too, before the rest.
    source.end(7, a=1, lsn=700)
    source.batch()
    assert source.names() == (["first"], [])
    source.change(source.a, 8, 2, "other half", id_=3, op="c")
    source.end(8, a=2, lsn=800)
    assert source.batch().waiting == 0
    assert source.names() == (["first", "half", "other half"], [])


@pytest.mark.long
def test_a_snapshot_after_a_replay_that_breaks_off_is_shown(source: Source) -> None:
    """The connector was removed in the middle of the replay: the next one begins with a snapshot."""
    for tx, name in ((7, "first"), (8, "second")):
        source.change(source.a, tx, 1, name, op="c")
        source.end(tx, a=1)
    source.a.repeat(0, 1)
    assert source.batch().waiting > 0
    source.a.lsn += 100
    source.a.change("r", {"id": 1, "name": "read"}, snapshot="first")
    source.a.change("r", {"id": 2, "name": "read too"}, lsn=source.a.lsn, snapshot="last")
    assert source.batch().waiting == 0
    assert source.names() == (["read", "read too"], [])


@pytest.mark.long
def test_a_restored_source_holds_nothing_up(source: Source) -> None:
    """Its log continues at lower LSNs, with transactions that committed later."""
    for tx, name in ((7, "first"), (8, "second")):
        source.change(source.a, tx, 1, name, op="c" if tx == 7 else "u")
        source.end(tx, a=1, lsn=tx * 100, ts_ms=tx)
    source.batch()
    source.change(source.a, 3, 1, "third")
    source.end(3, a=1, lsn=300, ts_ms=9)
    assert source.batch().waiting == 0
    assert source.names() == (["third"], [])


@pytest.mark.long
def test_repeated_rows_without_a_key_count_once(source: Source) -> None:
    """Producers may write them to another partition then."""
    source.a.key = ()
    source.change(source.a, 7, 1, "one", op="c")
    source.change(source.a, 7, 2, "two", op="c", partition=1)
    source.change(source.a, 7, 2, "two", op="c")
    source.end(7, a=3)
    done = source.batch()
    assert done.lacking == "transaction 7 has 3 events of public.a, of which 2 are read"
    assert source.names() == ([], [])


@pytest.mark.long
def test_a_transaction_without_an_end_holds_nothing_up(source: Source) -> None:
    """The connector was removed in the middle of it: the next one begins with a snapshot."""
    source.change(source.a, 7, 1, "never ended", op="c")
    assert source.batch().waiting == 1
    source.a.change("r", {"id": 1, "name": "read"}, snapshot="last")
    source.change(source.a, 8, 1, "after", id_=2, op="c")
    source.end(8, a=1)
    assert source.batch().waiting == 0
    assert source.names() == (["read", "after"], [])


def test_changes_without_a_transaction_are_reported(source: Source) -> None:
    source.a.change("c", {"id": 1, "name": "before the metadata"})
    source.change(source.b, 7, 1, "with it", op="c")
    source.end(7, b=1)
    assert source.batch().apart == 1
    assert source.names() == (["before the metadata"], ["with it"])


@pytest.mark.long
def test_changes_of_a_new_key_that_wait_for_other_partitions_are_applied(source: Source) -> None:
    """They are of whole transactions already."""
    source.change(source.a, 7, 1, "first", op="c")
    source.end(7, a=1)
    number = {**ID, "field": "number"}
    source.a.fields, source.a.key, source.a.tx = (number, NAME), (number,), 8
    source.a.change("u", {"number": 1, "name": "second"}, order=1, partition=1)
    source.end(8, a=1)
    source.rig.behind = True
    assert source.batch().waiting == 1
    assert source.names() == (["first"], [])
    source.rig.behind = False
    assert source.batch().waiting == 0
    assert source.names() == (["second"], [])


@pytest.mark.long
def test_names_that_no_topic_can_have(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path)
    source.a = TopicLog(topic="shop.public.m_r__")
    source.a.table = "mär🐘"
    source.change(source.a, 7, 1, "first", op="c")
    source.reported("7:900", [{"data_collection": "public.mär🐘", "event_count": 2}])
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


def test_known_rows_hold_any_name_of_a_topic(spark: SparkSession) -> None:
    rows = [('a"b\\c${env:HOME}', 1, 2**63 - 1, True), ("ü😀", 0, -1, False)]
    frame = known_rows(spark, rows, {"topic": "string", "partition": "int", "offset": "bigint", "kept": "boolean"})
    assert [tuple(row) for row in frame.collect()] == rows
    assert frame.dtypes == [("topic", "string"), ("partition", "int"), ("offset", "bigint"), ("kept", "boolean")]
    assert known_rows(spark, [], {"topic": "string"}).collect() == []


@pytest.mark.long
def test_records_of_a_transaction_that_never_becomes_whole_are_applied_by_rows(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path)
    # Retention has removed the first of two events.
    source.change(source.a, 1, 2, "rest", op="c")
    source.end(1, a=2)
    source.change(source.b, 2, 1, "later", op="c")
    source.end(2, b=1)
    done = source.batch()
    checkpoint = Checkpoint(spark, str(tmp_path))
    state = checkpoint.last()
    assert state.lacking == done.lacking == "transaction 1 has 2 events of public.a, of which 1 are read"
    assert state.lacking_ms >= int(EPOCH.timestamp() * 1000)
    assert source.names() == ([], [])
    rows = Rig(spark, tmp_path)
    rows.sink, rows.next = source.rig.sink, source.rig.next
    source.change(source.b, 3, 1, "latest", id_=2, op="c")
    source.end(3, b=1)
    rows.batch(frame(spark, [record for log in (source.b, source.ends) for record in log.new()]))
    assert source.names() == (["rest"], ["later", "latest"])
    assert checkpoint.last().lacking is None
    source.rig.next = rows.next
    source.change(source.a, 4, 1, "whole", id_=3, op="c")
    source.end(4, a=1)
    assert source.batch().lacking is None
    assert source.names()[0] == ["rest", "whole"]
