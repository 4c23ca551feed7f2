"""Records of Debezium's CloudEventsConverter with Avro: the event in JSON or in Avro, its data in Avro.

An event in JSON has the data in base64. An event in Avro is a record of AvroConverter, whose last field is the data. The data is a record
of AvroConverter too, with a schema of its own: the zero byte and the schema's id are before it, and the attribute ``dataschema`` ends with
the id (Debezium documentation, "Exporting CloudEvents"). Keys are those of another converter: of AvroConverter or of JsonConverter.

The payload of a cut record is a struct: ``made`` (Kafka's time of the record, since a CloudEvent does not say when it was made),
``attributes`` (of an event in JSON), ``body`` (the data of an event in JSON, or the whole event in Avro).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import StructType

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.topics.avro import bare_schema, connect_schema, read_avro, schema_id
from workers.spark.topics.cloud_events.json_data import (
    NO_OPERATION,
    PREFIX,
    SEAM,
    SOURCE_ATTRIBUTES,
    TRANSACTION_ATTRIBUTES,
    block,
    envelope_of,
)
from workers.spark.topics.id_place import NO_ID, IdPlace, SchemaName, Side, is_hashed
from workers.spark.topics.json_schemas import bare_key, columns_of
from workers.spark.topics.known import Unreadable
from workers.spark.topics.layouts import Layout, connect_layout, read_json
from workers.spark.topics.records import cut_key, schema_text
from workers.spark.topics.registered import Language, RegisteredSchemas
from workers.spark.topics.registry import SchemaRegistry
from workers.spark.topics.survey import Group, sampled
from workers.spark.topics.topic import Text, Texts
from workers.spark.types import Schema
from workers.spark.types.binding import let

_AVRO: Final = "application/avro"
_DATA_SCHEMA: Final = r"/schemas/ids/(-?\d+)$"
_FRONT: Final = ("id", "source", "specversion", "type", "time", "datacontenttype", "dataschema")
"""The fields with which every event in Avro begins. All are text, so they are read without the event's schema."""
_FRONT_SCHEMA: Final = json.dumps(
    {"type": "record", "name": "front", "fields": [{"name": name, "type": "string"} for name in _FRONT]},
)
_CONFLUENT: Final = 4
_JSON_KEY: Final = -(2**63)
"""The bit that layouts of keys in JSON have, so that they are no ids."""
_CUT: Final = ("topic", "partition", "offset", "timestamp", "layout", "value", "key_layout", "key", "came", "left")


def cut_cloud_events_avro(records: DataFrame, place: IdPlace) -> DataFrame:
    """``records`` of CloudEventsConverter with Avro as cut records (:mod:`workers.spark.topics.records`).

    ``place`` is where the data, the event in Avro and the key have their schema's id. A layout is a hash of the ids.
    """
    return _found(records, place).select(*_CUT)


def _found(records: DataFrame, place: IdPlace) -> DataFrame:
    """The cut records with ``data_id`` (null for a value that is not read), ``has_op``, ``is_json_key`` and ``json_schema``."""
    cut = cut_key(place.cut(records)).withColumn("json_schema", schema_text("key"))
    text = F.col("value").cast("string")
    head = cut.withColumn("head", F.when(text.startswith("{"), F.split(text, SEAM, 2)[0]))
    parsed = head.withColumns({"attributes": _attributes(), "data": _data(), "front": _front()})
    is_json = (F.col("attributes")["specversion"].isNotNull()) & (F.col("attributes")["datacontenttype"] == _AVRO)
    is_avro = (F.col("front")["specversion"].isNotNull()) & (F.col("front")["datacontenttype"] == _AVRO)
    own = F.regexp_extract(F.col("front")["dataschema"], _DATA_SCHEMA, 1).try_cast("bigint")
    number = F.when(is_json, schema_id(F.col("data"), place.size + 1)).when(is_avro, own)
    has_op = F.when(is_json, F.col("attributes")[f"{PREFIX}op"].isNotNull()).otherwise(F.lit(True))
    known = parsed.withColumns(
        {"event_id": F.col("layout"), "data_id": number, "has_op": has_op, "is_json_key": F.col("key_layout") == NO_ID}
    )
    body = F.when(is_json, F.col("data")).otherwise(F.col("value"))
    payload = F.struct(F.unix_millis("timestamp").alias("made"), "attributes", body.alias("body"))
    json_key = F.col("json_layout").bitwiseOR(F.lit(_JSON_KEY))
    return known.withColumns(
        {
            "layout": F.when(F.col("data_id").isNotNull(), F.xxhash64("layout", "data_id", "has_op")),
            "value": F.when(F.col("value").isNotNull(), payload),
            "key_layout": F.when(F.col("is_json_key"), json_key).otherwise(F.col("key_layout")),
            "key": F.when(F.col("is_json_key"), F.col("json_key").cast("binary")).otherwise(F.col("key")),
        }
    )


