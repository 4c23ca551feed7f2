"""Kafka's records, and each cut into what names its layout and what it carries. No schema is needed yet, and no JSON is parsed.

JsonConverter with ``schemas.enable=true`` writes its schema, some kilobytes of it, before every payload. The cut finds the end
of the schema by its bytes, so that the text is hashed and dropped before anything is parsed: 1.2 µs a record of 4 KB where
``from_json`` of the whole takes 14 µs (2 cores).

A *cut record* has ``topic, partition, offset, timestamp``; ``layout`` (which schema the value has) and ``value``
(the payload, null for a tombstone); ``key_layout`` and ``key`` likewise; ``came`` and ``left`` (whether Debezium's header says that
the row came from another key, or left for one).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

OLD_KEY: Final = "__debezium.oldkey"
NEW_KEY: Final = "__debezium.newkey"
"""Headers of a primary key's update (Debezium documentation, "Primary key updates")."""

_HEAD: Final = '{"schema":'
_SEAM: Final = '},"payload":'
_CLIENT: Final[Mapping[str, str]] = {
    # Committed records only: a worker with exactly-once support leaves aborted ones behind (KIP-618).
    "kafka.isolation.level": "read_committed",
    # An unreachable broker is told in seconds; the clients' own patience is a minute, tried three times over.
    "kafka.request.timeout.ms": "10000",
    "kafka.default.api.timeout.ms": "10000",
    "fetchOffset.numRetries": "1",
    "includeHeaders": "true",
}


def topics_of(prefix: str) -> str:
    """The pattern (Java's) of all topics under a ``topic.prefix``."""
    return re.escape(prefix) + r"\..+"


def read_records(spark: SparkSession, bootstrap: str, pattern: str, options: Mapping[str, str] | None = None) -> DataFrame:
    """Records from first to last, once, of the topics whose whole name matches ``pattern``; ``options`` are the Kafka source's own."""
    settings = {**_options(bootstrap, pattern), "startingOffsets": "earliest", "endingOffsets": "latest", **(options or {})}
    return spark.read.format("kafka").options(**settings).load()


def stream_records(spark: SparkSession, bootstrap: str, pattern: str, options: Mapping[str, str] | None = None) -> DataFrame:
    """The same as a stream, from the first record on and without end.

    Topics that come later are followed. Records that Kafka has removed before they were read stop the stream: a mirror without
    them would be wrong.
    """
    settings = {**_options(bootstrap, pattern), "startingOffsets": "earliest", "failOnDataLoss": "true", **(options or {})}
    return spark.readStream.format("kafka").options(**settings).load()


def _options(bootstrap: str, pattern: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": bootstrap, "subscribePattern": pattern, **_CLIENT}


def cut_json(records: DataFrame, *more: str) -> DataFrame:
    """``records`` of JsonConverter, with schemas or without, as cut records; columns ``more`` come along.

    A layout is a hash: of the embedded schema's text, or of the columns' names where none is embedded.
    """
    value_layout, value = _cut("value")
    key_layout, key = _cut("key")
    return records.select(
        "topic",
        "partition",
        "offset",
        "timestamp",
        value_layout.alias("layout"),
        value.alias("value"),
        key_layout.alias("key_layout"),
        key.alias("key"),
        *carried(),
        *more,
    )


def schema_text(name: str) -> Column:
    """The schema embedded in the binary column ``name``, as text; null without one."""
    text = F.col(name).cast("string")
    head = F.substring_index(text, _SEAM, 1)
    quick = F.concat(F.substr(head, F.lit(len(_HEAD) + 1)), F.lit("}"))
    return F.when(_seamed(name), quick).otherwise(F.from_json(text, "schema string")["schema"])


def _seamed(name: str) -> Column:
    text = F.col(name).cast("string")
    return text.startswith(_HEAD) & (F.octet_length(F.substring_index(text, _SEAM, 1)) < F.octet_length(text))


def _cut(name: str) -> tuple[Column, Column]:
    raw = F.col(name)
    text = raw.cast("string")
    # The first seam is the schema's end: inside a schema a key "payload" could only follow a struct among a default's members.
    head = F.substring_index(text, _SEAM, 1)
    size = F.octet_length(head)
    start = size + len(_SEAM) + 1
    # Bytes, not characters: Spark's substring of a text counts its way to the start.
    body = F.substring(raw, start, F.octet_length(raw) - start).cast("string")
    seamed = text.startswith(_HEAD) & (size < F.octet_length(text))
    # Whoever writes blanks or another order is understood too, at the price of a parse.
    generic = F.from_json(text, "schema string, payload string")
    wrapped = generic["schema"].isNotNull()
    names = F.json_object_keys
    bare = F.coalesce(names(F.get_json_object(text, "$.after")), names(F.get_json_object(text, "$.before")), names(text))
    layout = F.when(seamed, F.xxhash64(head)).when(wrapped, F.xxhash64(generic["schema"])).when(text.isNotNull(), F.xxhash64(bare))
    payload = F.when(seamed, body).when(wrapped, generic["payload"]).otherwise(text)
    return layout, F.nullif(payload, F.lit("null"))


def carried() -> tuple[Column, Column]:
    """What headers tell: ``came`` and ``left``."""
    return _has(OLD_KEY).alias("came"), _has(NEW_KEY).alias("left")


def _has(name: str) -> Column:
    return F.coalesce(F.exists("headers", lambda header: header["key"] == name), F.lit(False))
