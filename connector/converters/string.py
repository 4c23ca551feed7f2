"""Kafka's StringConverter: the text of any value (``Object.toString``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from connector.configdef.key import Key
from connector.configdef.options import OptionError, Options
from connector.converters.converter import ConverterDefinition, HeaderConverterDefinition, Side
from connector.converters.plain_bytes import PlainConverter, PlainHeaderConverter, ToBytes
from connector.converters.type_key import TYPE_KEY
from connector.java.charsets import charset
from connector.record.java_string import java_string
from connector.record.schema import Schema

NAME: Final = "org.apache.kafka.connect.storage.StringConverter"
_ENCODING: Final = "converter.encoding"


def _unknown(name: str) -> str:
    return f"Invalid value {name} for configuration {_ENCODING}: There is no such character set. Use a name such as UTF-8 or ISO-8859-1"


def _known_charset(_key: Key, value: str | None, _settings: Mapping[str, str]) -> Iterator[str]:
    # Connect accepts any text, and then each record fails.
    if value is not None and charset(value) is None:
        yield _unknown(value)


def _to_bytes(options: Options) -> ToBytes:
    name = options.needed(_ENCODING)
    encode = charset(name)
    if encode is None:
        raise OptionError(_unknown(name))

    def to_bytes(schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else encode(java_string(schema, value))

    return to_bytes


def _make(options: Options, side: Side) -> PlainConverter:  # noqa: ARG001
    return PlainConverter(_to_bytes(options))


KEYS: Final = (
    TYPE_KEY,
    Key(
        _ENCODING,
        "STRING",
        "UTF-8",
        "HIGH",
        "Encoding",
        "Character set of the text.",
        width="MEDIUM",
        validators=(_known_charset,),
        framework=True,
        fixed_order=-1,
    ),
)
DEFINITIONS: Final = (ConverterDefinition(NAME, KEYS, _make),)
HEADER_DEFINITIONS: Final = (HeaderConverterDefinition(NAME, KEYS, lambda options: PlainHeaderConverter(_to_bytes(options))),)
