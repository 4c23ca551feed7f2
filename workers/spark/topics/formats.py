"""The formats of topics: how their records are cut, and the source of their schemas.

Each format has a module of its own. It turns Kafka's records into cut records (:mod:`workers.spark.topics.records`) and schemas into
layouts (:mod:`workers.spark.topics.layouts`), each with what reads its payloads. All that follows is the same for every format.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame

from workers.spark.source.catalog import Catalog
from workers.spark.topics.arrow_records import ArrowRecords
from workers.spark.topics.cloud_events.avro_data import CloudEventAvroSchemas, cut_cloud_events_avro
from workers.spark.topics.cloud_events.json_data import CloudEventSchemas, cut_cloud_events
from workers.spark.topics.ext_json import cut_ext_json, ext_json_language
from workers.spark.topics.id_place import CONFLUENT, IdPlace
from workers.spark.topics.json_schema import cut_json_schema, json_schema_language
from workers.spark.topics.json_schemas import JsonSchemas
from workers.spark.topics.protobuf.schema import protobuf_language
from workers.spark.topics.records import Cut, Embedded, cut_json, json_cut
from workers.spark.topics.registered import RegisteredSchemas, avro_language
from workers.spark.topics.registry import SchemaRegistry
from workers.spark.topics.survey import AVRO_SIGNS, Group, Signs, json_signs
from workers.spark.topics.topic import Schemas, Texts


@dataclass(frozen=True, slots=True)
class Format:
    """A converter's format. ``cut`` converts Kafka's records into cut records (:mod:`workers.spark.topics.records`)."""

    cut: Cut
    schemas: Schemas
    signs: Signs
    cut_usual: Callable[[Sequence[Embedded]], Cut] | None = None
    """``cut`` for records of which many are known to have these schemas. None for a format that does not embed schemas."""
    embedded: Callable[[DataFrame], Texts] | None = None
    """The schemas that these records of Kafka embed. None for such a format."""
    embedded_in: Callable[[ArrowRecords, Sequence[Group]], Texts] = lambda _records, _groups: {}
    """Those that the records of these groups embed, as far as Python can read them."""
    json: bool = False
    """Whether the values and keys of cut records are JSON, as JsonConverter writes it, in columns of text."""


def json_format(placeholder: str, catalog: Catalog | None) -> Format:
    """JsonConverter's format, with and without schemas."""
    schemas, signs = JsonSchemas(placeholder, catalog), json_signs(placeholder)
    return Format(cut_json, schemas, signs, lambda usual: json_cut(usual=usual), schemas.embedded, schemas.embedded_in, json=True)


def cloud_events_format(placeholder: str, catalog: Catalog | None) -> Format:
    """The format of Debezium's CloudEventsConverter, whose keys are JsonConverter's."""
    return Format(cut_cloud_events, CloudEventSchemas(placeholder, catalog), json_signs(placeholder))


def cloud_events_avro_format(placeholder: str, registry: SchemaRegistry, place: IdPlace) -> Format:
    """The format of Debezium's CloudEventsConverter with data in Avro. Keys are JsonConverter's or AvroConverter's."""
    return Format(partial(cut_cloud_events_avro, place=place), CloudEventAvroSchemas(placeholder, registry, place), AVRO_SIGNS)


def avro_format(placeholder: str, registry: SchemaRegistry, place: IdPlace = CONFLUENT) -> Format:
    """The format of AvroConverter, Confluent's and Apicurio's. ``place`` is where records have the ids of their schemas."""
    return Format(place.cut, RegisteredSchemas(placeholder, registry, avro_language(), place), AVRO_SIGNS)


def ext_json_format(placeholder: str, registry: SchemaRegistry) -> Format:
    """The format of Apicurio's ExtJsonConverter."""
    return Format(
        cut_ext_json, RegisteredSchemas(placeholder, registry, ext_json_language(), CONFLUENT), json_signs(placeholder), json=True
    )


def json_schema_format(placeholder: str, registry: SchemaRegistry) -> Format:
    """The format of Confluent's JsonSchemaConverter."""
    return Format(cut_json_schema, RegisteredSchemas(placeholder, registry, json_schema_language(), CONFLUENT), json_signs(placeholder))


def protobuf_format(placeholder: str, registry: SchemaRegistry, catalog: Catalog | None) -> Format:
    """The format of Confluent's ProtobufConverter."""
    place = IdPlace(messages=True)
    return Format(place.cut, RegisteredSchemas(placeholder, registry, protobuf_language(catalog), place), AVRO_SIGNS)