def _attributes() -> Column:
    """The attributes of an event in JSON; null for anything else."""
    seamed = F.octet_length("head") < F.octet_length("value")
    # The names of two attributes differ in the case of a letter only (iodebeziumtxId, iodebeziumtxid): a map tells them apart.
    return F.when(seamed, F.from_json(F.concat("head", F.lit("}")), "map<string, string>"))


def _data() -> Column:
    """The data of an event in JSON, which is text in quotes before the last brace; null for anything else."""
    start = F.octet_length("head") + len(SEAM) + 2
    return F.try_to_binary(F.substring("value", start, F.octet_length("value") - start - 1).cast("string"), F.lit("base64"))


def _front() -> Column:
    """The first fields of an event in Avro; null for anything else."""
    # Other bytes are not decoded: they might say that a text of gigabytes follows.
    event = F.col("layout").isNotNull() & F.contains(F.col("value"), F.lit(_AVRO.encode()))
    return from_avro(F.when(event, F.col("value")), _FRONT_SCHEMA, {"mode": "PERMISSIVE"})


# --- values


def cloud_events_language(header: int) -> Language:
    """The schemas of the data and of the event, as one text. ``header`` is the number of bytes before the data."""
    return Language("CloudEventsConverter", _connect, lambda text: partial(_read, **json.loads(text), header=header))


def text_of(number: int, data: str, event: str | None, *, has_op: bool) -> str:
    """The schemas of the data and of the event (None for an event in JSON) as one text, which :class:`Language` reads."""
    return json.dumps({"number": number, "data": data, "event": event, "has_op": has_op})


def _connect(text: str) -> Schema:
    known = json.loads(text)
    schema = connect_schema(known["data"])
    has_op = known["has_op"] if known["event"] is None else f"{PREFIX}op" in _names(connect_schema(known["event"]))
    if not has_op and not _is_whole(schema):
        raise JobError(UNREADABLE, NO_OPERATION)
    return envelope_of(schema)


def _names(schema: Schema) -> list[str]:
    fields = schema.get("fields")
    return [str(field["field"]) for field in fields] if isinstance(fields, list) else []


def _is_whole(schema: Schema) -> bool:
    """Whether the data is the whole event, as with ``metadata.source=header``."""
    return {"op", "source"} <= set(_names(schema))


def _read(payload: Column, of: StructType, *, number: int, data: str, event: str | None, has_op: bool, header: int) -> Column:
    """The reader of payloads (:data:`workers.spark.topics.layouts.Reader`)."""
    del has_op  # Checked when the layout became known.
    read = partial(_envelope, of=of, data=data, made=payload["made"], header=header)
    if event is None:
        attributes = payload["attributes"]
        return F.when(payload.isNotNull(), read(payload["body"], attribute=lambda name: attributes[name]))
    document = json.loads(bare_schema(event))
    names = [field["name"] for field in document["fields"]]
    # Spark takes names that differ in the case of a letter only for one. The encoding has no names.
    places = {name: f"f{place}" for place, name in enumerate(names)}
    document["fields"] = [{**field, "name": places[field["name"]]} for field in document["fields"]]

    def inner(once: Column) -> Column:
        octets = once.getField(places["data"])
        wrong = F.raise_error(F.lit("The data of a CloudEvent has another schema than its attribute dataschema says."))
        checked = F.when(schema_id(octets, header) == number, octets).otherwise(wrong.cast("binary"))
        return read(checked, attribute=lambda name: once.getField(places[name]).cast("string") if name in places else F.lit(None))

    return F.when(payload.isNotNull(), let(from_avro(payload["body"], json.dumps(document), {"mode": "FAILFAST"}), inner))


def _envelope(octets: Column, of: StructType, data: str, made: Column, header: int, attribute: Callable[[str], Column]) -> Column:
    """The event of its data and its attributes, as ``of``."""
    schema = connect_schema(data)
    whole = _is_whole(schema)
    source = next(field.dataType for field in of.fields if field.name == "source")
    of_source = {field: known for field, known in SOURCE_ATTRIBUTES.items() if field in source.fieldNames()}
    described = {
        "op": attribute(f"{PREFIX}op"),
        "ts_ms": made,
        "source": block(of_source, attribute),
        "transaction": block(TRANSACTION_ATTRIBUTES, attribute),
    }
    inside = StructType([field for field in of.fields if field.name in _names(schema) and (whole or field.name not in described)])

    def joined(once: Column | None) -> Column:
        parts = {} if whole else dict(described)
        if once is not None:
            parts |= {name: once.getField(name) for name in inside.names}
        return F.struct(*(parts.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in of.fields))

    return let(read_avro(octets, data, inside, header), joined) if inside.fields else joined(None)


