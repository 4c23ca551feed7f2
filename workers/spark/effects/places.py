"""Names for the changes of a table without a key, by which repeated changes are recognized.

The name of a row that was inserted while streaming begins with the LSN and the transaction of its change. COPY writes many rows with one
LSN, so the name also has the order in the transaction, if the events have it (``provide.transaction.metadata=true``). Otherwise it has a
hash of the row, and a number that distinguishes equal rows. Equal rows of one LSN that the connector made within :data:`RUN_MS` belong to
one run of the connector. Later ones are repetitions of the same rows after a crash.

The name of a row from a snapshot is the place of its record, because a repeated snapshot replaces the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.tables.table import POSITION, UPSERT
from workers.spark.topics.known import Truncate

RUN_MS: Final = 250
"""A connector's restart after a crash takes longer than this. The events of one COPY's buffer take less."""
SNAPSHOT_BEGINS: Final = ("first", "first_in_data_collection")
"""The markers of a table's first row in a snapshot (``source.snapshot``)."""


def appended(changes: DataFrame) -> DataFrame:
    """The effects of creates and reads of a table without a key. Updates and deletes are left out, because they do not identify a row."""
    rows = changes.where(F.col("op").isin("c", "r")).withColumn("total_order", F.col("transaction.total_order"))
    return _named(_numbered(_hashed(rows))).dropDuplicates(["key"])


def positioned(rows: DataFrame) -> DataFrame:
    """The same for creates and reads of which no two have the same LSN, transaction and ``total_order``, row by row."""
    return _named(_hashed(rows).withColumn("number", F.lit(1)))


def _hashed(rows: DataFrame) -> DataFrame:
    return rows.withColumn("hash", F.hex(F.xxhash64(F.to_json("row"))))


def _named(rows: DataFrame) -> DataFrame:
    """The effects of rows, with their names."""
    lsn = F.lpad(F.hex("lsn"), 16, "0")
    place = F.concat_ws(
        "/", F.coalesce(lsn, F.lit("")), F.lit("r"), F.col("partition").cast("string"), F.lpad(F.col("offset").cast("string"), 19, "0")
    )
    ordered = F.concat_ws("/", lsn, F.col("tx").cast("string"), F.lpad(F.col("total_order").cast("string"), 12, "0"))
    numbered = F.concat_ws("/", lsn, F.col("tx").cast("string"), F.col("hash"), F.col("number").cast("string"))
    streamed = (F.col("op") == "c") & F.col("lsn").isNotNull()
    position = F.when(streamed & F.col("total_order").isNotNull(), ordered).when(streamed, numbered).otherwise(place)
    return rows.select(
        F.lit(UPSERT).alias("op"),
        F.struct(position.alias(POSITION)).alias("key"),
        "row",
        F.array().cast("array<string>").alias("kept"),
        "lsn",
    )


def replaced(begins: Sequence[Truncate]) -> tuple[tuple[str, str], ...]:
    """The ranges of names of earlier rows that have the LSN of a snapshot, which ``begins``.

    They are the rows of the last change before a blocking snapshot, and those of an earlier snapshot without a change in between, as far
    as they are in the same partition.
    """
    ranges: list[tuple[str, str]] = []
    for one in begins:
        if one.tx is not None:
            change, read = f"{one.lsn:016X}/{one.tx}", f"{one.lsn:016X}/r/{one.partition}/"
            # A zero follows the slash in the order of characters.
            ranges += [(f"{change}/", f"{change}0"), (read, f"{read}{one.offset:019}")]
    return tuple(ranges)


def _numbered(rows: DataFrame) -> DataFrame:
    """Add ``number``, which counts equal rows of one LSN in one run of the connector, from 1."""
    equal = Window.partitionBy("lsn", "tx", "op", "hash").orderBy("made_ms", "partition", "offset")
    begins = F.col("made_ms") - F.lag("made_ms").over(equal) >= RUN_MS
    runs = rows.withColumn("run", F.sum(F.coalesce(begins, F.lit(False)).cast("int")).over(equal))
    within = Window.partitionBy("lsn", "tx", "op", "hash", "run").orderBy("made_ms", "partition", "offset")
    return runs.withColumn("number", F.row_number().over(within))
