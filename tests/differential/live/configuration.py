"""Draws a connector's properties."""

from __future__ import annotations

from random import Random
from typing import Final

from .literals import quote_name
from .transforms import draw_transforms

JSON_CONVERTER: Final = "org.apache.kafka.connect.json.JsonConverter"
OPTIONS: Final[tuple[tuple[float, str, tuple[str, ...]], ...]] = (
    (0.4, "decimal.handling.mode", ("double", "string", "precise")),
    (0.5, "time.precision.mode", ("adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds")),
    (0.4, "interval.handling.mode", ("string", "numeric")),
    (0.4, "binary.handling.mode", ("base64", "base64-url-safe", "hex")),
    (0.4, "hstore.handling.mode", ("map", "json")),
    (0.4, "include.unknown.datatypes", ("true",)),
    (0.15, "tombstones.on.delete", ("false",)),
    (0.4, "provide.transaction.metadata", ("true",)),
    (0.6, "skipped.operations", ("none", "none", "none", "t", "u", "c,d", "d,t", "c", "u,t")),
    (0.15, "skip.messages.without.change", ("true",)),
    (0.2, "schema.name.adjustment.mode", ("avro", "avro_unicode")),
    (0.2, "field.name.adjustment.mode", ("avro", "avro_unicode")),
    (0.15, "topic.delimiter", ("_", "-", "...")),
    (0.2, "extended.headers.enabled", ("false",)),
    (0.2, "unavailable.value.placeholder", ("hex:0102ff", "??", "é")),
    (0.25, "column.propagate.source.type", (".*", ".*\\.(a|val|id)")),
    (0.15, "datatype.propagate.source.type", (".*", ".*\\.varchar,.*\\.numeric", ".*int4")),
    (0.25, "message.key.columns", ("(.*):(id|ID|val)", "public.(.*):a", "(.*).(.*):zser,id", "(.*):n;s2.(.*):zser", "(.*).(.*):i d")),
    (0.1, "column.exclude.list", (".*\\.(a|val)\\d+", ".*Upper.*,.*\\..*\\..*with.*")),
    (0.1, "column.include.list", (".*\\..*\\.[a-z ]+\\d*,.*zz_end.*", "public.*")),
    (0.05, "column.mask.with.0.chars", (".*\\.[a-z ]+\\d*", ".*text.*")),
    (0.05, "column.truncate.to.0.chars", (".*\\.[a-m].*", ".*\\.zz_end\\.m")),
    (0.15, "column.mask.with.4.chars", (".*\\.val\\d*", ".*\\.a\\d*,.*Upper\\d*", ".*[.]v")),
    (0.15, "column.truncate.to.3.chars", (".*\\.val\\d*", ".*\\.with space\\d*,.*dash.*", ".*\\.v")),
    (0.15, "column.mask.hash.SHA-256.with.salt.abc", (".*\\.[a-u]+\\d*", ".*\\.UPPER\\d*,.*_x.*,.*select.*")),
    (0.08, "column.mask.hash.v2.MD5.with.salt.abc", (".*\\.[d-z]+\\d*",)),
    (0.2, "money.fraction.digits", ("0", "4", "1")),
    (0.2, "schema.refresh.mode", ("columns_diff_exclude_unchanged_toast",)),
    (0.3, "publication.autocreate.mode", ("filtered", "filtered", "all_tables")),
    (0.3, "publish.via.partition.root", ("true",)),
    (0.25, "snapshot.mode", ("no_data", "always", "initial", "when_needed", "configuration_based")),
    (0.1, "replica.identity.autoset.values", ("public.*:FULL", ".*t\\d+:DEFAULT,.*:FULL")),
    (0.85, "event.processing.failure.handling.mode", ("warn", "warn", "skip")),
    (0.2, "event.converting.failure.handling.mode", ("warn", "skip")),
    (0.1, "message.prefix.include.list", ("p.*", "pre")),
    (0.05, "message.prefix.exclude.list", ("p2", ".*n.*")),
    (0.1, "table.exclude.list", ("s2\\..*", ".*dash.*", "PUBLIC\\.T1", ".*\\.part\\d+_(eu|us)", "(?!public).*")),
    (
        0.08,
        "table.include.list",
        ("public\\..*", " public\\.zz_end , s2\\..*", "(?i)PUBLIC[.].*", ".*[^t]\\d", "public\\.(t|part|zz).*,.*\\..*s.*"),
    ),
    (0.1, "schema.exclude.list", ("s2", "Other s", "OTHER S", "s\\d")),
    (0.05, "schema.include.list", ("public", "p.*", "PUBLIC,Other.*", "public,s2")),
    (0.1, "heartbeat.interval.ms", ("300",)),
    (0.08, "snapshot.locking.mode", ("shared",)),
    (0.1, "snapshot.isolation.mode", ("repeatable_read", "read_committed", "serializable")),
    (0.1, "snapshot.fetch.size", ("1", "10")),
    (0.15, "snapshot.max.threads", ("2", "3")),
    (0.05, "snapshot.max.threads.multiplier", ("2", "3")),
    (0.05, "legacy.snapshot.max.threads", ("true",)),
    (0.05, "streaming.delay.ms", ("300",)),
    (0.05, "max.batch.size", ("1", "3")),
    (0.05, "errors.max.retries", ("0", "2")),
    (0.05, "topic.cache.size", ("1",)),
    (0.08, "topic.transaction", ("tx", "t.x")),
    (0.05, "topic.heartbeat.prefix", ("hb-heartbeat",)),
    (0.05, "status.update.interval.ms", ("200",)),
    (0.1, "snapshot.include.collection.list", ("public.*", "s2.*,public.zz_end", ".*t.*")),
    (0.05, "topic.naming.strategy", ("io.debezium.schema.DefaultTopicNamingStrategy", "io.debezium.schema.SchemaTopicNamingStrategy")),
    (0.1, "slot.stream.params", ("messages=true", "proto_version=1")),
    (0.1, "lsn.flush.mode", ("manual", "connector", "connector_and_driver")),
)

