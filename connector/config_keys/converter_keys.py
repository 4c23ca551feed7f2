"""The converters' own properties, which a configuration brings in by naming a converter (Kafka ``JsonConverterConfig`` and others)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connector.config_keys.kafka_checks import one_of_any_case
from connector.config_keys.key import Key
from connector.config_keys.plugin_classes import CONVERTERS, HEADER_CONVERTERS, find_class, version_problem

JSON_CONVERTER: Final = "org.apache.kafka.connect.json.JsonConverter"
STRING_CONVERTER: Final = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE_HEADER_CONVERTER: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
SIDES: Final = ("header", "key", "value")
"""In the order in which Connect tells of their converters."""

_TYPE: Final = Key(
    "converter.type",
    "STRING",
    None,
    "LOW",
    "converter.type",
    "Whether keys or values are converted; set by the worker.",
    required=True,
    framework=True,
    fixed_order=-1,
)
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
    _TYPE,
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
_ENCODING: Final = Key(
    "converter.encoding",
    "STRING",
    "UTF-8",
    "HIGH",
    "Encoding",
    "Character set of the text.",
    width="MEDIUM",
    framework=True,
    fixed_order=-1,
)
_DELEGATE: Final = Key(
    "delegate.converter.type",
    "STRING",
    None,
    "LOW",
    "delegate.converter.type",
    "Class of the converter for all that is not bytes.",
    framework=True,
    fixed_order=-1,
)

_LISTED: Final = ("converter.type", "schemas.enable", "schemas.cache.size", "schema.content", "decimal.format", "replace.null.with.default")
JSON_KEYS: Final = tuple(sorted(_JSON, key=lambda key: _LISTED.index(key.name)))
"""The same in the order in which Connect lists a converter's properties; in a checked configuration the order is another."""
STRING_KEYS: Final = (_TYPE, _ENCODING)


def converter_class(side: str, text: str) -> str | None:
    """The converter that ``text`` names for ``side``, by its full or a short name; None for one that is not there."""
    if side == "header":
        return find_class(text, HEADER_CONVERTERS, "HeaderConverter", "Converter")
    return find_class(text, CONVERTERS, "Converter")


def converter_mismatch(side: str, settings: Mapping[str, str | None], played: str) -> str | None:
    """Why the converter that the settings name for ``side`` cannot be had in the version they ask for; None where it can."""
    found = converter_class(side, settings.get(f"{side}.converter") or "")
    if found is None:
        return None
    # Every converter but this one is there twice, for headers and for keys and values.
    kinds = 1 if found == SIMPLE_HEADER_CONVERTER else 2
    return version_problem(found, played, settings.get(f"{side}.converter.plugin.version"), kinds=kinds)


def converter_keys(settings: Mapping[str, str | None], played: str) -> list[tuple[Key, str | None, str]]:
    """Rows, values and full names of the properties of each converter that is named and can be had."""
    rows: list[tuple[Key, str | None, str]] = []
    for side in SIDES:
        found = converter_class(side, settings.get(f"{side}.converter") or "")
        if found is None or converter_mismatch(side, settings, played) is not None:
            continue
        for key in _keys_of(found):
            default = side if key.name == "converter.type" else key.default
            name = f"{side}.converter.{key.name}"
            rows.append((key, settings.get(name, default), name))
    return rows


def _keys_of(converter: str) -> tuple[Key, ...]:
    if converter == JSON_CONVERTER:
        return _JSON
    if converter == SIMPLE_HEADER_CONVERTER:
        return ()
    if converter.endswith(".StringConverter"):
        return STRING_KEYS
    return (_TYPE, _DELEGATE) if converter.startswith("io.debezium.") else (_TYPE,)
