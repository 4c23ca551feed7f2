"""The format of the topics of a configuration, with the registry that has its schemas."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from workers.spark.jobs.mirror_config import ID_BYTES, MirrorConfig, RegistryConfig
from workers.spark.source.relation import catalog_of
from workers.spark.topics.apicurio import ApicurioRegistry, UseId, generation_of
from workers.spark.topics.formats import (
    Format,
    avro_format,
    cloud_events_avro_format,
    cloud_events_format,
    ext_json_format,
    json_format,
    json_schema_format,
    protobuf_format,
)
from workers.spark.topics.id_place import IdPlace
from workers.spark.topics.registry import RegistryAuth, SchemaRegistry


def format_of(config: MirrorConfig) -> Format:
    """The format of the configuration's topics."""
    if config.registry is None or config.schema_type is None:
        build = cloud_events_format if config.format == "cloud-events" else json_format
        return build(config.placeholder, None if config.dsn is None else catalog_of(config.dsn))
    registry, place = _registry(config.registry, config.schema_type)
    match config.format:
        case "cloud-events-avro":
            # The data of a CloudEvent has no header, whatever the default of the registry's converters is.
            return cloud_events_avro_format(config.placeholder, registry, replace(place, size=place.size or ID_BYTES["4-bytes"]))
        case "ext-json":
            return ext_json_format(config.placeholder, registry)
        case "protobuf":
            return protobuf_format(config.placeholder, registry, None if config.dsn is None else catalog_of(config.dsn))
        case "json-schema":
            return json_schema_format(config.placeholder, registry)
        case _:
            return avro_format(config.placeholder, registry, place)


def _registry(known: RegistryConfig, kind: str) -> tuple[SchemaRegistry, IdPlace]:
    """The registry, and where records have the ids of their schemas, by default as the registry's own converters write them."""
    auth = RegistryAuth(known.user, known.password, known.token, None if known.ca is None else Path(known.ca))
    generation = generation_of(known.url)
    use_id: UseId = "globalId" if known.use_id == "globalId" or (known.use_id is None and generation == 2) else "contentId"
    place = IdPlace(ID_BYTES[known.id_place or ("headers" if generation == 2 else "4-bytes")], use_id)
    return (SchemaRegistry(known.url, auth, kind) if generation is None else ApicurioRegistry(known.url, use_id, auth, kind)), place
