"""Python cuts records as Spark's tasks do, or leaves them to these."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

import pyarrow as pa
from aiokafka import ConsumerRecord
from hypothesis import given
from hypothesis import strategies as st

from tests.support.spark.topic_log import EPOCH, ID, NAME, Header, Record, TopicLog, frame, price
from workers.spark.topics.cut_records import NotCut, PythonCut, java_hash
from workers.spark.topics.records import NEW_KEY, OLD_KEY, cut_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def record(value: bytes | None, key: bytes | None = b'{"id":1}', headers: list[Header] | None = None, offset: int = 7) -> Record:
    return ("shop.public.items", 3, offset, EPOCH + timedelta(milliseconds=offset), key, value, headers or [])


def by_python(cut: PythonCut, records: list[Record]) -> list[dict[str, object]]:
    topic, partition = records[0][:2]
    given = [
        ConsumerRecord(topic, partition, offset, round(at.timestamp() * 1000), 0, key, value, None, 0, 0, tuple(headers))
        for _, _, offset, at, key, value, headers in records
    ]
    found = cut.part((topic, partition), given)
    rows: list[dict[str, object]] = found.set_column(3, "timestamp", found["timestamp"].cast(pa.int64())).to_pylist()
    return rows


def by_spark(spark: SparkSession, records: list[Record]) -> list[dict[str, object]]:
    found = cut_json(frame(spark, records)).toArrow()
    rows = found.set_column(3, "timestamp", found["timestamp"].cast(pa.int64())).to_pylist()
    return sorted(rows, key=lambda row: row["offset"])


def embedded(schema: str, payload: str) -> bytes:
    return f'{{"schema":{schema},"payload":{payload}}}'.encode()


SEAM = '{"type":"struct","default":{"a":{},"payload":1}}'
VALUES = [
    None,
    b"null",
    embedded('{"type":"struct"}', '{"id":1,"name":"\u6f22 \\u00e9 \\"}"}'),
    embedded('{"type":"struct"}', "null"),
    embedded('{"type":"string"}', '"},\\"payload\\":1"'),
    embedded(SEAM, '{"id":1}'),
    embedded("null", '{"a":{"b":1},"payload":2}'),
    b'{"before":null,"after":{"id":1,"na\\u006de":null,"":0},"op":"c"}',
    b'{"before":{"id":1},"after":null,"op":"d"}',
    b'{"before":null,"after":[1],"op":"d"}',
    b'{"after":{},"op":"d"}',
    b'{ "id" : 1 , "after" : 5 }',
    b'{"id":1,"name":"x","__op":"c"}',
    b'{"\xe6\xbc\xa2":1,"\xc3\xa9":2}',
    b"{}",
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_and_keys(spark: SparkSession, value: bytes | None) -> None:
    records = [record(value), record(b"{}", value, offset=8)]
    assert by_python(PythonCut(java_hash(spark)), records) == by_spark(spark, records)


def test_records_one_after_the_other(spark: SparkSession) -> None:
    records = [
        record(value, key, offset=at)
        for at, (value, key) in enumerate(zip([*VALUES, *VALUES], [*VALUES[3:], *VALUES, *VALUES[:3]], strict=True))
    ]
    cut = PythonCut(java_hash(spark))
    wanted = by_spark(spark, records)
    assert by_python(cut, records) == wanted
    # What it has remembered changes nothing.
    assert by_python(cut, records) == wanted


def test_headers(spark: SparkSession) -> None:
    carried = [[(OLD_KEY, b"{}")], [("other", b"x"), (NEW_KEY, b"")], [(NEW_KEY, b"1"), (OLD_KEY, b"2")], [("x", b"")], []]
    records = [record(b"{}", headers=headers, offset=at) for at, headers in enumerate(carried)]
    found = by_python(PythonCut(java_hash(spark)), records)
    assert found == by_spark(spark, records)
    assert [(row["came"], row["left"]) for row in found] == [(True, False), (False, True), (True, True), (False, False), (False, False)]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"text",
        b'"text"',
        b"5",
        b"[]",
        b'{"schema":{"type":"struct"}, "payload":{}}',
        b'{"payload":{},"schema":{"type":"struct"}}',
        b' {"schema":{"type":"struct"},"payload":{}}',
        b'{"id":1,"schema":"public"}',
        b'{"after":"{\\"id\\":1}"}',
        b'{"id":1,}',
        b"\xff",
        embedded('{"type":"struct"}', '"').replace(b'"}', b"\xff}"),
        embedded('{"name":"?"}', "{}").replace(b"?", b"\xff"),
        b"\0\0\0\0\1abc",
    ],
    ids=repr,
)
def test_other_text_is_left_to_spark(spark: SparkSession, text: bytes) -> None:
    cut = PythonCut(java_hash(spark))
    for value, key in ((text, b"{}"), (b"{}", text)):
        with pytest.raises(NotCut) as odd:
            by_python(cut, [record(b"{}"), record(value, key)])
        assert odd.value.topic == "shop.public.items"


def test_the_schemas_of_layouts_are_known(spark: SparkSession) -> None:
    log = TopicLog((ID, NAME, price(2)))
    log.change("c", {"id": 1, "name": "a", "price": None})
    cut = PythonCut(java_hash(spark))
    (row,) = by_python(cut, log.records)
    schemas = [json.loads(cut.schema(row[name]) or "") for name in ("layout", "key_layout")]  # type: ignore[arg-type]  # they are numbers
    whole = [json.loads(text or b"") for text in (log.records[0][5], log.records[0][4])]
    assert schemas == [one["schema"] for one in whole]
    assert cut.schema(1) is None
    assert cut.schema(None) is None
    # Those of JSON without a schema are found by Spark.
    (bare,) = by_python(cut, [record(b'{"id":1}')])
    assert cut.schema(bare["layout"]) is None  # type: ignore[arg-type]  # as above


NAMES = st.text(st.characters(codec="utf-8"), max_size=3)
ROWS = st.dictionaries(NAMES, st.none() | st.integers() | NAMES, max_size=3)
EVENTS = st.fixed_dictionaries({}, optional={"before": st.none() | ROWS, "after": st.none() | ROWS, "op": NAMES}) | ROWS
BODIES = EVENTS.map(lambda event: json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode())
MEMBERS = st.sampled_from(["type", "payload", "name"])
SCHEMAS: st.SearchStrategy[dict[str, object]] = st.dictionaries(MEMBERS, NAMES | st.just({}), min_size=1, max_size=3)
TEXTS = BODIES | st.builds(
    lambda schema, body: embedded(json.dumps(schema, separators=(",", ":"), ensure_ascii=False), body.decode()), SCHEMAS, BODIES
)


@given(st.lists(st.tuples(st.none() | TEXTS, st.none() | TEXTS), min_size=1, max_size=30))
def test_any_records(spark: SparkSession, texts: list[tuple[bytes | None, bytes | None]]) -> None:
    records = [record(value, key, offset=at) for at, (value, key) in enumerate(texts)]
    try:
        found = by_python(PythonCut(java_hash(spark)), records)
    except NotCut:
        return
    assert found == by_spark(spark, records)
