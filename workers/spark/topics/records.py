"""Reads Kafka's records and cuts each into its layout and its payload. This needs no schema and does not parse JSON.

JsonConverter with ``schemas.enable=true`` writes its schema, some kilobytes, before every payload. The cut finds the end of the schema
by its bytes, hashes the schema and drops it, without parsing. In 4 KB this takes 8 µs; ``from_json`` of the whole takes 12 to 18 µs
(2 cores). A schema that is expected is only compared, which takes 2 to 3 µs.

A *cut record* has ``topic, partition, offset, timestamp``; ``layout`` (which schema the value has) and ``value``
(the payload, null for a tombstone); ``key_layout`` and ``key`` likewise; ``came`` and ``left`` (whether Debezium's headers say that
the row had another key before, or has another one now).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.topics.broker import Offsets
from workers.spark.topics.patterns import whole

OLD_KEY: Final = "__debezium.oldkey"
NEW_KEY: Final = "__debezium.newkey"
"""The headers of a primary key's update (Debezium documentation, "Primary key updates")."""

_DISABLED: Final = "spark.sql.streaming.disabledV2MicroBatchReaders"
_READER: Final = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
_HEAD: Final = '{"schema":'
_SEAM: Final = '},"payload":'
_PLACE: Final = ("topic", "partition", "offset", "timestamp")
_SIDES: Final = ("value", "key")
Cut = Callable[[DataFrame], DataFrame]
"""Converts Kafka's records into cut records."""
Embedded = tuple[str | None, str | None]
"""The texts of a record's schemas, of value and key."""
_CLIENT: Final[Mapping[str, str]] = {
    # Only committed records are read: a worker with exactly-once support leaves aborted ones in the topic (KIP-618).
    "kafka.isolation.level": "read_committed",
    # An unreachable broker is reported within seconds. The clients' default is three attempts of a minute.
    "kafka.request.timeout.ms": "10000",
    "kafka.default.api.timeout.ms": "10000",
    "fetchOffset.numRetries": "1",
    # A consumer that has received records at once asks for the next ones, and Spark then asks it for the partition's end. The broker
    # answers a connection's requests in order, and by default keeps the first for 500 ms if there are no records. With two cores, 20
    # partitions of 3 records each took 7.2 to 7.8 s to read, and 1.9 to 3.7 s with at most 20 ms (busy). If there are records, none waits.
    "kafka.fetch.max.wait.ms": "5",
    "includeHeaders": "true",
    # One task for each of these numbers of records, so that all cores read a partition that holds most of a batch.
    "maxRecordsPerPartition": "20000",
}


def read_records(spark: SparkSession, bootstrap: str, pattern: str, options: Mapping[str, str] | None = None) -> DataFrame:
    """All present records of the topics whose whole name matches ``pattern``. ``options`` are those of the Kafka source."""
    settings = {**_options(bootstrap, pattern), "startingOffsets": "earliest", "endingOffsets": "latest", **(options or {})}
    return spark.read.format("kafka").options(**settings).load()


def read_range(spark: SparkSession, bootstrap: str, begins: Offsets, ends: Offsets, options: Mapping[str, str] | None = None) -> DataFrame:
    """The records of these partitions, from ``begins`` (inclusive) to ``ends`` (exclusive)."""
    assigned: dict[str, list[int]] = {}
    for topic, partition in begins:
        assigned.setdefault(topic, []).append(partition)
    settings = {
        "kafka.bootstrap.servers": bootstrap,
        "assign": json.dumps(assigned),
        "startingOffsets": _by_topic(begins),
        "endingOffsets": _by_topic(ends),
        **_CLIENT,
        **{name: value for name, value in (options or {}).items() if name.startswith("kafka.")},
    }
    return spark.read.format("kafka").options(**settings).load()


def _by_topic(offsets: Offsets) -> str:
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in offsets.items():
        found.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(found)


