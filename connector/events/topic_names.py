"""Names of topics, and of the schemas named after them (Debezium documentation, "Topic names").

A name is ``<prefix><delimiter><schema><delimiter><table>``. ``_`` replaces each character that is illegal in Kafka's topic names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9._\-]")
_MAX_LENGTH: Final = 249


def sanitize_topic(name: str) -> str:
    """Return a legal topic name: at most 249 characters, with ``_`` for each illegal UTF-16 unit, which Debezium counts as a character."""
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
    """Whether a topic's name contains the table's schema (yes for SchemaTopicNamingStrategy, no for DefaultTopicNamingStrategy)."""

    def table(self, schema: str, table: str) -> str:
        """Return the topic of a table's changes."""
        return sanitize_topic(self.delimiter.join((self.prefix, schema, table) if self.with_schema else (self.prefix, table)))

    def heartbeat(self) -> str:
        """Return the topic of heartbeats."""
        return sanitize_topic(self.heartbeat_name or self.delimiter.join((self.heartbeat_prefix, self.prefix)))

    def transaction(self) -> str:
        """Return the topic of transaction metadata."""
        return sanitize_topic(self.delimiter.join((self.prefix, self.transaction_name)))

    def message(self) -> str:
        """Return the topic of logical decoding messages. A dot precedes ``message``, whatever ``delimiter`` is."""
        return sanitize_topic(f"{self.prefix}.message")
