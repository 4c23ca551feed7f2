"""The schemas of JsonConverter's records: embedded, or derived from the source's catalog or from the JSON itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.source.catalog import Catalog, connect_schema
from workers.spark.topics.arrow_records import ArrowRecords
from workers.spark.topics.known import Known, Unreadable
from workers.spark.topics.layouts import Layout, connect_layout, is_table
from workers.spark.topics.records import cut_json, schema_text
from workers.spark.topics.survey import Group, sampled
from workers.spark.topics.topic import Seen, Text, Texts

_SHOWN: Final = {"boolean": "boolean", "long": "int64", "double": "double"}

_PLACE: Final = "source struct<ts_ms: bigint, lsn: bigint, schema: string, table: string>, op string, __source_ts_ms bigint, __lsn bigint"
_TEXTS: Final = ("value_schema", "key_schema")


class JsonSchemas:
    """Finds the schemas of groups. ``catalog`` has the columns of events without a schema; without it the JSON's own types are used."""

    def __init__(self, placeholder: str, catalog: Catalog | None) -> None:
        self._placeholder = placeholder
        self._catalog = catalog

    def of(self, records: DataFrame, groups: Sequence[Group]) -> Texts:
        """The schemas of ``groups`` (see :data:`workers.spark.topics.topic.Texts`)."""
        return self._found(records, _with_schemas(sampled(records, groups)))

    def embedded(self, records: DataFrame) -> Texts:
        """The schemas that ``records`` embed. Others would depend on all records of their topics."""
        return self._found(records, _with_schemas(records).where(F.col("value_schema").isNotNull()))

    def embedded_in(self, records: ArrowRecords, groups: Sequence[Group]) -> Texts:
        """The schemas that the records of these groups embed, as far as it is known which these are."""
        rows = [records.sample(group) for group in groups if not group.empty and records.schema(group.layout) is not None]
        return {(row["topic"], row["layout"], row["key_layout"]): self._readable(None, row) for row in rows}

    def _found(self, records: DataFrame, cut: DataFrame) -> Texts:
        return {(row["topic"], row["layout"], row["key_layout"]): self._readable(records, row) for row in cut.collect()}

    def enveloped(self, schema: str) -> str:
        """An embedded schema as that of the payload that is read. Raises JobError when it is not a change's."""
        return schema

    def check(self, event: Mapping[str, object]) -> None:
        """Raise JobError for JSON without a schema that is another format's."""
        if event.keys() == {"schemaId", "payload"}:
            raise JobError(UNREADABLE, "ExtJsonConverter wrote it. Set format to ext-json.")
        if {"specversion", "data"} <= event.keys():
            raise JobError(UNREADABLE, "CloudEventsConverter wrote it. Set format to cloud-events.")

    def _readable(self, records: DataFrame | None, row: Row | Mapping[str, Any]) -> Text | Unreadable:
        """The schemas of a cut record. ``records`` are Kafka's of the batch; a record that embeds its value's schema needs none."""
        place = f"partition {row['partition']}, offset {row['offset']}"
        try:
            value, key = self._texts(records, row["topic"], row["layout"], *(row[name] for name in (*_TEXTS, "value", "key")))
            if value is not None:
                self.layout(value, key)
        except json.JSONDecodeError as error:
            return Unreadable(f"{place}: {'its key' if error.doc != row['value'] else 'it'} is not JSON{_writer(error.doc)}")
        except (ValueError, KeyError, TypeError, AttributeError):
            return Unreadable(f"{place}: its schema is not one that JsonConverter writes")
        except JobError as error:
            return Unreadable(f"{place}: {error}")
        return Text(value, key, None if value is None else _seen(row))

    def layout(self, value: str, key: str | None) -> Layout:
        """The layout that the texts describe. Raises JobError when they do not describe a table."""
        return connect_layout(json.loads(value), None if key is None else json.loads(key), self._placeholder)

    def places(self, cut: DataFrame, wanted: Mapping[str, Sequence[Known]]) -> DataFrame:
        """The commit of each change (see :class:`workers.spark.topics.topic.Schemas`)."""
        block = F.from_json("value", _PLACE)
        ts_ms, lsn = F.coalesce(block["source"]["ts_ms"], block["__source_ts_ms"]), F.coalesce(block["source"]["lsn"], block["__lsn"])
        table = block["source"]
        named = (table["schema"].alias("schema"), table["table"].alias("table"))
        place = F.struct(ts_ms.alias("ts_ms"), lsn.alias("lsn"), *named, block["op"].alias("op"))
        some = cut.where(F.col("topic").isin(sorted(wanted)) & F.col("value").isNotNull())
        return some.select("topic", "layout", "key_layout", place.alias("b"))

    def _embedded(self, value_schema: str, key_schema: str | None, key: str | None) -> tuple[str | None, str | None]:
        whole = self.enveloped(value_schema)
        document = json.loads(whole)
        if not is_table(document):
            return None, None
        if key_schema is None and key is not None:
            # Only the key's converter leaves out the schema. The columns have the types.
            columns = {column["field"]: column for column in columns_of(document)}
            key_schema = bare_key(key, columns)
        return whole, key_schema

    def _texts(
        self,
        records: DataFrame | None,
        topic: str,
        layout: int | None,
        value_schema: str | None,
        key_schema: str | None,
        value: str,
        key: str | None,
    ) -> tuple[str | None, str | None]:
        if value_schema is not None:
            return self._embedded(value_schema, key_schema, key)
        event = json.loads(value)
        if isinstance(event, dict):
            self.check(event)
        if not isinstance(event, dict) or ("op" in event and "source" not in event) or event.get("op") == "m":
            return None, None
        assert records is not None  # noqa: S101 - see _readable
        cut = cut_json(records)
        shown = _shown(cut.where((F.col("topic") == topic) & F.col("layout").eqNullSafe(layout) & F.col("value").isNotNull()))
        source = event.get("source")
        enveloped = "op" in event and isinstance(source, dict)
        if not enveloped and "source" not in event and not _is_row(event, key):
            return None, None
        table = (str(source["schema"]), str(source["table"])) if isinstance(source, dict) and enveloped else tuple(topic.split(".")[-2:])
        listed = self._catalog(*table) if self._catalog is not None and len(table) == 2 else ()
        known = {column.name: {**connect_schema(column), "field": column.name, "optional": True} for column in listed}
        image = event.get("after") or event.get("before") if enveloped else event
        if not isinstance(image, dict):
            return None, None
        columns = [known.get(name, {"type": shown.get(name, "string"), "field": name, "optional": True}) for name in image]
        fields = [{"type": "struct", "field": side, "fields": columns} for side in ("before", "after")]
        schema = {"type": "struct", "fields": [*fields, {"field": "op"}, {"field": "source"}] if enveloped else columns}
        return json.dumps(schema), key_schema or bare_key(key, {str(column["field"]): column for column in columns})


