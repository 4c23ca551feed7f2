"""Properties whose names contain a part that the user chooses: a length, a table, a group of topics."""

from __future__ import annotations

from typing import Final

from connector.configdef.key import Family

MASK: Final = r"column\.mask\.with\.(?P<length>\d+)\.chars"
TRUNCATE: Final = r"column\.truncate\.to\.(?P<length>\d+)\.chars"
# The greedy salt matches the rest of the name with its dots, as in Debezium's pattern.
HASH: Final = r"column\.mask\.hash\.(?!v2\.)(?P<algorithm>[^.]+)\.with\.salt\.(?P<salt>.+)"
HASH_V2: Final = r"column\.mask\.hash\.v2\.(?P<algorithm>[^.]+)\.with\.salt\.(?P<salt>.+)"
SELECT_OVERRIDE: Final = r"snapshot\.select\.statement\.overrides\.(?P<table>.+)"
THREADS: Final = r"snapshot\.max\.threads\.multiplier\.(?P<table>.+)"
TOPIC_CREATION: Final = r"topic\.creation\.(?P<group>[^.]+)\.(?P<setting>.+)"
DRIVER: Final = r"(database|driver)\.(?P<setting>.+)"
PRODUCER: Final = r"producer\.override\.(?P<setting>.+)"
ADMIN: Final = r"admin\.override\.(?P<setting>.+)"

NAMED: Final = Family(
    # The names depend on the configuration. This pattern matches nothing.
    r"(?!)",
    "<name>.type, <name>.<setting>",
    "For each name in converters: the class, as package.module:Class or as an entry point of understudy.converters, and its own settings.",
)

RESELECT: Final = tuple(
    Family(r"(?!)", f"<name>.reselect.{setting}", f"For each name in post.processors: {doc}")
    for setting, doc in (
        ("columns.include.list", "columns (regular expressions of schema.table:column) that may be read again; by default all."),
        ("columns.exclude.list", "columns that may not be read again; an include list overrides it."),
        ("unavailable.values", "true (default) to read what the server did not send: large values that did not change."),
        ("null.values", "true (default) to read what is NULL."),
        ("use.event.key", "true to find the row by the columns of the record's key, false (default) by those of the table's key."),
        ("error.handling.mode", "when the row cannot be read: warn (default) sends the event as it is, fail ends the task."),
    )
)
"""As for NAMED, the names depend on the configuration."""

FAMILIES: Final[tuple[Family, ...]] = (
    NAMED,
    *RESELECT,
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
    ),
    Family(
        r"errors\.deadletterqueue\.(?P<setting>.+)",
        "errors.deadletterqueue.<setting>",
        "Settings of a sink connector's dead letter queue.",
        "ignored",
        "Only sink connectors have a dead letter queue",
    ),
    Family(
        r"signal\.consumer\.(?P<setting>.+)",
        "signal.consumer.<setting>",
        "Settings of the Kafka consumer of the signal channel `kafka`: security and connections, client.id, auto.offset.reset, "
        "isolation.level, fetch.* and session.timeout.ms.",
    ),
    Family(
        r"(schema\.history\.internal|database\.history)\b.*",
        "schema.history.internal.<setting>, database.history.<setting>",
        "Settings of the schema history of other databases' connectors.",
        "ignored",
        "PostgreSQL sends the structure along with the changes, so no history is kept",
    ),
    Family(
        r"offset\.storage\..+",
        "offset.storage.<setting>",
        "Settings of the embedded engine's store of offsets.",
        "ignored",
        "A property of the embedded engine, which Kafka Connect does not use",
    ),
    Family(
        DRIVER,
        "driver.<setting>, database.<setting>",
        "Further settings of the connections to the database; those that libpq knows are passed on.",
    ),
)
"""All families. A name belongs to the first one that matches."""
