"""Kafka's SimpleHeaderConverter, the default for headers: text as it is, other values as ``Values.convertToString`` writes them."""

from __future__ import annotations

from typing import Any, Final

from connector.configdef.key import Key
from connector.converters.converter import HeaderConverterDefinition
from connector.record.schema import Schema
from connector.record.values import text_of

NAME: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"


class SimpleHeaderConverter:
    """Writes text."""

    def convert(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:  # noqa: ARG002
        """Return the text's bytes; null stays null. Raises DataError."""
        text = text_of(schema, value)
        return None if text is None else text.encode()


KEYS: Final[tuple[Key, ...]] = ()
HEADER_DEFINITIONS: Final = (HeaderConverterDefinition(NAME, KEYS, lambda _options: SimpleHeaderConverter()),)
