"""What the record that shows a layout's schemas says of its table and commit is what a job finds in the records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import DataFrame, SparkSession

from tests.support.spark.topic_log import EPOCH, ID, NAME, Json, Record, TopicLog, envelope_schema, frame
from workers.spark.topics.json_schemas import JsonSchemas
from workers.spark.topics.known import Known, TopicState
from workers.spark.topics.records import cut_json
from workers.spark.topics.survey import Group, json_signs, survey
from workers.spark.topics.topic import Text, Texts, learned
from workers.spark.types import UNAVAILABLE

SOURCE: Json = {"schema": "public", "table": "items", "ts_ms": 7, "lsn": 5}
ROW: Json = {"type": "struct", "fields": [ID, NAME, *({"type": "int64", "field": name} for name in ("__lsn", "__source_ts_ms"))]}
ENVELOPES: Mapping[str, Json] = {
    "a.change": {"op": "c", "source": SOURCE},
    "a.truncate": {"op": "t", "source": SOURCE},
    "without.lsn": {"op": "u", "source": {**SOURCE, "lsn": None}},
    "without.time": {"op": "u", "source": {"schema": "public", "table": "items", "lsn": 5}},
    "without.table": {"op": "u", "source": {"ts_ms": 7, "lsn": 5}},
    "without.source": {"op": "u"},
    "texts.for.numbers": {"op": "u", "source": {**SOURCE, "ts_ms": "x", "lsn": True}},
    "no.source": {"op": "u", "source": "x"},
}
ROWS: Mapping[str, Json] = {
    "flattened.with.place": {"id": 1, "name": "x", "__lsn": 5, "__source_ts_ms": 7},
    "flattened.with.lsn": {"id": 1, "name": "x", "__lsn": 5},
    "flattened.alone": {"id": 1, "name": "x"},
}


class Schemas(JsonSchemas):
    """Schemas that count the jobs for places. Without ``shows`` the texts do not say what their record shows."""

    def __init__(self, *, shows: bool) -> None:
        super().__init__(UNAVAILABLE, None)
        self.shows = shows
        self.asked: list[str] = []

    def of(self, records: DataFrame, groups: Sequence[Group]) -> Texts:
        found = super().of(records, groups)
        return found if self.shows else {place: replace(text, seen=None) for place, text in found.items() if isinstance(text, Text)}

    def places(self, cut: DataFrame, wanted: Mapping[str, Sequence[Known]]) -> DataFrame:
        self.asked += sorted(wanted)
        return super().places(cut, wanted)


def record(topic: str, schema: Json, payload: Json) -> Record:
    value = json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()
    return topic, 0, 0, EPOCH, None, value, []


def states(schemas: Schemas, records: DataFrame, kept: Texts | None = None) -> dict[str, TopicState]:
    cut = cut_json(records)
    return learned({}, survey(cut, json_signs(UNAVAILABLE)), lambda: cut, schemas, records, kept)


def test_one_record_shows_what_a_job_finds(spark: SparkSession) -> None:
    several = TopicLog(topic="two.layouts")
    several.change("c", {"id": 1, "name": "x"})
    several.fields = (ID, NAME, {"type": "int32", "optional": True, "field": "n"})
    several.change("c", {"id": 2, "name": "x", "n": 1})
    bare = TopicLog(None, topic="without.schemas")
    bare.change("c", {"id": 1, "name": "x"})
    found = [*several.new(), *bare.new()]
    found += [record(topic, envelope_schema((ID, NAME)), {"before": None, "after": None, **more}) for topic, more in ENVELOPES.items()]
    found += [record(topic, ROW, row) for topic, row in ROWS.items()]
    shown, plain, records = Schemas(shows=True), Schemas(shows=False), frame(spark, found)
    assert states(shown, records) == states(plain, records)
    assert plain.asked == sorted({row[0] for row in found})
    # Others show neither a table nor a commit.
    assert shown.asked == ["flattened.alone", "no.source", "two.layouts", "without.source"]


def test_a_record_of_another_batch_does_not_count(spark: SparkSession) -> None:
    log, schemas = TopicLog(topic="routed"), Schemas(shows=True)
    log.table = "items"
    log.change("c", {"id": 1, "name": "x"})
    log.change("c", {"id": 2, "name": "x"})
    first, second = log.new()
    before = schemas.embedded(frame(spark, [first]))
    state = states(schemas, frame(spark, [second]), before)["routed"]
    assert (state.table, state.layouts[0].newest[1], schemas.asked) == (("public", "items"), log.lsn, ["routed"])
    same = states(schemas, frame(spark, [first]), before)["routed"]
    assert (same.table, same.layouts[0].newest[1], schemas.asked) == (("public", "items"), log.lsn - 8, ["routed"])
