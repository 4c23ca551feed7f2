"""The reading of keys in JSON: those of a single number or text are read without a parser, with the same result."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType, DoubleType, IntegerType, LongType, ShortType, StringType, StructField, StructType

from tests.support.spark.local_frame import local_frame
from workers.spark.topics.layouts import read_json, read_json_key

pytestmark = pytest.mark.pg_once
NUMBERS = ["0", "-1", "32767", "-32768", " 7", "7 ", "null", "2147483647", "-9223372036854775808", "9223372036854775807"]
TEXTS = ["", "a", "é😀", 'a"', "\\", "a\\b", "a\nb", "}", '"}', '{"a":"b"}', " ", "\x7f", "0", "null", "\U0001f600" * 300]


def key(name: str, *types: DataType) -> StructType:
    return StructType([StructField(f"{name}{at or ''}", of) for at, of in enumerate(types)])


def read(spark: SparkSession, payloads: list[str | None], of: StructType) -> None:
    """Assert that both ways read the same."""
    frame = local_frame(spark, list(enumerate(payloads)), "at int, payload string")
    both = frame.select("at", read_json_key(F.col("payload"), of).alias("own"), read_json(F.col("payload"), of).alias("parsed"))
    rows = both.orderBy("at").collect()
    assert [(row["own"], payloads[row["at"]]) for row in rows] == [(row["parsed"], payloads[row["at"]]) for row in rows]
    assert len(rows) == len(payloads)


@pytest.mark.parametrize("of", [ShortType(), IntegerType(), LongType()], ids=str)
@pytest.mark.parametrize("name", ["id", 'q"', "ä\\", "a b"])
def test_numbers(spark: SparkSession, of: DataType, name: str) -> None:
    limits = {ShortType(): 5, IntegerType(): 8}
    quoted = json.dumps(name, ensure_ascii=False)
    numbers = NUMBERS[: limits.get(of, len(NUMBERS))]
    more = ["{}", f"{{ {quoted}:1}}", f"{{{quoted}: 1 }}", f'{{"z":2,{quoted}:1}}', f'{{{quoted}:1,"z":2}}', f"{{{quoted}:1,{quoted}:2}}"]
    read(spark, [*(f"{{{quoted}:{number}}}" for number in numbers), *more, None], key(name, of))


def test_texts(spark: SparkSession) -> None:
    written = [json.dumps({"id": text}, ensure_ascii=ascii_, separators=(",", ":")) for text in TEXTS for ascii_ in (False, True)]
    more = ['{"id":null}', '{"id":7}', '{"id":{"a":"b"}}', '{"id":"a","id":"b"}', '{"id":"a","z":"b"}', '{"id": "a"}', "{}", '{"id":""}']
    read(spark, [*written, *more, None], key("id", StringType()))


def test_keys_of_several_columns_and_other_types(spark: SparkSession) -> None:
    read(spark, ['{"id":1,"id1":"x"}', '{"id1":"y","id":2}', None], key("id", LongType(), StringType()))
    read(spark, ['{"id":1.5}', '{"id":1}', None], key("id", DoubleType()))


@pytest.mark.parametrize("payload", ['{"id":40000}', '{"id":"x"}', '{"id":1.5}', '{"id":', '{"id":}', '{"id":-}', '{"id":true}', "x"])
def test_what_is_no_such_number_stops_the_job(spark: SparkSession, payload: str) -> None:
    frame = local_frame(spark, [(payload,)], "payload string")
    for reader in (read_json, read_json_key):
        with pytest.raises((PySparkException, Py4JJavaError), match="Malformed"):
            frame.select(reader(F.col("payload"), key("id", ShortType())).alias("key")).collect()
