"""The options of the mapping to Avro."""

from __future__ import annotations

from typing import Final

from connector.converters.confluent_keys import unlisted_key

AVRO_KEYS: Final = (
    unlisted_key(
        "connect.meta.data", "BOOLEAN", "true", "LOW", "Whether Avro schemas keep what only Connect knows, as properties connect.*."
    ),
    unlisted_key(
        "enhanced.avro.schema.support",
        "BOOLEAN",
        "false",
        "MEDIUM",
        "Whether strings with the parameter io.confluent.connect.avro.Enum become enums.",
    ),
    unlisted_key(
        "generalized.sum.type.support",
        "BOOLEAN",
        "false",
        "MEDIUM",
        "Whether strings with the parameter org.apache.kafka.connect.data.Enum become enums.",
    ),
    unlisted_key("scrub.invalid.names", "BOOLEAN", "false", "MEDIUM", "Whether letters that Avro does not allow in names are replaced."),
    unlisted_key(
        "discard.type.doc.default", "BOOLEAN", "false", "LOW", "Whether only documentation and defaults of fields are kept in Avro schemas."
    ),
    unlisted_key("allow.optional.map.keys", "BOOLEAN", "false", "LOW", "Whether maps with optional string keys become Avro maps."),
    unlisted_key(
        "flatten.singleton.unions",
        "BOOLEAN",
        "true",
        "LOW",
        "Concerns reading alone.",
        support="ignored",
        reason="A source connector reads no Avro.",
    ),
    unlisted_key(
        "ignore.default.for.nullables", "BOOLEAN", "false", "MEDIUM", "Whether null stays null in a nullable field with a default."
    ),
    unlisted_key(
        "avro.remove.java.properties",
        "BOOLEAN",
        "false",
        "LOW",
        "Concerns properties that only Java's classes set.",
        support="ignored",
        reason="Schemas made of Connect's have no such properties.",
    ),
)
