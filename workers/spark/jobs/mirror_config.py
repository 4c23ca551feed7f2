"""A mirror's configuration: a TOML document. Keys that are not listed here are refused."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from workers.spark.failure import WRONG, JobError
from workers.spark.maintenance.settings import MaintainConfig, check_maintain
from workers.spark.meters.settings import MetricsConfig, check_metrics
from workers.spark.source.dsn import check_dsn
from workers.spark.tables.partitions import partition_of
from workers.spark.tables.rules import Rules, TableRule, check_rules
from workers.spark.topics.apicurio import generation_of
from workers.spark.topics.patterns import either, of_prefix, of_topic
from workers.spark.types import UNAVAILABLE

_SECONDS: Final = {"milliseconds": 0.001, "seconds": 1, "minutes": 60, "hours": 3600}
_TRIGGER: Final = re.compile(rf"available-now|continuous|\d+ ({'|'.join(_SECONDS)})")
_FORMATS: Final = {
    "json": None,
    "cloud-events": None,
    "cloud-events-avro": "AVRO",
    "avro": "AVRO",
    "ext-json": "KCONNECT",
    "json-schema": "JSON",
    "protobuf": "PROTOBUF",
}
"""Format of topics → the type of its schemas in the registry, None for a format without a registry."""
NEED_AVRO: Final = frozenset({"avro", "cloud-events-avro", "protobuf"})
"""Formats that Spark's functions for Avro read. Protocol Buffers have the same form of numbers."""
ID_BYTES: Final = {"4-bytes": 4, "8-bytes": 8, "headers": 0}
"""Place of a schema's id → its bytes before the value."""
_REFERENCE: Final = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class SinkConfig:
    """The place of the tables.

    ``path`` is a folder for delta and parquet, a warehouse for iceberg; ``catalog`` names an Iceberg or Delta catalog that ``[spark]``
    configures; ``dsn`` is PostgreSQL's, and ``schemas`` maps the source's schemas to the mirror's.
    """

    format: str = "delta"
    path: str | None = None
    catalog: str | None = None
    dsn: str | None = None
    schemas: Mapping[str, str] = field(default_factory=dict)
    dropped_columns: str = "drop"
    """``drop``: the mirror drops columns that the source drops; ``keep``: they stay, and new rows have null in them."""
    on_failure: str = "set-aside"
    """``set-aside``: a table that cannot be applied is set aside and the others go on; ``stop``: its failure ends the job."""
    readers: str = "spark"
    """Delta only. ``all``: the tables use no feature that other readers lack, see :mod:`workers.spark.sinks.delta.readers`."""


@dataclass(frozen=True, slots=True)
class RegistryConfig:
    """The schema registry of the topics. ``use_id`` and ``id_place`` are those of Apicurio's converters."""

    url: str
    use_id: str | None = None
    """``contentId`` or ``globalId``: which of an artifact's ids the records have."""
    id_place: str | None = None
    """Where records have the id: ``4-bytes`` or ``8-bytes`` before the value, or ``headers``."""
    user: str | None = None
    password: str | None = None
    token: str | None = None
    ca: str | None = None


@dataclass(frozen=True, slots=True)
class MirrorConfig:
    """The configuration of ``mirror``, ``history`` and ``verify``. Values may hold ``${env:NAME}``."""

    name: str
    bootstrap: str
    checkpoint: str
    sink: SinkConfig
    topics: str | None = None
    """A Java pattern for whole topic names."""
    prefix: str | None = None
    """The connector's topic.prefix, literally, instead of ``topics``."""
    format: str = "json"
    trigger: str = "continuous"
    dsn: str | None = None
    """The source's connection string: for ``verify``, and for the types of events without embedded schemas."""
    slot: str | None = None
    """The connector's replication slot, for ``verify --wait``."""
    master: str = "local[*]"
    batch_records: int = 200_000
    """The most records of a batch."""
    task_records: int = 50_000
    """The most records of one topic partition that one task reads, so that all cores read a topic with more records than others."""
    consistency: str = "row"
    """``row``: batches of any records; ``transaction``: only whole transactions, in their order."""
    transaction_topic: str | None = None
    placeholder: str = UNAVAILABLE
    registry: RegistryConfig | None = None
    kafka: Mapping[str, str] = field(default_factory=dict)
    """Options of Spark's Kafka source. Those of the Kafka client begin with ``kafka.``."""
    spark: Mapping[str, str] = field(default_factory=dict)
    """Spark's settings."""
    maintain: MaintainConfig = field(default_factory=MaintainConfig)
    metrics: MetricsConfig | None = None
    table: tuple[TableRule, ...] = ()
    """Rules for single tables."""

    @property
    def between(self) -> float:
        """The seconds between two batches, if ``trigger`` is an interval."""
        number, _, unit = self.trigger.partition(" ")
        return int(number) * _SECONDS[unit] if unit else 0.0

    @property
    def schema_type(self) -> str | None:
        """The type of the topics' schemas in the registry; None for a format without a registry."""
        return _FORMATS[self.format]

    @property
    def rules(self) -> Rules:
        """The rules for single tables."""
        return Rules(self.table)

    @property
    def pattern(self) -> str:
        """The topics to read, as a Java pattern for whole names."""
        topics = self.topics or of_prefix(self.prefix or "")
        return topics if self.transaction_topic is None else either(topics, of_topic(self.transaction_topic))


