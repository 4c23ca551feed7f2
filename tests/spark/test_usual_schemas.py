"""The cut of records: what schemas that most records have change in it (nothing), when a process expects them, and which headers count."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType

from tests.support.spark.memory_sink import MemorySink
from tests.support.spark.topic_log import HEADERS, ID, NAME, TopicLog, frame
from workers.spark.compilation import COMPILED
from workers.spark.jobs import batches, expectation
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror import Mirror
from workers.spark.topics.formats import json_format
from workers.spark.topics.records import Cut, Embedded, cut_json
from workers.spark.types import UNAVAILABLE


def test_usual_schemas_do_not_change_what_is_cut(spark: SparkSession) -> None:
    log, wide = TopicLog(), TopicLog((ID, NAME, {"type": "int32", "optional": True, "field": "n"}))
    log.change("c", {"id": 1, "name": '"},"payload":{"'})
    log.change("d", {"id": 1, "name": None})
    log.change("t")
    wide.change("c", {"id": 2, "name": "é", "n": 3})
    (one, *_), (other, *_) = log.records, wide.records
    place, at = one[:2], one[3]
    found = [*log.records, *wide.records, (*place, 9, at, one[4], other[5], []), (*place, 10, at, other[4], b'{"id":1}', [])]
    # The same schema with blanks, and as the beginning of a longer one.
    blank = json.dumps(json.loads(one[5] or b"")).encode()
    longer = (one[5] or b"").replace(b'"shop.public.items.Envelope"}', b'"shop.public.items.Envelope"},"more":1', 1)
    found += [(*place, 11, at, one[4], blank, []), (*place, 12, at, one[4], longer, []), (*place, 13, at, b"", b"", [])]
    records = frame(spark, found)
    texts = [json.dumps(json.loads(value or b"")["schema"], separators=(",", ":")) for value in (one[5], other[5], one[4])]
    hinted = cut_json(records, usual=[(texts[1], texts[2]), (texts[0], None), (None, texts[2]), ('{"a":{"b":1},"payload":2}', "")])
    columns = ("offset", "layout", "value", "key_layout", "key")
    assert hinted.select(*columns).collect() == cut_json(records).select(*columns).collect()


def test_headers_say_whether_a_row_had_or_gets_another_key(spark: SparkSession) -> None:
    log = TopicLog()
    log.change("c", {"id": 1, "name": "x"})
    topic, partition, _, at, key, value, _ = log.records[0]
    old, new, other = ("__debezium.oldkey", b"{}"), ("__debezium.newkey", b""), ("__debezium.other", b"")
    several = [[], [other], [other, old], [new], [new, old]]
    found = [(topic, partition, offset, at, key, value, headers) for offset, headers in enumerate(several)]
    empty = frame(spark, found[:1]).withColumns({"headers": F.array().cast(ArrayType(HEADERS)), "offset": F.lit(9).cast("bigint")})
    rows = cut_json(frame(spark, found).unionByName(empty)).orderBy("offset").select("came", "left").collect()
    assert [tuple(row) for row in rows] == [(False, False), (False, False), (True, False), (False, True), (True, True), (False, False)]


class Watched:
    """Batches that show what they expect of each batch: the schemas that the cut is given, and whether its code is compiled."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.usual: list[Sequence[Embedded]] = []
        self.compiled: list[bool] = []
        self.sink = MemorySink(spark)
        form = replace(json_format(UNAVAILABLE, None), cut=self._cut(()), cut_usual=self._cut)
        self.batches = Batches(Checkpoint(spark, str(folder)), form, self.sink, Mirror(self.sink))

    def _cut(self, usual: Sequence[Embedded]) -> Cut:
        def cut(records: DataFrame) -> DataFrame:
            self.usual.append([(json.loads(value or ""), json.loads(key or "")) for value, key in usual])
            self.compiled.append(self.batches._compilation.wanted)
            return cut_json(records, usual=usual)

        return cut


def embedded(log: TopicLog) -> tuple[object, object]:
    """The schemas of the log's first record."""
    _, _, _, _, key, value, _ = log.records[0]
    return json.loads(value or b"")["schema"], json.loads(key or b"")["schema"]


