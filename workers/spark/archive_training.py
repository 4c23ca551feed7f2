"""A mirror of a few thousand made-up events, which makes Spark load the classes that mirrors need.

``python -m workers.spark.archive_training ARCHIVE`` runs it in a JVM that writes the archive when it ends
(:mod:`workers.spark.class_archive`). This is after the end of the Python process, so wait for the end of the output.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.class_archive import writing
from workers.spark.effects.small_batches import RECORDS
from workers.spark.jars import jars_of
from workers.spark.jobs.batches import Batches
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.jobs.mirror import Mirror
from workers.spark.session import JAVA_OPTIONS, find_java, jar_folder, open_session
from workers.spark.sinks import DeltaPlace, sink_of, takes_arrow
from workers.spark.topics.formats import json_format
from workers.spark.types import UNAVAILABLE

JARS: Final = ("kafka", "delta")
"""The groups of jars that the training needs."""
_BATCHES: Final = 5
_FEW: Final = 20
_TOPIC: Final = "training.public.rows"
_FIELDS: Final[tuple[dict[str, Any], ...]] = (
    {"type": "int64", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "name"},
    {"type": "int32", "optional": True, "field": "day", "name": "io.debezium.time.Date"},
    {"type": "int64", "optional": True, "field": "at", "name": "io.debezium.time.MicroTimestamp"},
    {"type": "boolean", "optional": True, "field": "done"},
    {
        "type": "bytes",
        "optional": True,
        "field": "price",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "2", "connect.decimal.precision": "10"},
    },
)


def train(spark: SparkSession, folder: Path) -> None:
    """Mirror made-up events into a Delta table below ``folder``: large batches, then small ones, the last of which Python decodes."""
    place = DeltaPlace(str(folder / "tables"))
    sink = sink_of(place, spark)
    checkpoint = Checkpoint(spark, str(folder / "checkpoint"))
    batches = Batches(
        checkpoint, json_format(UNAVAILABLE, None), sink, Mirror(sink), counts=_counts, in_arrow=int(takes_arrow(place, spark))
    )

    def apply(rows: DataFrame, batch: int) -> None:
        batches.apply(_records(rows if batch < _BATCHES - 2 else rows.limit(_FEW)), batch)

    numbers = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2 * RECORDS).load()
    query = numbers.writeStream.option("checkpointLocation", str(folder / "stream")).foreachBatch(apply).start()
    try:
        while query.isActive and (query.lastProgress is None or query.lastProgress["batchId"] < _BATCHES - 1):
            query.awaitTermination(1)
    finally:
        query.stop()


def _counts(batch: int) -> dict[str, int]:
    return {_TOPIC: _FEW} if batch == _BATCHES - 1 else {}


def _records(numbers: DataFrame) -> DataFrame:
    """A change of a row for each number (column ``value``), in the columns of Spark's Kafka source. Rows are inserted, updated, deleted."""
    images = [{"type": "struct", "fields": list(_FIELDS), "optional": True, "field": side} for side in ("before", "after")]
    others = [{"type": "struct", "field": "source"}, {"type": "string", "field": "op"}, {"type": "int64", "field": "ts_ms"}]
    schema = {"type": "struct", "fields": [*images, *others], "optional": False, "name": "training.public.rows.Envelope"}
    row = '{"id":%1$d,"name":"row %1$d","day":20000,"at":1700000000000000,"done":true,"price":"MDk="}'
    source = '{"schema":"public","table":"rows","lsn":%2$d,"txId":1,"snapshot":"false","ts_ms":1700000000000}'
    rest = f'"source":{source},"op":"%3$s","ts_ms":1700000000000,"transaction":null'
    deleted, changed = f'{{"before":{row},"after":null,{rest}}}', f'{{"before":null,"after":{row},{rest}}}'
    number = F.col("value")
    op = F.when(number % 7 == 0, "d").when(number % 2 == 0, "u").otherwise("c")
    identity = number % (3 * RECORDS)
    values = [F.format_string(_enveloped(schema, body), identity, number, op) for body in (deleted, changed)]
    key = _enveloped({"type": "struct", "fields": [_FIELDS[0]], "optional": False}, '{"id":%d}')
    return numbers.select(
        F.lit(_TOPIC).alias("topic"),
        F.lit(0).alias("partition"),
        number.alias("offset"),
        "timestamp",
        F.format_string(key, identity).cast("binary").alias("key"),
        F.when(op == "d", values[0]).otherwise(values[1]).cast("binary").alias("value"),
        F.lit(None).cast("array<struct<key: string, value: binary>>").alias("headers"),
    )


def _enveloped(schema: dict[str, Any], payload: str) -> str:
    return f'{{"schema":{json.dumps(schema, separators=(",", ":"))},"payload":{payload}}}'


def main(archive: str) -> None:
    """Train a new session, whose JVM writes ``archive`` when it ends."""
    java = find_java()
    with tempfile.TemporaryDirectory(prefix="training-") as place:
        folder = Path(place)
        settings = {JAVA_OPTIONS: writing(Path(archive)), "spark.sql.warehouse.dir": str(folder / "warehouse")}
        spark = open_session("training", java, jars_of(java, jar_folder(), JARS), settings=settings)
        spark.sparkContext.setLogLevel("FATAL")
        try:
            train(spark, folder)
        finally:
            spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