def read_config(path: Path, environment: Mapping[str, str] = os.environ) -> MirrorConfig:
    """The configuration in a file. Raises JobError that names the key and the remedy."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise JobError(WRONG, f"{path} cannot be read: {error.strerror}. Check --config.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise JobError(WRONG, f"{path} is not TOML: {error}.") from error
    return parse_config(document, environment)


def parse_config(document: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> MirrorConfig:
    """The configuration in a document. Raises JobError that names the key and the remedy."""
    config: MirrorConfig = _built(MirrorConfig, _resolved(document, environment), "")
    _check("format", config.format, tuple(_FORMATS))
    _check("consistency", config.consistency, ("row", "transaction"))
    _check("sink.format", config.sink.format, ("delta", "iceberg", "parquet", "postgres"))
    _check("sink.dropped_columns", config.sink.dropped_columns, ("drop", "keep"))
    _check("sink.on_failure", config.sink.on_failure, ("set-aside", "stop"))
    _check("sink.readers", config.sink.readers, ("spark", "all"))
    if config.sink.readers == "all" and config.sink.format != "delta":
        raise JobError(WRONG, f"sink.readers is for the format delta, but sink.format is {config.sink.format}. Remove it.")
    check_maintain(config.maintain, config.sink.format)
    check_metrics(config.metrics)
    check_rules(config.table)
    for rule in config.table:
        _check_partitions(rule, config.sink.format)
    if not _TRIGGER.fullmatch(config.trigger):
        raise JobError(WRONG, f'trigger is {config.trigger!r}. Use "available-now", "continuous" or an interval such as "10 seconds".')
    if (config.topics is None) == (config.prefix is None):
        raise JobError(
            WRONG, "Either topics (a pattern of whole names) or prefix (the connector's topic.prefix) must be set, and not both."
        )
    if config.format != "json" and config.consistency == "transaction":
        raise JobError(WRONG, "consistency is transaction: this needs format json, the transaction topic's records are read as JSON.")
    _check_registry(config)
    if config.sink.format == "postgres":
        if config.sink.dsn is None:
            raise JobError(WRONG, "sink.format is postgres, but sink.dsn is missing.")
    elif config.sink.path is None and (config.sink.catalog is None or config.sink.format == "parquet"):
        others = "" if config.sink.format == "parquet" else " or sink.catalog"
        raise JobError(WRONG, f"sink.format is {config.sink.format}: sink.path (a folder){others} must be set.")
    _check_catalog(config)
    for key, dsn in (("dsn", config.dsn), ("sink.dsn", config.sink.dsn)):
        if dsn is not None:
            check_dsn(key, dsn)
    for name in ("batch_records", "task_records"):
        if getattr(config, name) < 1:
            raise JobError(WRONG, f"{name} must be 1 or more.")
    if config.consistency == "transaction" and config.transaction_topic is None and config.prefix is None:
        raise JobError(WRONG, "consistency is transaction: transaction_topic must be set (the connector's <topic.prefix>.transaction).")
    return config


def _check_catalog(config: MirrorConfig) -> None:
    """Raise JobError if ``sink.path`` would replace an Iceberg catalog of ``[spark]`` by one of another kind or place."""
    sink = config.sink
    if sink.format != "iceberg" or sink.catalog is None or sink.path is None:
        return
    prefix = f"spark.sql.catalog.{sink.catalog}"
    made = {f"{prefix}.type": "hadoop", f"{prefix}.warehouse": sink.path}
    other = [name for name in (*made, f"{prefix}.catalog-impl") if name in config.spark and config.spark[name] != made.get(name)]
    if other:
        raise JobError(
            WRONG,
            f"sink.path makes {sink.catalog} a catalog of the type hadoop in this folder, but [spark] has {other[0]}. "
            "Remove sink.path to use the catalog of [spark].",
        )


def _check_partitions(rule: TableRule, form: str) -> None:
    if rule.partition_by and form not in ("delta", "iceberg"):
        raise JobError(WRONG, f"partition_by is for the formats delta and iceberg, but sink.format is {form}. Remove it.")
    transforms = [text for text in rule.partition_by if partition_of(text).transform is not None]
    if transforms and form == "delta":
        raise JobError(WRONG, f"partition_by has {transforms[0]}, but Delta divides files by columns only. Name a column, or use iceberg.")


def _check_registry(config: MirrorConfig) -> None:
    registry = config.registry
    if _FORMATS[config.format] is None:
        return
    if registry is None:
        raise JobError(WRONG, f"format is {config.format}, but the table [registry] with its url is missing.")
    if registry.use_id is not None:
        _check("registry.use_id", registry.use_id, ("contentId", "globalId"))
    if registry.id_place is not None:
        _check("registry.id_place", registry.id_place, tuple(ID_BYTES))
        if config.format == "cloud-events-avro" and registry.id_place == "headers":
            raise JobError(
                WRONG, "registry.id_place is headers, but a CloudEvent's data has none. Set headers.enabled=false in the converter."
            )
        if config.format not in ("avro", "cloud-events-avro"):
            raise JobError(WRONG, f"registry.id_place is set, but records of the format {config.format} have only one. Remove it.")
    if config.format == "ext-json" and generation_of(registry.url) is None:
        raise JobError(WRONG, "format is ext-json, but registry.url is not Apicurio's. Write http://host:port/apis/registry/v3, or v2.")


def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise JobError(WRONG, f"{name} is {value!r}. Use one of {', '.join(allowed)}.")


def _built(kind: type, document: Mapping[str, Any], path: str) -> Any:
    known = {item.name: item for item in fields(kind)}
    hints = get_type_hints(kind)
    for name in document:
        if name not in known:
            raise JobError(WRONG, f"unknown key {path}{name}. Known here: {', '.join(sorted(known))}.")
    values = {}
    for name, item in known.items():
        if name in document:
            values[name] = _value(hints[name], document[name], f"{path}{name}")
        elif item.default is MISSING and item.default_factory is MISSING:
            raise JobError(WRONG, f"{path}{name} is missing.")
    return kind(**values)


def _value(hint: Any, value: Any, name: str) -> Any:
    options = [option for option in get_args(hint) if option is not NoneType] if get_origin(hint) is UnionType else [hint]
    wanted = options[0]
    if get_origin(wanted) is Mapping:
        if not isinstance(value, dict):
            raise JobError(WRONG, f"{name} must be a table.")
        return {key: _scalar(part) for key, part in _flat(value)}
    if get_origin(wanted) is tuple:
        return tuple(_item(get_args(wanted)[0], part, name) for part in _list(value, get_args(wanted)[0], name))
    if wanted in (SinkConfig, RegistryConfig, MaintainConfig, MetricsConfig):
        if not isinstance(value, dict):
            raise JobError(WRONG, f"{name} must be a table: write [{name}].")
        return _built(wanted, value, f"{name}.")
    if type(value) is not wanted:
        expected = {int: "a whole number", bool: "true or false"}.get(wanted, "text")
        raise JobError(WRONG, f"{name} must be {expected}.")
    return value


def _list(value: Any, of: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise JobError(WRONG, f"{name} must be a list of {'tables: write [[' + name + ']]' if of is TableRule else 'texts'}.")
    return value


def _item(of: Any, value: Any, name: str) -> Any:
    if of is not TableRule:
        return _value(of, value, name)
    if not isinstance(value, dict):
        raise JobError(WRONG, f"{name} must be a list of tables: write [[{name}]].")
    return _built(of, value, f"{name}.")


def _flat(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """The dotted keys of nested tables, because TOML reads ``spark.sql.x = 1`` as tables within tables."""
    flat: list[tuple[str, Any]] = []
    for key, value in table.items():
        flat += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]
    return flat


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _resolved(value: Any, environment: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _resolved(part, environment) for key, part in value.items()}
    if isinstance(value, list):
        return [_resolved(part, environment) for part in value]
    if not isinstance(value, str):
        return value

    def found(reference: re.Match[str]) -> str:
        name = reference[1]
        if name not in environment:
            raise JobError(WRONG, f"${{env:{name}}} is used, but the environment has no {name}.")
        return environment[name]

    return _REFERENCE.sub(found, value)
