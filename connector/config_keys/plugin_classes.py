"""The classes that Connect 4.3 and Debezium bring along for steps and conversions, and how a configuration's text finds one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from connector.config_keys.key import CONNECTOR_CLASS, CURRENT, FORMER
from connector.config_keys.versions import BadVersionError, newest

CONNECT_VERSION: Final = "4.3.0"
"""Version of Kafka's own classes."""

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
_FORMER_DEBEZIUM_TRANSFORMATIONS: Final = tuple(
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

TRANSFORMATIONS: Final[dict[str, tuple[str, ...]]] = {
    CURRENT: _DEBEZIUM_TRANSFORMATIONS + _KAFKA_TRANSFORMATIONS,
    FORMER: _FORMER_DEBEZIUM_TRANSFORMATIONS + _KAFKA_TRANSFORMATIONS,
}
"""Played version to classes, in Connect's order."""

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

HEADER_CONVERTERS: Final[tuple[str, ...]] = (*CONVERTERS[:-1], f"{_KAFKA}storage.SimpleHeaderConverter", CONVERTERS[-1])

_OTHERS: Final = frozenset({CONNECTOR_CLASS, *PREDICATES, *HEADER_CONVERTERS})


def find_class(text: str, known: Sequence[str], *suffixes: str) -> str | None:
    """Which of ``known`` is meant: by its full name, by its simple one, or by that without a suffix, where only one has it."""
    if text in known:
        return text
    simple = [(name, name.replace("$", ".").rpartition(".")[2]) for name in known]
    named = [name for name, short in simple if text and text in (short, *map(short.removesuffix, suffixes))]
    return named[0] if len(named) == 1 else None


def is_there(text: str, played: str) -> bool:
    """Whether ``text`` is the full name of a class of any kind."""
    return text in _OTHERS or text in TRANSFORMATIONS[played]


def class_version(name: str, played: str) -> str:
    """The version Connect tells for the class ``name``. Debezium's classes told none before 3.x."""
    if name.startswith(_KAFKA):
        return CONNECT_VERSION
    return played if played != FORMER else "undefined"


def version_problem(name: str, played: str, wanted: str | None, *, kinds: int = 1) -> str | None:
    """Why the class ``name`` cannot be had in the version ``wanted``, in Connect's words; None where it can.

    Connect lists a version once for each of the ``kinds`` of plugin that the class is.
    """
    if wanted is None:
        return None
    try:
        newest(wanted, name, (class_version(name, played),) * kinds)
    except BadVersionError as problem:
        return str(problem)
    return None