# --- schemas


class CloudEventAvroSchemas(RegisteredSchemas):
    """Finds the schemas of groups in a registry: those of the data, of the event and of the key."""

    def __init__(self, placeholder: str, registry: SchemaRegistry, place: IdPlace) -> None:
        super().__init__(placeholder, registry, cloud_events_language(place.size + 1), place)

    def of(self, records: DataFrame, groups: Sequence[Group]) -> Texts:
        """The schemas of ``groups`` (see :data:`workers.spark.topics.topic.Texts`). Raises JobError when the registry cannot be reached."""
        samples = sampled(records, groups)
        names = self._place.names(samples)
        columns = ("topic", "partition", "offset", "layout", "key_layout", "event_id", "data_id", "has_op", "is_json_key", "json_schema")
        rows = _found(samples, self._place).select(*columns, F.col("key").cast("string").alias("key")).collect()
        return {
            (row["topic"], row["layout"], row["key_layout"]): self._readable(
                row, names.get((row["topic"], row["partition"], row["offset"]), {})
            )
            for row in rows
        }

    def layout(self, value: str, key: str | None) -> Layout:
        """The layout that the texts describe. Raises JobError when they do not describe a table."""
        connect = self._language.connect(value)
        reads_value = self._language.reader(value)
        if key is None:
            return replace(connect_layout(connect, None, self._placeholder), reads_value=reads_value)
        document = json.loads(key)
        if document.get("type") == "struct":
            found = connect_layout(connect, document, self._placeholder)
            return replace(found, reads_value=reads_value, reads_key=lambda payload, of: read_json(payload.cast("string"), of))
        found = connect_layout(connect, connect_schema(key), self._placeholder)
        return replace(found, reads_value=reads_value, reads_key=lambda payload, of: read_avro(payload, key, of, 0))

    def _readable(self, row: Row, names: Mapping[Side, SchemaName]) -> Text | Unreadable:
        place = f"partition {row['partition']}, offset {row['offset']}"
        if row["data_id"] is None:
            return Unreadable(f"{place}: {_NO_AVRO}")
        if row["event_id"] is not None and self._place.size != _CONFLUENT:
            return Unreadable(f"{place}: {_LONG_IDS}")
        try:
            value = self._value(row, names.get("value"))
            if isinstance(value, Unreadable):
                return Unreadable(f"{place}: {value.reason}")
            key = self._key(row, names.get("key"), columns_of(dict(self._language.connect(value))))
            if isinstance(key, Unreadable):
                return Unreadable(f"{place}: {key.reason}")
            self.layout(value, key)
        except json.JSONDecodeError:
            return Unreadable(f"{place}: its key is neither JSON nor Avro. Use JsonConverter or AvroConverter for keys.")
        except (ValueError, KeyError, TypeError, AttributeError):
            return Unreadable(f"{place}: its schema is not one that CloudEventsConverter writes")
        except JobError as error:
            return Unreadable(f"{place}: {error}")
        return Text(value, key)

    def _value(self, row: Row, event: SchemaName | None) -> str | Unreadable:
        data = self._registry.schema(row["data_id"])
        whole = None if row["event_id"] is None or event is None else self._registry.schema(event.key)
        if isinstance(data, Unreadable):
            return data
        return whole if isinstance(whole, Unreadable) else text_of(row["data_id"], data, whole, has_op=row["has_op"])

    def _key(self, row: Row, name: SchemaName | None, columns: Sequence[Mapping[str, Any]]) -> str | Unreadable | None:
        if row["key_layout"] is None:
            return None
        if not row["is_json_key"]:
            return self._registry.schema(name.key if name is not None and is_hashed([row["key_layout"]]) else row["key_layout"])
        known: str | None = row["json_schema"] or bare_key(row["key"], {column["field"]: column for column in columns})
        return known


_NO_AVRO: Final = "it is not a CloudEvent whose data is Avro with a schema's id. Set data.serializer.type=avro in CloudEventsConverter"
_LONG_IDS: Final = (
    "it is a CloudEvent in Avro, which names the schema of its data by four bytes only. Remove id-handler=Legacy8ByteIdHandler from the "
    "converter (2.x: set as-confluent=true), or set serializer.type=json."
)
