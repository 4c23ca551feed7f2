"""The schemas of AvroConverter's records, which begin with the id of a schema in the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import LongType, StringType, StructField, StructType

from workers.spark.failure import JobError
from workers.spark.topics.avro import connect_schema, read_avro, schema_id
from workers.spark.topics.known import Known, Unreadable
from workers.spark.topics.layouts import SOURCE, Layout, connect_layout, is_table
from workers.spark.topics.records import carried
from workers.spark.topics.registry import SchemaRegistry
from workers.spark.topics.survey import Group
from workers.spark.topics.topic import Text

_PLACE: Final = StructType(
    [
        StructField("source", SOURCE),
        StructField("op", StringType()),
        StructField("__source_ts_ms", LongType()),
        StructField("__lsn", LongType()),
    ]
)


def cut_avro(records: DataFrame) -> DataFrame:
    """``records`` of AvroConverter as cut records (:mod:`workers.spark.topics.records`).

    A layout is a schema's id, a payload the whole record.
    """
    return records.select(
        "topic",
        "partition",
        "offset",
        "timestamp",
        schema_id(F.col("value")).cast("bigint").alias("layout"),
        "value",
        schema_id(F.col("key")).cast("bigint").alias("key_layout"),
        "key",
        *carried(),
    )


class AvroSchemas:
    """Finds the schemas of groups in ``registry``."""

    def __init__(self, placeholder: str, registry: SchemaRegistry) -> None:
        self._placeholder = placeholder
        self._registry = registry

    def of(self, records: DataFrame, groups: Sequence[Group]) -> Mapping[tuple[str, int | None, int | None], Text]:
        """The schemas of ``groups`` (see :data:`workers.spark.topics.topic.Texts`). Raises JobError when the registry cannot be reached."""
        del records
        return {(group.topic, group.layout, group.key_layout): self._texts(group) for group in groups}

    def layout(self, value: str, key: str | None) -> Layout:
        """The layout that the texts describe. Raises JobError when they do not describe a table."""
        found = connect_layout(connect_schema(value), None if key is None else connect_schema(key), self._placeholder)
        return replace(found, avro=(value, key))

    def places(self, cut: DataFrame, wanted: Mapping[str, Sequence[Known]]) -> DataFrame:
        """The commit of each change (see :class:`workers.spark.topics.topic.Schemas`)."""
        parts = []
        for topic, layouts in wanted.items():
            for known in layouts:
                mine = (F.col("topic") == topic) & F.col("layout").eqNullSafe(known.value) & F.col("key_layout").eqNullSafe(known.key)
                block = read_avro(F.when(mine, F.col("value")), known.value_schema or "", _PLACE)
                parts.append(cut.where(mine & F.col("value").isNotNull()).withColumn("e", block))
        block = F.col("e")
        ts_ms, lsn = F.coalesce(block["source"]["ts_ms"], block["__source_ts_ms"]), F.coalesce(block["source"]["lsn"], block["__lsn"])
        table = block["source"]
        named = (table["schema"].alias("schema"), table["table"].alias("table"))
        place = F.struct(ts_ms.alias("ts_ms"), lsn.alias("lsn"), *named, block["op"].alias("op"))
        return reduce(DataFrame.unionByName, parts).select("topic", "layout", "key_layout", place.alias("b"))

    def _texts(self, group: Group) -> Text:
        place = "partition {}, offset {}".format(*group.sample)
        if group.layout is None:
            return Unreadable(f"{place}: it does not begin as AvroConverter's records do")
        value, key = self._registry.schema(group.layout), None
        try:
            if isinstance(value, Unreadable) or not is_table(connect_schema(value)):
                return Unreadable(f"{place}: {value.reason}") if isinstance(value, Unreadable) else (None, None)
            key = None if group.key_layout is None else self._registry.schema(group.key_layout)
            if isinstance(key, Unreadable):
                return Unreadable(f"{place}: {key.reason}")
            self.layout(value, key)
        except (ValueError, KeyError, TypeError, AttributeError):
            return Unreadable(f"{place}: its schema is not one that AvroConverter writes")
        except JobError as error:
            return Unreadable(f"{place}: {error}")
        return value, key
