"""The worker's settings: Kafka Connect's own, from a distributed worker's properties file or the images' environment.

:meth:`WorkerSettings.from_properties` is the one place that reads them; :func:`worker_properties` chooses between a file, the
environment and Connect's defaults.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from connector.allowed_plugins import PROPERTY as PLUGIN_PACKAGES
from connector.allowed_plugins import AllowedPlugins
from connector.errors import CdcError
from connector.ports import ConverterSettings
from workers.client_overrides import ALLOWED
from workers.converters import boolean, check_header_converter, converter
from workers.http_settings import HttpSettings
from workers.jaas import PROPERTY, from_java_options, java_property
from workers.properties import parse_properties
from workers.secrets import PROVIDER_CLASSES, Provider, Secrets
from workers.validation import Preflight
from workers.worker_keys import sort_out

OVERRIDE_POLICIES: Final = ("All", "None", "Principal")

_STORES: Final = ("config", "offset", "status")
_STORE_OWN_KEYS: Final = frozenset({"topic", "partitions", "replication.factor", "file.filename"})
_IMAGE_VARIABLES: Final = (
    "BOOTSTRAP_SERVERS",
    "GROUP_ID",
    "CONFIG_STORAGE_TOPIC",
    "OFFSET_STORAGE_TOPIC",
    "STATUS_STORAGE_TOPIC",
    "KEY_CONVERTER",
    "VALUE_CONVERTER",
    "OFFSET_FLUSH_INTERVAL_MS",
)
"""Variables that Debezium's Connect image takes without the ``CONNECT_`` prefix, named as the property they set."""


class SettingsError(Exception):
    """The worker cannot start with these settings; the text names every bad key and the mend."""


@dataclass(frozen=True, slots=True)
class StoreTopic:
    """One of the three internal topics. ``partitions`` and ``replication_factor`` may be -1: the broker's default.

    ``settings`` are further topic settings used when it is created (``config.storage.<setting>``).
    """

    name: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """A worker's settings. Times are seconds. ``properties`` are as given and must not be logged."""

    bootstrap_servers: str
    group_id: str
    config_topic: StoreTopic
    offset_topic: StoreTopic
    status_topic: StoreTopic
    http: HttpSettings
    key_converter: ConverterSettings
    value_converter: ConverterSettings
    secrets: Secrets
    override_policy: str
    preflight: Preflight
    offset_flush_interval: float
    exactly_once: bool
    graceful_shutdown: float
    session_timeout_ms: int
    heartbeat_interval_ms: int
    rebalance_timeout_ms: int
    topic_creation: bool
    topic_tracking: bool
    topic_tracking_reset: bool
    signal_directory: str
    plugins: AllowedPlugins
    """Which classes of users connectors may name."""
    properties: Mapping[str, str] = field(repr=False)
    ignored: tuple[str, ...] = ()
    """Keys that mean nothing here."""
    unknown: tuple[str, ...] = ()
    """Keys that Connect does not have either."""

    @property
    def worker_id(self) -> str:
        """``host:port`` as statuses name this worker."""
        return f"{self.http.advertised_host}:{self.http.advertised_port}"

    @staticmethod
    def from_properties(given: Mapping[str, str]) -> WorkerSettings:
        """Read ``given``; what is absent has Connect's default.

        Raises SettingsError that lists all keys that cannot be honoured.
        """
        problems, ignored, unknown = sort_out(given)
        if problems:
            raise SettingsError("\n".join(problems))
        try:
            secrets = Secrets(_providers(given))
            properties = secrets.look_up(given).values
            check_header_converter(properties)
            return WorkerSettings(
                bootstrap_servers=properties.get("bootstrap.servers", "localhost:9092"),
                group_id=properties.get("group.id", "connect-cluster"),
                config_topic=_store(properties, "config", 1),
                offset_topic=_store(properties, "offset", 25),
                status_topic=_store(properties, "status", 5),
                http=HttpSettings.from_properties(properties),
                key_converter=converter(properties, "key.converter"),
                value_converter=converter(properties, "value.converter"),
                secrets=secrets,
                override_policy=_override_policy(properties),
                preflight=_preflight(properties),
                offset_flush_interval=_integer(properties, "offset.flush.interval.ms", 60_000, 1) / 1000,
                exactly_once=_exactly_once(properties),
                graceful_shutdown=_integer(properties, "task.shutdown.graceful.timeout.ms", 5_000, 0) / 1000,
                session_timeout_ms=_integer(properties, "session.timeout.ms", 10_000, 1),
                heartbeat_interval_ms=_heartbeat_interval(properties),
                rebalance_timeout_ms=_integer(properties, "rebalance.timeout.ms", 60_000, 1),
                topic_creation=boolean(properties, "topic.creation.enable", True),
                topic_tracking=boolean(properties, "topic.tracking.enable", True),
                topic_tracking_reset=boolean(properties, "topic.tracking.allow.reset", True),
                signal_directory=properties.get("signal.file.directory", "").strip(),
                plugins=_plugins(properties),
                properties=properties,
                ignored=tuple(ignored),
                unknown=tuple(unknown),
            )
        except CdcError as problem:
            raise SettingsError(str(problem)) from problem


