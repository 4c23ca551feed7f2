"""Records of Apicurio's ExtJsonConverter: JsonConverter's JSON beside the id of its Connect schema.

A record is ``{"schemaId":7,"payload":…}``. The registry has the schema in the form that JsonConverter embeds. Like JsonConverter's records,
these are cut by their bytes, without parsing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.topics.id_place import NO_ID
from workers.spark.topics.layouts import read_json
from workers.spark.topics.records import carried
from workers.spark.topics.registered import Language
from workers.spark.types import Schema

_HEAD: Final = '{"schemaId":'
_SEAM: Final = ',"payload":'


def cut_ext_json(records: DataFrame) -> DataFrame:
    """``records`` of ExtJsonConverter as cut records (:mod:`workers.spark.topics.records`). A layout is a schema's id."""
    heads = [F.split(F.col(name).cast("string"), _SEAM, 2)[0].alias(f"{name}_head") for name in ("value", "key")]
    found = records.select("topic", "partition", "offset", "timestamp", "value", "key", *carried(), *heads)
    key_id = F.when(F.col("key").isNotNull(), F.coalesce(_id("key"), F.lit(NO_ID).cast("bigint")))
    cut = (_id("value").alias("layout"), _payload("value"), key_id.alias("key_layout"), _payload("key"))
    return found.select("topic", "partition", "offset", "timestamp", *cut, "came", "left")


def _id(name: str) -> Column:
    head = F.col(f"{name}_head")
    number = F.substr(head, F.lit(len(_HEAD) + 1)).try_cast("bigint")
    return F.when(head.startswith(_HEAD) & (F.octet_length(head) < F.octet_length(name)), number)


def _payload(name: str) -> Column:
    """The payload as text; null for none. A record without an id stays whole, because a value that is null would be a delete."""
    raw = F.col(name)
    start = F.octet_length(f"{name}_head") + len(_SEAM) + 1
    body = F.substring(raw, start, F.octet_length(raw) - start).cast("string")
    return F.when(_id(name).isNotNull(), F.nullif(body, F.lit("null"))).otherwise(raw.cast("string")).alias(name)


def ext_json_language() -> Language:
    """Kafka Connect's schemas, as ExtJsonConverter registers them."""
    return Language("ExtJsonConverter", _connect, lambda _text: read_json)


def _connect(text: str) -> Schema:
    schema = json.loads(text)
    if not isinstance(schema, Mapping):
        raise TypeError("The schema is not an object.")
    return schema
