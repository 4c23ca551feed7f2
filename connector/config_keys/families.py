"""Properties whose names hold something of the user's own: a column pattern's length, a table, a group of topics."""

from __future__ import annotations

from typing import Final

from connector.config_keys.key import Family

MASK: Final = r"column\.mask\.with\.(?P<length>\d+)\.chars"
TRUNCATE: Final = r"column\.truncate\.to\.(?P<length>\d+)\.chars"
# The greedy salt takes the rest of the name, dots and all, as Debezium's pattern does.
HASH: Final = r"column\.mask\.hash\.(?!v2\.)(?P<algorithm>[^.]+)\.with\.salt\.(?P<salt>.+)"
HASH_V2: Final = r"column\.mask\.hash\.v2\.(?P<algorithm>[^.]+)\.with\.salt\.(?P<salt>.+)"
SELECT_OVERRIDE: Final = r"snapshot\.select\.statement\.overrides\.(?P<table>.+)"
THREADS: Final = r"snapshot\.max\.threads\.multiplier\.(?P<table>.+)"
TOPIC_CREATION: Final = r"topic\.creation\.(?P<group>[^.]+)\.(?P<setting>.+)"
DRIVER: Final = r"(database|driver)\.(?P<setting>.+)"
PRODUCER: Final = r"producer\.override\.(?P<setting>.+)"
ADMIN: Final = r"admin\.override\.(?P<setting>.+)"

FAMILIES: Final[tuple[Family, ...]] = (
    Family(MASK, "column.mask.with.<length>.chars", "Columns (regular expressions) whose text becomes <length> asterisks."),
    Family(TRUNCATE, "column.truncate.to.<length>.chars", "Columns (regular expressions) whose text is cut to <length> characters."),
    Family(
        HASH,
        "column.mask.hash.<algorithm>.with.salt.<salt>",
        "Columns (regular expressions) whose text becomes a salted hash, in the first form.",
    ),
    Family(
        HASH_V2,
        "column.mask.hash.v2.<algorithm>.with.salt.<salt>",
        "The same in the second form, which is equal on every machine.",
    ),
    Family(
        SELECT_OVERRIDE,
        "snapshot.select.statement.overrides.<schema>.<table>",
        "Statement with which the snapshot reads a table that snapshot.select.statement.overrides names.",
    ),
    Family(THREADS, "snapshot.max.threads.multiplier.<schema>.<table>", "Parts per thread for one table."),
    Family(
        TOPIC_CREATION,
        "topic.creation.<group>.<setting>",
        "How topics are created: partitions, replication.factor and topic configuration for the group default; the same and "
        "include and exclude patterns for each group of topic.creation.groups (KIP-158).",
    ),
    Family(PRODUCER, "producer.override.<setting>", "Settings of the connector's Kafka producer (KIP-458)."),
    Family(ADMIN, "admin.override.<setting>", "Settings of the connector's Kafka admin client (KIP-458)."),
    Family(
        r"consumer\.override\.(?P<setting>.+)",
        "consumer.override.<setting>",
        "Settings of a Kafka consumer.",
        "ignored",
        "A source connector consumes nothing",
    ),
    Family(
        r"(key|value)\.converter\.(?P<setting>.+)",
        "key.converter.<setting>, value.converter.<setting>",
        "Settings of the converter that the connector names (schemas.enable, decimal.format, replace.null.with.default).",
    ),
    Family(
        r"header\.converter\.(?P<setting>.+)",
        "header.converter.<setting>",
        "Settings of the header converter.",
        "ignored",
        "Headers hold plain text",
    ),
    Family(
        r"(transforms|predicates)\.(?P<setting>.+)",
        "transforms.<name>.<setting>, predicates.<name>.<setting>",
        "Settings of transformations and predicates.",
        "ignored",
        "They count only for names in transforms and predicates, which are refused for now",
    ),
    Family(
        r"signal\.consumer\.(?P<setting>.+)",
        "signal.consumer.<setting>",
        "Settings of the Kafka consumer that reads signals.",
        "ignored",
        "Signals are not played yet",
    ),
    Family(
        r"(schema\.history\.internal|database\.history)\b.*",
        "schema.history.internal.<setting>, database.history.<setting>",
        "Settings of the schema history of other databases' connectors.",
        "ignored",
        "PostgreSQL sends the structure along with the changes, so no history is kept",
    ),
    Family(
        DRIVER,
        "driver.<setting>, database.<setting>",
        "Further settings of the connections to the database; those that libpq knows are passed on.",
    ),
)
"""The first family that matches counts."""
