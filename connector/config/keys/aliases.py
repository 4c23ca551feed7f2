"""Former names and values of properties in 1.x and 2.x, with their present ones."""

from __future__ import annotations

from typing import Final

from connector.configdef.key import Alias

_SWITCH_ADJUSTMENT: Final = (("true", "avro"), ("false", "none"))

ALIASES: Final[tuple[Alias, ...]] = (
    Alias("database.server.name", "topic.prefix"),
    Alias("schema.whitelist", "schema.include.list"),
    Alias("schema.blacklist", "schema.exclude.list"),
    Alias("table.whitelist", "table.include.list"),
    Alias("table.blacklist", "table.exclude.list"),
    Alias("column.whitelist", "column.include.list"),
    Alias("column.blacklist", "column.exclude.list"),
    Alias("slot.drop_on_stop", "slot.drop.on.stop"),
    Alias("toasted.value.placeholder", "unavailable.value.placeholder"),
    Alias("sanitize.field.names", "field.name.adjustment.mode", _SWITCH_ADJUSTMENT),
    Alias("truncate.handling.mode", "skipped.operations", (("skip", "t"), ("include", "none"))),
    Alias("event.deserialization.failure.handling.mode", "event.processing.failure.handling.mode"),
    Alias("rows.fetch.size", "snapshot.fetch.size"),
    Alias("openlineage.integration.dataset.kafka.bootstrap.server", "openlineage.integration.dataset.kafka.bootstrap.servers"),
    Alias("heartbeat.topics.prefix", "topic.heartbeat.prefix", known=True),
    Alias("snapshot.custom.class", "snapshot.mode.custom.name", known=True),
    Alias("flush.lsn.source", "lsn.flush.mode", (("true", "connector"), ("false", "manual")), known=True),
    Alias(
        "slot.seek.to.known.offset.on.start",
        "offset.mismatch.strategy",
        (("true", "trust_offset"), ("false", "no_validation")),
    ),
    Alias(
        "internal.slot.seek.to.known.offset.on.start",
        "offset.mismatch.strategy",
        (("true", "trust_offset"), ("false", "no_validation")),
        known=True,
    ),
    Alias("internal.legacy.snapshot.max.threads", "legacy.snapshot.max.threads", known=True),
)

FORMER_VALUES: Final[dict[str, dict[str, str]]] = {
    "snapshot.mode": {"never": "no_data", "exported": "initial", "schema_only": "no_data"},
    # 1.x had names for the same plugin with different options: a transaction in one piece or in chunks, with or without the features that
    # Amazon's old version lacked.
    "plugin.name": {"wal2json_streaming": "wal2json", "wal2json_rds": "wal2json", "wal2json_rds_streaming": "wal2json"},
}
"""Renamed values: for each property, its former values and the present ones."""
