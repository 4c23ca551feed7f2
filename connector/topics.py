"""Names of topics and of the schemas named after them (Debezium documentation, "Topic names").

``<prefix><delimiter><schema><delimiter><table>``, where a character that a Kafka topic cannot hold becomes ``_``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9._\-]")
_MAX_LENGTH: Final = 249


def sanitize_topic(name: str) -> str:
    """A legal topic name. One ``_`` stands for each UTF-16 unit, as the reference counts characters; 249 are kept."""
    legal = _ILLEGAL.sub(lambda m: "_" * (len(m.group().encode("utf-16-le")) // 2), name)
    if legal in (".", ".."):
        return "_" * len(legal)
    return legal[:_MAX_LENGTH]


@dataclass(frozen=True, slots=True)
class TopicNames:
    """The topics of one connector."""

    prefix: str
    delimiter: str = "."
    heartbeat_prefix: str = "__debezium-heartbeat"
    heartbeat_name: str | None = None
    transaction_name: str = "transaction"
    with_schema: bool = True
    """Whether a table's schema is part of its topic's name (SchemaTopicNamingStrategy; not so DefaultTopicNamingStrategy)."""

    def table(self, schema: str, table: str) -> str:
        """Where a table's changes go."""
        return sanitize_topic(self.delimiter.join((self.prefix, schema, table) if self.with_schema else (self.prefix, table)))

    def heartbeat(self) -> str:
        """Where heartbeats go."""
        return sanitize_topic(self.heartbeat_name or self.delimiter.join((self.heartbeat_prefix, self.prefix)))

    def transaction(self) -> str:
        """Where transaction boundaries go."""
        return sanitize_topic(self.delimiter.join((self.prefix, self.transaction_name)))

    def message(self) -> str:
        """Where logical decoding messages go; a dot comes before the word, whatever ``delimiter`` is."""
        return sanitize_topic(f"{self.prefix}.message")