def stream_records(spark: SparkSession, bootstrap: str, pattern: str, options: Mapping[str, str] | None = None) -> DataFrame:
    """The records as a stream, from the first one on and without end.

    New topics are followed. Records that Kafka has removed before they were read stop the stream, because a mirror without
    them would be wrong. The session uses Spark's older reader for Kafka's streams from now on.
    """
    # The newer reader fails on the batch that is repeated after a crash (4.1.1 and 4.1.2: it reports its lag from offsets that it has not
    # fetched then). The older one does not report a lag.
    others = [reader for reader in (spark.conf.get(_DISABLED, "") or "").split(",") if reader not in ("", _READER)]
    spark.conf.set(_DISABLED, ",".join([*others, _READER]))
    settings = {**_options(bootstrap, pattern), "startingOffsets": "earliest", "failOnDataLoss": "true", **(options or {})}
    return spark.readStream.format("kafka").options(**settings).load()


def _options(bootstrap: str, pattern: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": bootstrap, "subscribePattern": whole(pattern), **_CLIENT}


def cut_json(records: DataFrame, *more: str, usual: Sequence[Embedded] = ()) -> DataFrame:
    """``records`` of JsonConverter, with or without schemas, as cut records. The columns ``more`` are kept.

    A layout is a hash of the embedded schema's text, or of the columns' names if none is embedded. ``usual`` are schemas that many records
    have. They do not change the result: a record that begins with one of them is cut without the search for the end of its schema.
    """
    return json_cut(*more, usual=usual)(records)


def json_cut(*more: str, usual: Sequence[Embedded] = ()) -> Cut:
    """:func:`cut_json` for many DataFrames. Each of its 230 expressions is a call to Java, which are made only once."""
    heads = {name: tuple(dict.fromkeys(filter(None, map(_usual_head, texts)))) for name, texts in zip(_SIDES, _sides(usual), strict=True)}
    # Spark computes each of these steps once. In a single expression it would repeat the search for every use of its result.
    begun = [*_PLACE, *_SIDES, *carried(), *more, *(_begins(name, heads[name]).alias(f"{name}_usual") for name in _SIDES if heads[name])]
    found = ["*", *(_head(name, heads[name]) for name in _SIDES)]
    # Spark does not compile from_json, so it copies what this step selects, twice. The embedded schemas are not part of it any more.
    seamed = [*_PLACE, "came", "left", *more, *(part for name in _SIDES for part in _seamed(name, heads[name]))]
    parsed = ["*", *(_parsed(name) for name in _SIDES)]
    cut = [*_PLACE, *_cut("value"), *_cut("key"), "came", "left", *more]
    return lambda records: reduce(lambda frame, step: frame.select(*step), (begun, found, seamed, parsed, cut), records)


def cut_key(records: DataFrame) -> DataFrame:
    """``records`` with ``json_layout`` and ``json_key``: the layout and the payload of a ``key`` of JsonConverter. No column is removed."""
    found = records.select("*", _head("key")).select("*", *_seamed("key"))
    layout, payload = _cut("key")
    named = found.select("*", _parsed("key")).select("*", layout.alias("json_layout"), payload.alias("json_key"))
    return named.drop("key_head", "key_hash", "key_body", "key_parsed")


def schema_text(name: str) -> Column:
    """The embedded schema in the binary column ``name``, as text; null without one."""
    text = F.col(name).cast("string")
    head = _before_seam(text)
    quick = F.concat(F.substr(head, F.lit(len(_HEAD) + 1)), F.lit("}"))
    seamed = text.startswith(_HEAD) & (F.octet_length(head) < F.octet_length(text))
    return F.when(seamed, quick).otherwise(F.from_json(text, "schema string")["schema"])


def _before_seam(text: Column) -> Column:
    """The text before the first seam. A schema contains the seam only if a default has a struct before a member named "payload"."""
    # In 4 KB this takes 6 us. Spark's substring_index and locate take 13 and 29 us, because they do not skip bytes as Java's search does.
    return F.split(text, re.escape(_SEAM), 2)[0]


def _sides(usual: Sequence[Embedded]) -> tuple[list[str | None], list[str | None]]:
    """The texts of the values' schemas, and those of the keys'."""
    return [value for value, _ in usual], [key for _, key in usual]


def _usual_head(schema: str | None) -> str | None:
    """The text of a record with the embedded ``schema`` up to the end of its first seam; None if the seam is not after the schema."""
    head = "" if schema is None else f"{_HEAD}{schema[:-1]}{_SEAM}"
    return head if head.find(_SEAM) == len(head) - len(_SEAM) else None


def _begins(name: str, heads: Sequence[str]) -> Column:
    """Which of the ``heads`` the text begins with; null for none. This compares bytes, which takes a fifth of a search."""
    text, found = F.col(name).cast("string"), F.lit(None).cast("int")
    for at, head in enumerate(heads):
        found = F.when(text.startswith(F.lit(head)), F.lit(at)).otherwise(found)
    return found


def _by_head(name: str, heads: Sequence[str], value: Callable[[bytes], Column], others: Column) -> Column:
    """The ``value`` of the text before the seam of a record that begins with one of the ``heads``, else ``others``."""
    for at, head in enumerate(heads):
        others = F.when(F.col(f"{name}_usual") == at, value(head[: -len(_SEAM)].encode())).otherwise(others)
    return others


def _head(name: str, heads: Sequence[str] = ()) -> Column:
    """The number of bytes before the seam; null without a seam."""
    text = F.col(name).cast("string")
    size = F.when(text.startswith(_HEAD), F.octet_length(_before_seam(text)))
    searched = F.nullif(size, F.octet_length(text))
    return _by_head(name, heads, lambda head: F.lit(len(head)), searched).alias(f"{name}_head")


def _seamed(name: str, heads: Sequence[str] = ()) -> tuple[Column, Column]:
    """The hash of the schema before the seam, null without a seam; and the text of the payload after it, or the whole without a seam."""
    raw, head = F.col(name), F.col(f"{name}_head")
    start = head + len(_SEAM) + 1
    # The position is in bytes, because Spark's substring of a text counts characters up to the start.
    body = F.substring(raw, start, F.octet_length(raw) - start)
    # Spark computes the hash of a literal once.
    hashed = _by_head(name, heads, lambda known: F.xxhash64(F.lit(known)), F.xxhash64(F.substring(raw, F.lit(1), head)))
    there = head.isNotNull()
    return F.when(there, hashed).alias(f"{name}_hash"), F.when(there, body).otherwise(raw).cast("string").alias(f"{name}_body")


def _parsed(name: str) -> Column:
    """The slower way, by parsing, for text with blanks or in another order."""
    parsed = F.from_json(F.col(f"{name}_body"), "schema string, payload string")
    return F.when(F.col(f"{name}_hash").isNull(), parsed).alias(f"{name}_parsed")


def _cut(name: str) -> tuple[Column, Column]:
    hashed, text, parsed = F.col(f"{name}_hash"), F.col(f"{name}_body"), F.col(f"{name}_parsed")
    wrapped = parsed["schema"].isNotNull()
    names = F.json_object_keys
    bare = F.coalesce(names(F.get_json_object(text, "$.after")), names(F.get_json_object(text, "$.before")), names(text))
    layout = F.coalesce(hashed, F.when(wrapped, F.xxhash64(parsed["schema"])).when(text.isNotNull(), F.xxhash64(bare)))
    payload = F.when(wrapped, parsed["payload"]).otherwise(text)
    return layout.alias("layout" if name == "value" else "key_layout"), F.nullif(payload, F.lit("null")).alias(name)


def carried() -> tuple[Column, Column]:
    """The columns ``came`` and ``left``, from the headers."""
    return _has(OLD_KEY).alias("came"), _has(NEW_KEY).alias("left")


def _has(name: str) -> Column:
    # Spark does not compile functions with a lambda. The plan would be interrupted for one, and each record copied there.
    return F.coalesce(F.array_contains(F.col("headers.key"), name), F.lit(False))