def worker_properties(file: Path | None, environment: Mapping[str, str]) -> dict[str, str]:
    """The properties of ``file``, or, when None, those that ``environment`` sets. Raises SettingsError for an unreadable file.

    What ``KAFKA_OPTS`` sets for a JVM and counts here too is added to both: the JAAS file, and where tokens may come from.
    """
    options = environment.get("KAFKA_OPTS", "")
    jaas_file = from_java_options(options)
    named = {PROPERTY: jaas_file} if jaas_file else {}
    named |= {key: value for key in ALLOWED.values() if (value := java_property(options, key))}
    return named | (from_environment(environment) if file is None else _from_file(file))


def _from_file(file: Path) -> dict[str, str]:
    try:
        return parse_properties(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise SettingsError(f"Cannot read the worker properties {file}: {problem.strerror}") from problem
    except ValueError as problem:
        raise SettingsError(f"Cannot read the worker properties {file}: {problem}") from problem


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Worker properties out of the variables that the usual Connect images take.

    ``CONNECT_A_B`` is ``a.b`` (with ``__`` for ``_`` and ``___`` for ``-``, as in Confluent's image); Debezium's image also has
    ``BOOTSTRAP_SERVERS`` and its like, ``HOST_NAME``, ``ADVERTISED_HOST_NAME``, ``ADVERTISED_PORT``, ``REST_HOST_NAME`` and
    ``REST_PORT``. A ``CONNECT_`` variable wins over a short one.
    """
    properties: dict[str, str] = {}
    for variable in _IMAGE_VARIABLES:
        if environment.get(variable):
            properties[variable.lower().replace("_", ".")] = environment[variable]
    host = environment.get("HOST_NAME", "")
    rest_host, rest_port = environment.get("REST_HOST_NAME", host), environment.get("REST_PORT", "")
    if rest_host or rest_port:
        properties["listeners"] = f"http://{rest_host}:{rest_port or 8083}"
    if advertised := environment.get("ADVERTISED_HOST_NAME", host):
        properties["rest.advertised.host.name"] = advertised
    if advertised_port := environment.get("ADVERTISED_PORT", rest_port):
        properties["rest.advertised.port"] = advertised_port
    for variable, value in environment.items():
        if variable.startswith("CONNECT_"):
            words = variable.removeprefix("CONNECT_").lower()
            properties[words.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")] = value
    return properties


def _integer(properties: Mapping[str, str], key: str, default: int, least: int) -> int:
    text = properties.get(key)
    if text is None:
        return default
    try:
        value = int(text.strip())
    except ValueError:
        raise SettingsError(f"Invalid value {text} for the worker property {key}: It must be a whole number") from None
    if value < least:
        raise SettingsError(f"Invalid value {text} for the worker property {key}: It must be at least {least}")
    return value


def _heartbeat_interval(properties: Mapping[str, str]) -> int:
    """A second where Connect's default is three: it is how long a connector rests that moves between two workers."""
    session = _integer(properties, "session.timeout.ms", 10_000, 1)
    interval = _integer(properties, "heartbeat.interval.ms", min(1_000, max(1, session // 3)), 1)
    if interval >= session:
        raise SettingsError(
            f"Invalid value {interval} for the worker property heartbeat.interval.ms: It must be less than session.timeout.ms ({session})"
        )
    return interval


def _store(properties: Mapping[str, str], which: str, partitions: int) -> StoreTopic:
    prefix = f"{which}.storage."
    under = {k.removeprefix(prefix): v for k, v in properties.items() if k.startswith(prefix)}
    extra = {k: v for k, v in under.items() if k not in _STORE_OWN_KEYS}
    default = {"config": "connect-configs", "offset": "connect-offsets", "status": "connect-status"}[which]
    name = properties.get(prefix + "topic", default).strip()
    if not name:
        raise SettingsError(f"The worker property {prefix}topic is empty. Name the topic, for example {default}.")
    if which == "config" and properties.get(prefix + "partitions", "1").strip() != "1":
        raise SettingsError("The worker property config.storage.partitions must be 1: the order of all configurations counts.")
    return StoreTopic(
        name=name,
        partitions=_integer(properties, prefix + "partitions", partitions, -1),
        replication_factor=_integer(properties, prefix + "replication.factor", 3, -1),
        settings=extra,
    )


def _exactly_once(properties: Mapping[str, str]) -> bool:
    """Whether tasks use transactions. With ``preparing`` they do not yet: that only readies a group of Connect's workers (KIP-618)."""
    given = properties.get("exactly.once.source.support", "disabled").strip()
    if given.upper() not in ("DISABLED", "PREPARING", "ENABLED", ""):
        raise SettingsError(
            f"Invalid value {given} for the worker property exactly.once.source.support: It must be disabled, preparing or enabled"
        )
    return given.upper() == "ENABLED"


def _override_policy(properties: Mapping[str, str]) -> str:
    policy = properties.get("connector.client.config.override.policy", "All").strip()
    name = policy.rsplit(".", 1)[-1].removesuffix("ConnectorClientConfigOverridePolicy")
    if name not in OVERRIDE_POLICIES:
        raise SettingsError(
            f"The worker property connector.client.config.override.policy is {policy}. "
            f"This worker plays {', '.join(OVERRIDE_POLICIES)}; choose one of them."
        )
    return name


def _preflight(properties: Mapping[str, str]) -> Preflight:
    given = properties.get("preflight", "warn").strip().lower()
    match given:
        case "warn" | "refuse" | "off":
            return given
        case _:
            raise SettingsError(f"Invalid value {given} for the worker property preflight: It must be warn, refuse or off")


def _plugins(properties: Mapping[str, str]) -> AllowedPlugins:
    try:
        return AllowedPlugins.parse(properties.get(PLUGIN_PACKAGES, ""))
    except ValueError as problem:
        raise SettingsError(
            f"The worker property {PLUGIN_PACKAGES} cannot be used: {problem}. "
            "Write names such as acme.converters, with commas between them."
        ) from None


def _providers(properties: Mapping[str, str]) -> dict[str, Provider]:
    providers: dict[str, Provider] = {}
    for alias in filter(None, (a.strip() for a in properties.get("config.providers", "").split(","))):
        prefix = f"config.providers.{alias}."
        class_name = properties.get(prefix + "class", "").strip()
        kind = PROVIDER_CLASSES.get(class_name)
        if kind is None:
            raise SettingsError(
                f"The worker property {prefix}class is {class_name or 'missing'}. This worker plays {', '.join(PROVIDER_CLASSES)}; "
                "use one of them, or take the provider out of config.providers."
            )
        providers[alias] = Provider(
            kind=kind,
            allowed_paths=_allowed_paths(properties, prefix + "param.allowed.paths"),
            allowed_names=_pattern(properties, prefix + "param.allowlist.pattern"),
        )
    return providers


def _allowed_paths(properties: Mapping[str, str], key: str) -> tuple[str, ...] | None:
    """The paths that a provider is limited to; None without a limit. As in Kafka each must be absolute and exist."""
    paths = properties.get(key, "")
    if not paths:
        return None
    allowed = tuple(path.strip() for path in paths.split(",") if path.strip())
    for path in allowed:
        absolute = Path(path).is_absolute()
        if not absolute or not Path(path).exists():
            why = "does not exist" if absolute else "is not absolute"
            raise SettingsError(f"Invalid value {paths} for the worker property {key}: The path {path} {why}")
    return allowed


def _pattern(properties: Mapping[str, str], key: str) -> str | None:
    pattern = properties.get(key)
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as problem:
            raise SettingsError(f"Invalid value {pattern} for the worker property {key}: {problem}") from None
    return pattern


def log_level(environment: Mapping[str, str]) -> str:
    """The level that the images' variables ask for: ``LOG_LEVEL`` (Debezium's) or ``CONNECT_LOG4J_ROOT_LOGLEVEL`` (Confluent's)."""
    return environment.get("LOG_LEVEL") or environment.get("CONNECT_LOG4J_ROOT_LOGLEVEL") or "INFO"


def current_environment() -> Mapping[str, str]:
    """The process's environment; here so that nothing else reads it."""
    return os.environ