LATER_OPTIONS: Final[tuple[tuple[float, str, tuple[str, ...]], ...]] = (
    (0.25, "time.precision.mode", ("structured",)),
    (0.05, "signal.emit.failure.max.retries", ("2",)),
    (0.05, "database.exclude.list", (".*",)),
)
"""What Debezium knows since 3.7, or lists since then."""


def draw_configuration(random: Random, tables: list[str], *, transforms: float = 0.3, later: bool = False) -> dict[str, str]:
    """Properties beside those of the connection. ``tables``: names of what a select override may read. ``later``: for 3.7."""
    options = OPTIONS + LATER_OPTIONS if later else OPTIONS
    config = {name: random.choice(values) for probability, name, values in options if random.random() < probability}
    for kind in ("table", "schema"):
        if f"{kind}.exclude.list" in config:
            config.pop(f"{kind}.include.list", None)
    if "column.exclude.list" in config:
        config.pop("column.include.list", None)
    if "message.prefix.include.list" in config:
        config.pop("message.prefix.exclude.list", None)
    if config.get("snapshot.mode") == "configuration_based":
        config |= {f"snapshot.mode.configuration.based.{name}": "true" for name in ("snapshot.data", "snapshot.schema", "start.stream")}
    if "heartbeat.interval.ms" in config and random.random() < 0.7:
        config["heartbeat.action.query"] = "INSERT INTO public.beats VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET n = beats.n + 1"
    if random.random() < 0.12 and tables:
        name = random.choice(tables)
        config["snapshot.select.statement.overrides"] = name
        order = random.choice(("", " WHERE false", " ORDER BY 1 DESC", " LIMIT 2"))
        config[f"snapshot.select.statement.overrides.{name}"] = f"SELECT * FROM {'.'.join(map(quote_name, name.split('.')))}{order}"
    if random.random() < 0.1 and "field.name.adjustment.mode" not in config:
        # With adjusted names it finds no row, and with the null values it would read what a later change made of a row.
        config |= {"post.processors": "again", "again.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor"}
        config |= {"again.reselect.null.values": "false", "again.reselect.use.event.key": random.choice(("true", "false"))}
    _converters(random, config)
    if random.random() < transforms:
        draw_transforms(random, config, later=later)
    return config


def _converters(random: Random, config: dict[str, str]) -> None:
    if random.random() < 0.25:
        config["value.converter"] = JSON_CONVERTER
        for probability, name, value in ((0.5, "schemas.enable", "false"), (0.3, "replace.null.with.default", "false")):
            if random.random() < probability:
                config[f"value.converter.{name}"] = value
        if random.random() < 0.3:
            config["value.converter.decimal.format"] = "NUMERIC"
    if random.random() < 0.12:
        # Keys of the same bytes on both sides, so that the partitions can be compared: the prefix is part of a schema's name.
        config |= {"key.converter": JSON_CONVERTER, "key.converter.schemas.enable": "false"}
        config |= {"topic.creation.default.partitions": "3", "topic.creation.default.replication.factor": "1"}


def hides_marks(config: dict[str, str]) -> bool:
    """Whether rows of the table of marks may be left out or changed, so that only silence shows that all was read."""
    hiding = ("column.", "transforms", "table.", "schema.excl", "schema.incl", "topic.naming", "datatype.propagate")
    if any(name.startswith(hiding) and name != "column.propagate.source.type" for name in config):
        return True
    return "c" in config.get("skipped.operations", "").replace("none", "").split(",")
