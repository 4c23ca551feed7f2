"""Which converters a worker or a connector configured, as far as this worker plays them.

Kafka Connect's rule: a connector that names ``key.converter`` brings that converter's options itself; one that does not uses
the worker's converter with the worker's options (Kafka documentation, section 8.2 "Configuring connectors").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connector.errors import CdcError, ErrorKind
from connector.ports import ConverterSettings

JSON_CONVERTER: Final = "org.apache.kafka.connect.json.JsonConverter"
SIMPLE_HEADER_CONVERTER: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_JSON_NAMES: Final = frozenset({JSON_CONVERTER, "JsonConverter", "Json"})
_STRING_CONVERTER: Final = "org.apache.kafka.connect.storage.StringConverter"
_HEADER_NAMES: Final = frozenset(
    {SIMPLE_HEADER_CONVERTER, "SimpleHeaderConverter", "Simple", _STRING_CONVERTER, "StringConverter", "String"}
)
"""Headers hold text, and both write text as it is."""
_DECIMAL_FORMATS: Final = frozenset({"BASE64", "NUMERIC"})


def converter(config: Mapping[str, str], which: str, default: ConverterSettings | None = None) -> ConverterSettings:
    """The settings of ``which`` (``key.converter`` or ``value.converter``) in ``config``, or ``default`` when it names none.

    Without a default an absent converter is the JsonConverter with its own defaults. Raises CdcError(CONFIG_INVALID) that names
    the property for another converter class or an option's bad value.
    """
    name = config.get(which, "").strip()
    if not name and default is not None:
        return default
    if name and name not in _JSON_NAMES:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Invalid value {name} for configuration {which}: This worker converts with {JSON_CONVERTER} only",
            f"Set {which} to {JSON_CONVERTER}, or leave it out.",
        )
    decimal_format = config.get(f"{which}.decimal.format", "BASE64").strip().upper()
    if decimal_format not in _DECIMAL_FORMATS:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Invalid value {decimal_format} for configuration {which}.decimal.format: It must be BASE64 or NUMERIC",
        )
    return ConverterSettings(
        schemas_enable=boolean(config, f"{which}.schemas.enable", True),
        decimal_format=decimal_format,
        replace_null_with_default=boolean(config, f"{which}.replace.null.with.default", True),
    )


def check_header_converter(config: Mapping[str, str]) -> None:
    """Refuse a ``header.converter`` that does not write text as it is. Raises CdcError(CONFIG_INVALID)."""
    name = config.get("header.converter", "").strip()
    if name and name not in _HEADER_NAMES:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Invalid value {name} for configuration header.converter: This worker writes headers with {SIMPLE_HEADER_CONVERTER} or "
            f"{_STRING_CONVERTER} only",
            "Leave header.converter out.",
        )


def boolean(config: Mapping[str, str], key: str, default: bool) -> bool:
    """A boolean as Kafka's ``ConfigDef`` reads it: true or false in any case, trimmed. Raises CdcError(CONFIG_INVALID)."""
    text = config.get(key)
    if text is None:
        return default
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise CdcError(ErrorKind.CONFIG_INVALID, f"Invalid value {text} for configuration {key}: Expected value to be either true or false")
    return word == "true"
