"""Properties that a configuration brings in by naming transformations and predicates, and Connect's complaints about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connector.config_keys.key import Key

_KAFKA: Final = "org.apache.kafka.connect.transforms."
_DEBEZIUM: Final = "io.debezium.transforms."
_POSTGRES: Final = "io.debezium.connector.postgresql.transforms."

TRANSFORMATIONS: Final[tuple[str, ...]] = (
    _POSTGRES + "DecodeLogicalDecodingMessageContent",
    _POSTGRES + "timescaledb.TimescaleDb",
    *(
        _DEBEZIUM + name
        for name in (
            "ByLogicalTableRouter",
            "EnforceRecordSize",
            "ExtractChangedRecordState",
            "ExtractNewRecordState",
            "ExtractSchemaToNewRecord",
            "GeometryFormatTransformer",
            "HeaderToValue",
            "SchemaChangeEventFilter",
            "SwapGeometryCoordinates",
            "TimezoneConverter",
            "VectorToJsonConverter",
            "openlineage.OpenLineage",
            "outbox.EventRouter",
            "partitions.PartitionRouting",
            "tracing.ActivateTracingSpan",
        )
    ),
    *(
        _KAFKA + name
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
    ),
)
"""Classes that Connect 4.3 and Debezium 3.6.3 bring along."""

PREDICATES: Final[tuple[str, ...]] = tuple(
    f"org.apache.kafka.connect.transforms.predicates.{name}" for name in ("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")
)

_KINDS: Final = (("transforms", "Transforms", "transformation", TRANSFORMATIONS), ("predicates", "Predicates", "predicate", PREDICATES))


def step_keys(settings: Mapping[str, str]) -> list[tuple[Key, tuple[str, ...]]]:
    """Rows for the ``type`` and ``plugin.version`` of each named step, in order, with the errors of each."""
    rows: list[tuple[Key, tuple[str, ...]]] = []
    for prefix, group, noun, known in _KINDS:
        listed = settings.get(prefix, "").strip()
        for name in [entry.strip() for entry in listed.split(",")] if listed else []:
            step = f"{prefix}.{name}"
            wanted = settings.get(f"{step}.type")
            errors: tuple[str, ...] = ()
            if wanted is None:
                errors = (f'Missing required configuration "{step}.type" which has no default value.',)
            elif wanted.strip() not in known:
                errors = (f"Invalid value {wanted} for configuration {step}.type: Class {wanted} could not be found.",)
            titled = noun.capitalize()
            kind = Key(
                f"{step}.type",
                "CLASS",
                None,
                "HIGH",
                f"{titled} type for {name}",
                f"Class of the {noun} {name}.",
                group=f"{group}: {name}",
                width="LONG",
                choices=known,
                required=True,
                framework=True,
                versions=(),
            )
            version = Key(
                f"{step}.plugin.version",
                "STRING",
                None,
                "HIGH",
                f"{titled} version for {name}",
                f"Version of the class of the {noun} {name}.",
                group=f"{group}: {name}",
                width="LONG",
                framework=True,
                versions=(),
                fixed_order=1,
            )
            rows += [(kind, errors), (version, ())]
    return rows