def _seen(row: Row | Mapping[str, Any]) -> Seen | None:
    """What the payload shows, as :meth:`JsonSchemas.places` reads it; None for JSON that Python does not read."""
    try:
        event = json.loads(row["value"])
    except ValueError:
        return None
    if not isinstance(event, dict):
        return None
    block = event.get("source")
    source = block if isinstance(block, dict) else {}
    ts_ms, lsn = (_number(source.get(name), event.get(added)) for name, added in (("ts_ms", "__source_ts_ms"), ("lsn", "__lsn")))
    schema, table = source.get("schema"), source.get("table")
    named = (schema, table) if isinstance(schema, str) and isinstance(table, str) else None
    return Seen((row["partition"], row["offset"]), named, None if event.get("op") == "t" else (ts_ms, lsn))


def _number(*values: object) -> int:
    """The first of the values that is a whole number; 0 without one."""
    return next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), 0)


def _with_schemas(records: DataFrame) -> DataFrame:
    """``records`` as cut records, with the texts of their embedded schemas."""
    return cut_json(records.withColumn("value_schema", schema_text("value")).withColumn("key_schema", schema_text("key")), *_TEXTS)


def columns_of(schema: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The schemas of a row's columns, of an envelope or of the row alone."""
    fields: Sequence[Mapping[str, Any]] = schema["fields"]
    images = [field for field in fields if field["field"] == "after" and "fields" in field]
    return images[0]["fields"] if images else fields


def _writer(text: str) -> str:
    """A remedy for text that is not JSON, if its beginning shows the converter. Nothing else of the text is used."""
    if text.startswith("Struct{"):
        return ": StringConverter wrote it, whose text cannot be read back. Use another converter"
    if text.startswith("\0"):
        return ": it begins as a registry's records do. Set format"
    return ""


def bare_key(key: str | None, columns: Mapping[str, Mapping[str, object]]) -> str | None:
    """The schema of a key in JSON that has none. ``columns`` are those of the value: name → schema of the field."""
    if key is None:
        return None
    names = json.loads(key)
    if not isinstance(names, dict):
        return None
    fields = [columns.get(name, {"type": "string", "field": name}) for name in names]
    return json.dumps({"type": "struct", "fields": fields})


def _is_row(event: Mapping[str, object], key: str | None) -> bool:
    """Whether an event without an envelope is a table's row. Heartbeats and transactions are recognized by their members."""
    return not ({"ts_ms"} == event.keys() or {"status", "event_count"} <= event.keys()) and (key is None or key.startswith("{"))


def _shown(records: DataFrame) -> dict[str, str]:
    """Connect's types for the columns in the JSON: numbers and booleans have their types, all others are text."""
    image = F.coalesce(F.get_json_object("value", "$.after"), F.get_json_object("value", "$.before"), F.col("value"))
    session = records.sparkSession
    # PySpark's reader does not accept a column of texts. Java's does, and infers the types as for files.
    texts = records.select(image.alias("value"))._jdf  # noqa: SLF001
    encoder = session._jvm.org.apache.spark.sql.Encoders.STRING()  # noqa: SLF001
    schema = json.loads(session._jsparkSession.read().json(getattr(texts, "as")(encoder)).schema().json())  # noqa: SLF001
    return {
        field["name"]: _SHOWN[field["type"]] for field in schema["fields"] if isinstance(field["type"], str) and field["type"] in _SHOWN
    }
