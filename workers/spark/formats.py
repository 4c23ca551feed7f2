"""How the values of topics are written, and so how they are cut and where their schemas come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from workers.spark.avro_schemas import AvroSchemas, cut_avro
from workers.spark.json_schemas import Catalog, JsonSchemas
from workers.spark.records import cut_json
from workers.spark.registry import SchemaRegistry
from workers.spark.survey import AVRO_SIGNS, Signs, json_signs
from workers.spark.topic_layouts import Schemas


@dataclass(frozen=True, slots=True)
class Format:
    """A converter's way to write. ``cut`` makes cut records of Kafka's (:mod:`workers.spark.records`)."""

    cut: Callable[[DataFrame], DataFrame]
    schemas: Schemas
    signs: Signs


def json_format(placeholder: str, catalog: Catalog | None) -> Format:
    """JsonConverter's, with schemas and without."""
    return Format(cut_json, JsonSchemas(placeholder, catalog), json_signs(placeholder))


def avro_format(placeholder: str, registry: SchemaRegistry) -> Format:
    """Confluent's AvroConverter's."""
    return Format(cut_avro, AvroSchemas(placeholder, registry), AVRO_SIGNS)
