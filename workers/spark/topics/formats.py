"""The formats of topics: how their records are cut, and the source of their schemas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from workers.spark.source.catalog import Catalog
from workers.spark.topics.avro_schemas import AvroSchemas, cut_avro
from workers.spark.topics.json_schemas import JsonSchemas
from workers.spark.topics.records import cut_json
from workers.spark.topics.registry import SchemaRegistry
from workers.spark.topics.survey import AVRO_SIGNS, Signs, json_signs
from workers.spark.topics.topic import Schemas


@dataclass(frozen=True, slots=True)
class Format:
    """A converter's format. ``cut`` converts Kafka's records into cut records (:mod:`workers.spark.topics.records`)."""

    cut: Callable[[DataFrame], DataFrame]
    schemas: Schemas
    signs: Signs


def json_format(placeholder: str, catalog: Catalog | None) -> Format:
    """JsonConverter's format, with and without schemas."""
    return Format(cut_json, JsonSchemas(placeholder, catalog), json_signs(placeholder))


def avro_format(placeholder: str, registry: SchemaRegistry) -> Format:
    """The format of Confluent's AvroConverter."""
    return Format(cut_avro, AvroSchemas(placeholder, registry), AVRO_SIGNS)
