"""A topic written by hand, as JsonConverter would: envelopes with their schema embedded or bare, keys, tombstones and headers."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, BinaryType, IntegerType, LongType, StringType, StructField, StructType, TimestampType

from tests.support.spark.local_frame import local_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Json = dict[str, object]
Header = tuple[str, bytes]
Record = tuple[str, int, int, datetime, bytes | None, bytes | None, list[Header]]

HEADERS = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
RECORDS = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("headers", ArrayType(HEADERS)),
    ]
)
TOPIC = "shop.public.items"
ID: Json = {"type": "int32", "optional": False, "field": "id"}
NAME: Json = {"type": "string", "optional": True, "field": "name"}
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def price(scale: int) -> Json:
    parameters = {"scale": str(scale), "connect.decimal.precision": "10"}
    return {"type": "bytes", "optional": True, "name": "org.apache.kafka.connect.data.Decimal", "parameters": parameters, "field": "price"}


def cents(unscaled: int) -> str:
    return base64.b64encode(unscaled.to_bytes(4, "big", signed=True)).decode()


class TopicLog:
    """Envelopes embed their schema if ``fields`` is set. Every change has its own LSN."""

    def __init__(self, fields: Sequence[Json] | None = (ID, NAME), *, key: Sequence[Json] = (ID,), topic: str = TOPIC) -> None:
        self.fields = fields
        self.key = key
        self.topic = topic
        self.table = topic.rsplit(".", maxsplit=1)[-1]
        self.lsn = 100
        self.tx = 500
        self.records: list[Record] = []
        self._taken = 0

    def change(
        self,
        op: str,
        row: Json | None = None,
        *,
        partition: int = 0,
        lsn: int | None = None,
        snapshot: str = "false",
        headers: Sequence[str] = (),
        made: int | None = None,
        order: int | None = None,
    ) -> None:
        """A change of a row; a delete names the row by its key and is followed by a tombstone."""
        self.lsn = self.lsn + 8 if lsn is None else lsn
        at = EPOCH + timedelta(milliseconds=self.lsn)
        source = {"schema": "public", "table": self.table, "lsn": self.lsn, "txId": self.tx, "snapshot": snapshot}
        source["ts_ms"] = int(at.timestamp() * 1000)
        transaction = None if order is None else {"id": f"{self.tx}:{self.lsn}", "total_order": order, "data_collection_order": order}
        body: Json = {
            "before": row if op == "d" else None,
            "after": None if op in "dt" else row,
            "source": source,
            "op": op,
            "ts_ms": int(at.timestamp() * 1000) if made is None else made,
            "transaction": transaction,
        }
        identity = (
            None if op == "t" or row is None or not self.key else {str(field["field"]): row[str(field["field"])] for field in self.key}
        )
        self.record(identity, body, partition=partition, headers=headers)
        if op == "d" and self.key:
            self.record(identity, None, partition=partition, headers=headers)

    def move(self, old: Json, new: Json, *, to: int = 0, partition: int = 0) -> None:
        """An update of the key: a delete of the old one and a create of the new one, with one LSN."""
        self.change("d", old, partition=partition, headers=("__debezium.newkey",))
        self.change("c", new, partition=to, lsn=self.lsn, headers=("__debezium.oldkey",))

    def record(self, key: Json | None, value: Json | None, *, partition: int = 0, headers: Sequence[str] = ()) -> None:
        offset = sum(1 for record in self.records if record[1] == partition)
        at = EPOCH + timedelta(milliseconds=len(self.records))
        carried = [(name, b"{}") for name in headers]
        self.records.append((self.topic, partition, offset, at, self._key(key), self._value(value), carried))

    def repeat(self, first: int, last: int | None = None) -> None:
        """Records ``first`` to ``last`` come once more, as from a connector that was killed."""
        for topic, partition, _, at, key, value, headers in self.records[first:last]:
            offset = sum(1 for record in self.records if record[1] == partition)
            self.records.append((topic, partition, offset, at, key, value, headers))

    def new(self) -> list[Record]:
        """What was written since the last time."""
        new, self._taken = self.records[self._taken :], len(self.records)
        return new

    def batch(self, spark: SparkSession) -> DataFrame:
        """The same, as Spark's Kafka source gives it."""
        return frame(spark, self.new())

    def _key(self, key: Json | None) -> bytes | None:
        if key is None:
            return None
        whole = key if self.fields is None else {"schema": {"type": "struct", "fields": list(self.key)}, "payload": key}
        return _compact(whole)

    def _value(self, value: Json | None) -> bytes | None:
        if value is None:
            return None
        return _compact(value if self.fields is None else {"schema": envelope_schema(self.fields), "payload": value})


def envelope_schema(fields: Sequence[Json]) -> Json:
    images = [{"type": "struct", "fields": list(fields), "optional": True, "field": side} for side in ("before", "after")]
    rest = [{"type": "struct", "field": "source"}, {"type": "string", "field": "op"}, {"type": "int64", "field": "ts_ms"}]
    return {"type": "struct", "fields": [*images, *rest], "optional": False, "name": "shop.public.items.Envelope"}


def frame(spark: SparkSession, records: Sequence[Record]) -> DataFrame:
    """Records as Spark's Kafka source gives them."""
    rows = [
        (topic, partition, offset, at, _array(key), _array(value), headers or None)
        for topic, partition, offset, at, key, value, headers in records
    ]
    return local_frame(spark, rows, RECORDS)


def _array(data: bytes | None) -> bytearray | None:
    return None if data is None else bytearray(data)


def _compact(document: Json) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
