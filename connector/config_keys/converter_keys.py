"""JsonConverter's own properties, which a configuration brings in by naming the converter (Kafka ``JsonConverterConfig``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connector.config_keys.kafka_checks import one_of_any_case
from connector.config_keys.key import Key

JSON_CONVERTER: Final = "org.apache.kafka.connect.json.JsonConverter"

_JSON: Final[tuple[Key, ...]] = (
    Key(
        "decimal.format",
        "STRING",
        "BASE64",
        "LOW",
        "Decimal Format",
        "Whether decimals are written as base64 bytes or as numbers.",
        group="Serialization",
        width="MEDIUM",
        checks=(one_of_any_case("NUMERIC", "BASE64"),),
        framework=True,
    ),
    Key(
        "converter.type",
        "STRING",
        None,
        "LOW",
        "converter.type",
        "Whether keys or values are converted; set by the worker.",
        required=True,
        framework=True,
        fixed_order=-1,
    ),
    Key(
        "schemas.cache.size",
        "INT",
        "1000",
        "HIGH",
        "Schema Cache Size",
        "How many schemas are remembered.",
        group="Schemas",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
    Key(
        "replace.null.with.default",
        "BOOLEAN",
        "true",
        "LOW",
        "Replace null with default",
        "Write a field's default where its value is null.",
        group="Serialization",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
    Key(
        "schemas.enable",
        "BOOLEAN",
        "true",
        "HIGH",
        "Enable Schemas",
        "Write the schema beside each key or value.",
        group="Schemas",
        width="MEDIUM",
        framework=True,
    ),
    Key(
        "schema.content",
        "STRING",
        None,
        "HIGH",
        "Schema Content",
        "Schema to use where a message carries none; a source connector has no use for it.",
        group="Schemas",
        width="MEDIUM",
        framework=True,
        fixed_order=2,
    ),
)


_LISTED: Final = ("converter.type", "schemas.enable", "schemas.cache.size", "schema.content", "decimal.format", "replace.null.with.default")
JSON_KEYS: Final = tuple(sorted(_JSON, key=lambda key: _LISTED.index(key.name)))
"""The same in the order in which Connect lists a converter's properties; in a checked configuration the order is another."""


def converter_keys(settings: Mapping[str, str]) -> list[tuple[Key, str | None, str]]:
    """Rows, values and full names of the properties of JsonConverter, for each side whose converter is set to it."""
    rows: list[tuple[Key, str | None, str]] = []
    for side in ("key", "value"):
        if settings.get(f"{side}.converter", "").strip() != JSON_CONVERTER:
            continue
        for key in _JSON:
            default = side if key.name == "converter.type" else key.default
            name = f"{side}.converter.{key.name}"
            rows.append((key, settings.get(name, default), name))
    return rows
