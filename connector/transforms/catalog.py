"""Every transform and predicate by its class name."""

from __future__ import annotations

from typing import Final

from connector.transforms.debezium import (
    activate_tracing_span,
    by_logical_table_router,
    decode_message_content,
    enforce_record_size,
    extract_changed_record_state,
    extract_schema,
    geometry,
    header_to_value,
    open_lineage,
    schema_change_filter,
    timescaledb,
    vector_to_json,
)
from connector.transforms.debezium.neo4j import neo4j_cud_converter
from connector.transforms.debezium.new_record_state import extract_new_record_state
from connector.transforms.debezium.outbox import (
    event_router,
)
from connector.transforms.debezium.partitions import compute_partition, partition_routing
from connector.transforms.debezium.timezone import timezone_converter
from connector.transforms.kafka import filter as filter_
from connector.transforms.kafka import regex_router, set_schema_metadata, timestamp_converter, timestamp_router
from connector.transforms.kafka.fields import (
    cast,
    extract_field,
    flatten,
    hoist_field,
    insert_field,
    mask_field,
    replace_field,
    value_to_key,
)
from connector.transforms.kafka.headers import drop_headers, header_from, insert_header
from connector.transforms.kafka.predicates import PREDICATES as KAFKA_PREDICATES
from connector.transforms.scripting import content_based_router as scripting_content_based_router
from connector.transforms.scripting import filter as scripting_filter
from connector.transforms.transform import PredicateDefinition, TransformDefinition

_MODULES: Final = (
    cast,
    drop_headers,
    extract_field,
    flatten,
    header_from,
    hoist_field,
    insert_field,
    insert_header,
    mask_field,
    regex_router,
    replace_field,
    set_schema_metadata,
    timestamp_converter,
    timestamp_router,
    value_to_key,
    filter_,
    activate_tracing_span,
    by_logical_table_router,
    compute_partition,
    decode_message_content,
    enforce_record_size,
    extract_changed_record_state,
    extract_new_record_state,
    extract_schema,
    geometry,
    header_to_value,
    neo4j_cud_converter,
    open_lineage,
    partition_routing,
    schema_change_filter,
    timescaledb,
    timezone_converter,
    vector_to_json,
    event_router,
    scripting_content_based_router,
    scripting_filter,
)

TRANSFORMS: Final[dict[str, TransformDefinition]] = {
    definition.name: definition for module in _MODULES for definition in module.DEFINITIONS
}
"""Class name → definition."""
PREDICATES: Final[dict[str, PredicateDefinition]] = {definition.name: definition for definition in KAFKA_PREDICATES}
"""The same for predicates."""


def transforms_of(version: str) -> tuple[TransformDefinition, ...]:
    """Return the transforms that the emulated version has, in the order of Connect's list: by class name."""
    return tuple(TRANSFORMS[name] for name in sorted(TRANSFORMS) if version in TRANSFORMS[name].versions)
