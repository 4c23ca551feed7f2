"""Names for the changes of a table without a key, so that one that comes again is known.

A row inserted while streaming is named by the LSN and the transaction of its change. COPY writes many rows with one LSN; they
are told apart by their order in the transaction, where the events carry it (``provide.transaction.metadata=true``), else by a hash of
what they hold and, for equal ones, by their number. Equal rows of one LSN that the connector made within :data:`RUN_MS` belong
to one run of it; those that come later are the same rows again, after a crash.

A row read by a snapshot is named by its record's own place: a snapshot that is taken again replaces the table.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.tables.table import POSITION, UPSERT

RUN_MS: Final = 250
"""A connector that starts again after a crash takes longer than this; it makes the events of one COPY's buffer in less."""
SNAPSHOT_BEGINS: Final = ("first", "first_in_data_collection")
"""Markers of a table's first row in a snapshot (``source.snapshot``)."""


def appended(changes: DataFrame) -> DataFrame:
    """The effects of creates and reads of a table without a key; its updates and deletes are left out, none says which row they mean."""
    rows = changes.where(F.col("op").isin("c", "r"))
    lsn = F.lpad(F.hex("lsn"), 16, "0")
    place = F.concat_ws(
        "/", F.coalesce(lsn, F.lit("")), F.lit("r"), F.col("partition").cast("string"), F.lpad(F.col("offset").cast("string"), 19, "0")
    )
    ordered = F.concat_ws("/", lsn, F.col("tx").cast("string"), F.lpad(F.col("transaction.total_order").cast("string"), 12, "0"))
    named = _numbered(rows.withColumn("hash", F.hex(F.xxhash64(F.to_json("row")))))
    numbered = F.concat_ws("/", lsn, F.col("tx").cast("string"), F.col("hash"), F.col("number").cast("string"))
    streamed = (F.col("op") == "c") & F.col("lsn").isNotNull()
    position = F.when(streamed & F.col("transaction.total_order").isNotNull(), ordered).when(streamed, numbered).otherwise(place)
    return named.select(
        F.lit(UPSERT).alias("op"),
        F.struct(position.alias(POSITION)).alias("key"),
        "row",
        F.array().cast("array<string>").alias("kept"),
        "lsn",
    ).dropDuplicates(["key"])


def _numbered(rows: DataFrame) -> DataFrame:
    """Adds ``number``: of equal rows of one LSN in one run of the connector, from 1."""
    equal = Window.partitionBy("lsn", "tx", "op", "hash").orderBy("made_ms", "partition", "offset")
    begins = F.col("made_ms") - F.lag("made_ms").over(equal) >= RUN_MS
    runs = rows.withColumn("run", F.sum(F.coalesce(begins, F.lit(False)).cast("int")).over(equal))
    within = Window.partitionBy("lsn", "tx", "op", "hash", "run").orderBy("made_ms", "partition", "offset")
    return runs.withColumn("number", F.row_number().over(within))
