"""The transformation, predicate and converter classes of Connect 4.3 and Debezium, and the search for a class by name."""

from __future__ import annotations

from typing import Final

from connector.config.keys.versions import BadVersionError, newest
from connector.configdef.class_names import find_class
from connector.configdef.key import CONNECTOR_CLASS, SINCE_3_7, UNTIL_2, VERSIONS
from connector.emulation import emulation_of

CONNECT_VERSION: Final = "4.3.0"
"""The version of Kafka's own classes."""
UNDEFINED: Final = "undefined"
"""What Connect takes for the version of a class that declares none."""

_KAFKA: Final = "org.apache.kafka.connect."
_KAFKA_TRANSFORMATIONS: Final = tuple(
    f"{_KAFKA}transforms.{name}"
    for name in (
        "Cast$Key",
        "Cast$Value",
        "DropHeaders",
        "ExtractField$Key",
        "ExtractField$Value",
        "Filter",
        "Flatten$Key",
        "Flatten$Value",
        "HeaderFrom$Key",
        "HeaderFrom$Value",
        "HoistField$Key",
        "HoistField$Value",
        "InsertField$Key",
        "InsertField$Value",
        "InsertHeader",
        "MaskField$Key",
        "MaskField$Value",
        "RegexRouter",
        "ReplaceField$Key",
        "ReplaceField$Value",
        "SetSchemaMetadata$Key",
        "SetSchemaMetadata$Value",
        "TimestampConverter$Key",
        "TimestampConverter$Value",
        "TimestampRouter",
        "ValueToKey",
    )
)
_DEBEZIUM_TRANSFORMATIONS: Final = tuple(
    f"io.debezium.{name}"
    for name in (
        "connector.postgresql.transforms.DecodeLogicalDecodingMessageContent",
        "connector.postgresql.transforms.timescaledb.TimescaleDb",
        "transforms.ByLogicalTableRouter",
        "transforms.EnforceRecordSize",
        "transforms.ExtractChangedRecordState",
        "transforms.ExtractNewRecordState",
        "transforms.ExtractSchemaToNewRecord",
        "transforms.GeometryFormatTransformer",
        "transforms.HeaderToValue",
        "transforms.SchemaChangeEventFilter",
        "transforms.SwapGeometryCoordinates",
        "transforms.TimezoneConverter",
        "transforms.VectorToJsonConverter",
        "transforms.openlineage.OpenLineage",
        "transforms.outbox.EventRouter",
        "transforms.partitions.PartitionRouting",
        "transforms.tracing.ActivateTracingSpan",
    )
)
_DEBEZIUM_TRANSFORMATIONS_UNTIL_2: Final = tuple(
    f"io.debezium.transforms.{name}"
    for name in (
        "ByLogicalTableRouter",
        "ExtractChangedRecordState",
        "ExtractNewRecordState",
        "HeaderToValue",
        "outbox.EventRouter",
        "partitions.ComputePartition",
        "partitions.PartitionRouting",
        "tracing.ActivateTracingSpan",
    )
)
_DEBEZIUM_TRANSFORMATIONS_SINCE_3_7: Final = tuple(
    sorted((*_DEBEZIUM_TRANSFORMATIONS, "io.debezium.transforms.Neo4jCudConverter", "io.debezium.transforms.ToLogicalTopicRouter"))
)
_OF_DEBEZIUM: Final = {
    **dict.fromkeys(VERSIONS, _DEBEZIUM_TRANSFORMATIONS),
    **dict.fromkeys(UNTIL_2, _DEBEZIUM_TRANSFORMATIONS_UNTIL_2),
    **dict.fromkeys(SINCE_3_7, _DEBEZIUM_TRANSFORMATIONS_SINCE_3_7),
}

TRANSFORMATIONS: Final[dict[str, tuple[str, ...]]] = {version: _OF_DEBEZIUM[version] + _KAFKA_TRANSFORMATIONS for version in VERSIONS}
"""For each emulated version, its classes in Connect's order."""

PREDICATES: Final[tuple[str, ...]] = tuple(
    f"{_KAFKA}transforms.predicates.{name}" for name in ("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")
)

CONVERTERS: Final[tuple[str, ...]] = (
    "io.debezium.converters.BinaryDataConverter",
    "io.debezium.converters.ByteArrayConverter",
    *(
        f"{_KAFKA}{name}"
        for name in (
            "converters.BooleanConverter",
            "converters.ByteArrayConverter",
            "converters.DoubleConverter",
            "converters.FloatConverter",
            "converters.IntegerConverter",
            "converters.LongConverter",
            "converters.ShortConverter",
            "json.JsonConverter",
            "storage.StringConverter",
        )
    ),
)

CONVERTERS_SINCE_3_7: Final[tuple[str, ...]] = tuple(sorted((*CONVERTERS, "io.debezium.converters.CloudEventsConverter")))
"""Connect 4.3 cannot load the converter of CloudEvents of earlier versions, so it does not list it."""

HEADER_CONVERTERS: Final[tuple[str, ...]] = (*CONVERTERS[:-1], f"{_KAFKA}storage.SimpleHeaderConverter", CONVERTERS[-1])

_OF_OTHER_KINDS: Final = (
    ((CONNECTOR_CLASS,), "Connector"),
    (PREDICATES, "Predicate"),
    (CONVERTERS, "Converter"),
    (HEADER_CONVERTERS, "HeaderConverter"),
)

ABSTRACT: Final = frozenset(name.partition("$")[0] for name in _KAFKA_TRANSFORMATIONS if "$" in name)
"""The classes of which ``$Key`` and ``$Value`` are the usable ones."""


def find_any_class(text: str, emulated: str) -> str | None:
    """Return the class of any kind that ``text`` names, by its full or short name; None if there is none."""
    if text in ABSTRACT:
        return text
    kinds = ((TRANSFORMATIONS[emulated], "Transformation"), *_OF_OTHER_KINDS)
    found = {find_class(text, names, suffix) for names, suffix in kinds} - {None}
    return found.pop() if len(found) == 1 else None


def class_version(name: str, emulated: str) -> str:
    """Return Connect's version of the class ``name``: :data:`UNDEFINED` for a class of a Debezium that declares none."""
    if name.startswith(_KAFKA):
        return CONNECT_VERSION
    return emulated if emulation_of(emulated).has_plugin_versions else UNDEFINED


def version_problem(name: str, emulated: str, wanted: str | None, *, kinds: int = 1) -> BadVersionError | None:
    """Return the error with Connect's message if the class ``name`` does not exist in the version ``wanted``; else None.

    The message lists a version once for each of the ``kinds`` of plugin that the class is.
    """
    if wanted is None:
        return None
    try:
        newest(wanted, name, (class_version(name, emulated),) * kinds)
    except BadVersionError as problem:
        return problem
    return None