def test_the_first_batch_expects_what_is_unread(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "DIVIDED", 2)
    log, other = TopicLog(), TopicLog(topic="shop.public.others")
    for number in range(2):
        log.change("c", {"id": number, "name": "x"})
    other.change("c", {"id": 1, "name": "z"})
    asked: list[Collection[str]] = []

    def first(topics: Collection[str]) -> DataFrame:
        asked.append(topics)
        return frame(spark, log.records[:1])

    unread, records = {log.topic: 2, other.topic: 1}, log.batch(spark).unionByName(other.batch(spark))
    new = Watched(spark, tmp_path)
    new.batches.expect(unread, first)
    new.batches.apply(records, 0)
    assert asked == [[log.topic]]
    assert new.usual == [[embedded(log)]]
    assert sorted((row["id"], row["name"]) for row in new.sink.rows()) == [(0, "x"), (1, "x")]
    # The next process knows the topic.
    log.change("c", {"id": 2, "name": "y"})
    again = Watched(spark, tmp_path)
    again.batches.expect({log.topic: COMPILED}, first)
    again.batches.apply(log.batch(spark), 1)
    assert asked == [[log.topic]]
    assert (again.usual, again.compiled) == ([[embedded(log)]], [True])
    # Of the layouts that each topic has had, the newest one is expected.
    wide = TopicLog((ID, NAME, {"type": "int32", "optional": True, "field": "n"}))
    wide.lsn = log.lsn
    wide.change("c", {"id": 3, "name": "y", "n": 1})
    again.batches.apply(wide.batch(spark), 2)
    wide.change("c", {"id": 4, "name": "y", "n": 1})
    last = Watched(spark, tmp_path)
    last.batches.expect({log.topic: COMPILED}, first)
    last.batches.apply(wide.batch(spark), 3)
    # It comes last, as that of a topic with many unread records.
    assert last.usual == [[embedded(other), embedded(wide)]]


def test_records_without_schemas_are_not_expected(spark: SparkSession, tmp_path: Path) -> None:
    log, process = TopicLog(), Watched(spark, tmp_path)
    log.change("c", {"id": 1, "name": "x"})
    place, plain = log.records[0][:4], json.dumps(json.loads(log.records[0][5] or b"")["payload"]).encode()
    records = frame(spark, [(*place, b'{"id":1}', plain, [])])
    process.batches.expect({log.topic: COMPILED}, lambda _: records)
    process.batches.apply(records, 0)
    assert (process.usual, process.compiled) == ([[]], [False])


def test_all_layouts_are_expected_if_they_are_few(spark: SparkSession, tmp_path: Path) -> None:
    process = Watched(spark, tmp_path)
    log, other = TopicLog(), TopicLog((ID,), topic="shop.public.others")
    for number, one in enumerate((log, other, log)):
        one.change("c", {"id": number, "name": "x"} if one is log else {"id": number})
        process.batches.apply(one.batch(spark), number)
    assert process.usual == [[], [embedded(log)], [embedded(log), embedded(other)]]
    # So does the next process, which has nothing to read yet.
    again = Watched(spark, tmp_path)
    again.batches.expect({}, lambda _: frame(spark, []))
    log.change("c", {"id": 3, "name": "x"})
    again.batches.apply(log.batch(spark), 3)
    assert (again.usual, again.compiled) == ([[embedded(log), embedded(other)]], [False])


@pytest.mark.long
def test_schemas_of_many_records_stay_usual(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expectation, "MANY", 2)
    monkeypatch.setattr(expectation, "EXPECTED", 1)
    process = Watched(spark, tmp_path)
    log, other = TopicLog(), TopicLog(topic="shop.public.others")
    for number in range(3):
        log.change("c", {"id": 2 * number, "name": "x"})
        log.change("c", {"id": 2 * number + 1, "name": f"y{number}"})
        other.change("c", {"id": number, "name": "z"})
        process.batches.apply(log.batch(spark).unionByName(other.batch(spark)), number)
    assert process.usual == [[], [embedded(log)], [embedded(log)]]
    assert [row["name"] for row in process.sink.rows()] == ["x", "y0", "x", "y1", "x", "y2"]
    # A batch of few records changes nothing. Of too many layouts, the oldest goes.
    monkeypatch.setattr(expectation, "EXPECTED", 2)
    several = [TopicLog((ID, NAME, {"type": kind, "optional": True, "field": "n"})) for kind in ("int16", "int32")]
    several[0].lsn = log.lsn
    for number, rows in enumerate((1, 2, 2, 2), 3):
        wide = several[number > 4]
        wide.lsn = max(one.lsn for one in (log, *several))
        for at in range(rows):
            wide.change("c", {"id": 10 * number + at, "name": "x", "n": 1})
        process.batches.apply(wide.batch(spark), number)
    kept, first, second = [embedded(log)], embedded(several[0]), embedded(several[1])
    assert process.usual[3:] == [kept, kept, [*kept, first], [first, second]]
    # Of more layouts in each batch, those that are expected stay.
    for number in (7, 8):
        for one in (log, *several):
            one.lsn = max(one.lsn for one in (log, *several))
            for at in range(2):
                one.change("u", {"id": at, "name": "x", "n": 1})
        records = [one.batch(spark) for one in (log, *several)]
        process.batches.apply(records[0].unionByName(records[1]).unionByName(records[2]), number)
    assert process.usual[7:] == [[first, second]] * 2
