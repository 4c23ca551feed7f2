"""Records of Debezium's CloudEventsConverter in JSON: the events as JsonConverter would have written them.

A record is a CloudEvent in structured JSON. Its attributes ``iodebezium…`` are the fields of the event's source block, its operation and
its transaction; its ``data``, the last member, is what JsonConverter makes of the row before and after the change (Debezium documentation,
"Exporting CloudEvents"). Only the attributes are parsed, not the data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.topics.json_schemas import JsonSchemas
from workers.spark.topics.records import cut_json
from workers.spark.topics.survey import Group
from workers.spark.topics.topic import Texts
from workers.spark.types import Schema

SEAM: Final = ',"data":'
"""What is before the data. Quotes within attributes are escaped, so it is found once."""
_SCHEMA: Final = '{"schema":'
PREFIX: Final = "iodebezium"
SOURCE_ATTRIBUTES: Final = {
    "ts_ms": ("tsms", "bigint"),
    "schema": ("schema", "string"),
    "table": ("table", "string"),
    "txId": ("txId", "bigint"),
    "lsn": ("lsn", "bigint"),
    "sequence": ("sequence", "string"),
    "snapshot": ("snapshot", "string"),
}
"""Field of the source block → its attribute without the prefix, and its type. Attributes are text."""
TRANSACTION_ATTRIBUTES: Final = {
    "id": ("txid", "string"),
    "total_order": ("txtotalorder", "bigint"),
    "data_collection_order": ("txdatacollectionorder", "bigint"),
}


def cut_cloud_events(records: DataFrame) -> DataFrame:
    """``records`` of CloudEventsConverter as cut records (:mod:`workers.spark.topics.records`). Their keys are JsonConverter's."""
    return cut_json(opened(records))


def opened(records: DataFrame) -> DataFrame:
    """``records`` with each CloudEvent as JsonConverter's envelope. Values that are none, or that lack the operation, stay as they are.

    The time at which the connector made the event is Kafka's time of the record: a CloudEvent does not have it.
    """
    text = F.col("value").cast("string")
    found = records.withColumn("head", F.split(text, SEAM, 2)[0])
    start = F.octet_length("head") + len(SEAM) + 1
    seamed = F.octet_length("head") < F.octet_length("value")
    data = F.when(seamed, F.substring("value", start, F.octet_length("value") - start))
    # The names of two attributes differ in the case of a letter only (iodebeziumtxId, iodebeziumtxid): a map tells them apart.
    attributes = F.when(seamed, F.from_json(F.concat("head", F.lit("}")), "map<string, string>"))
    return (
        found.withColumns({"data": data, "attributes": attributes})
        .withColumns({"source": block(SOURCE_ATTRIBUTES, _attribute), "transaction": block(TRANSACTION_ATTRIBUTES, _attribute)})
        .withColumn("value", _event())
        .drop("head", "data", "attributes", "source", "transaction")
    )


def _attribute(name: str) -> Column:
    return F.col("attributes")[name]


def block(of: Mapping[str, tuple[str, str]], attribute: Callable[[str], Column]) -> Column:
    """The attributes as a struct of ``of``'s names; null for an event without the first of them. ``attribute`` returns one, as text."""
    first = attribute(PREFIX + next(iter(of.values()))[0])
    values = [attribute(PREFIX + name).try_cast(kind).alias(field) for field, (name, kind) in of.items()]
    return F.when(first.isNotNull(), F.struct(*values))


def _event() -> Column:
    """The envelope: the data with further members at its end."""
    data, text = F.col("data"), F.col("data").cast("string")
    op, made = _attribute(f"{PREFIX}op").alias("op"), F.unix_millis("timestamp").alias("ts_ms")
    members = F.substr(F.to_json(F.struct(op, made, "source", "transaction")), F.lit(2))
    whole = text.startswith(_SCHEMA)
    ends = F.when(whole, 2).otherwise(1)
    more = F.concat(F.lit(","), members, F.when(whole, F.lit("}")).otherwise(F.lit(""))).cast("binary")
    added = F.concat(F.substring(data, F.lit(1), F.octet_length(data) - ends), more)
    # With metadata.source=header the data is the whole event.
    complete = F.coalesce(F.get_json_object(text, "$.payload.op"), F.get_json_object(text, "$.op")).isNotNull()
    is_event = _attribute("specversion").isNotNull() & text.startswith("{")
    return F.when(is_event & op.isNotNull(), added).when(is_event & complete, data).otherwise(F.col("value"))


def envelope_of(schema: Schema) -> Schema:
    """The Connect schema of an event's data as an envelope's. Raises JobError for data that is not a change event."""
    listed = schema.get("fields")
    fields = listed if isinstance(listed, list) else []
    names = {field["field"] for field in fields}
    if not {"before", "after"} <= names:
        raise JobError(UNREADABLE, NO_EVENT)
    more = [{"field": name} for name in ("op", "source") if name not in names]
    # The name is Debezium's own, as those of schemas that are no table's.
    return {"type": "struct", "fields": [*fields, *more]} if more else schema


class CloudEventSchemas(JsonSchemas):
    """Finds the schemas of groups. The data's schema lacks the fields that are attributes."""

    def of(self, records: DataFrame, groups: Sequence[Group]) -> Texts:
        """The schemas of ``groups`` (see :data:`workers.spark.topics.topic.Texts`)."""
        return super().of(opened(records), groups)

    def enveloped(self, schema: str) -> str:
        """The embedded schema as an envelope's. Raises JobError for data that is not a change event."""
        return json.dumps(envelope_of(json.loads(schema)))

    def check(self, event: Mapping[str, object]) -> None:
        """Raise JobError for a record that is not read: another CloudEvent, or none."""
        if "specversion" not in event:
            if not {"before", "after"} <= event.keys():
                raise JobError(UNREADABLE, NO_EVENT if "op" in event else "it is not a CloudEvent. Correct format.")
        elif str(event.get("datacontenttype")).endswith("avro"):
            raise JobError(UNREADABLE, "its data is Avro. Set format to cloud-events-avro.")
        else:
            raise JobError(UNREADABLE, NO_OPERATION)


NO_OPERATION: Final = "it lacks the operation. Set extension.attributes.enable=true in the converter."
NO_EVENT: Final = "its data is not a change event with before and after. Leave out the transform that changes the events."
