"""The worker's settings: Kafka Connect's own, from a distributed worker's properties file or the images' environment.

:meth:`WorkerSettings.from_properties` is the one place that reads them; :func:`worker_properties` chooses between a file, the
environment and Connect's defaults.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from connector.config.keys.versions import BadVersionError, select_version
from connector.configdef.patterns import regex_problem
from connector.errors import CdcError
from connector.java.properties import read_properties
from connector.java.trim import trim
from connector.plugins.allowed import PROPERTY as PLUGIN_PACKAGES
from connector.plugins.allowed import AllowedPlugins
from workers.rest.http_settings import HttpSettings
from workers.rest.login import PROPERTY, from_java_options, java_property
from workers.secret_stores.classes import STORE_CLASSES, ParameterError, store_of
from workers.secret_stores.store import SecretStore
from workers.settings.class_map import class_map
from workers.settings.client_overrides import ALLOWED
from workers.settings.config_providers import PROVIDER_CLASSES, Provider, Secrets
from workers.settings.console import ConsoleSettings
from workers.settings.converters import Converters, boolean, check_converter, converters, default_class
from workers.settings.image_variables import from_environment
from workers.settings.keys import sort_out
from workers.settings.log_format import LogFormat
from workers.settings.metrics import AGENT, MetricsSettings
from workers.settings.metrics import from_java_options as metrics_agent
from workers.settings.prefix import under
from workers.settings.preflight import Preflight

OVERRIDE_POLICIES: Final = ("All", "Allowlist", "None", "Principal")
ALLOWLIST: Final = "connector.client.config.override.allowlist"
CONFIG_PARTITIONS: Final = "config.storage.partitions"
"""Without effect, as in Kafka Connect: the topic has one partition, because the order of all configurations counts."""

_AS_WRITTEN: Final = ("config.providers.", "header.converter.", "key.converter.", "value.converter.")
"""The properties that Connect hands over as they are. It trims the values of all others, as the clients do (``ConfigDef.parseType``)."""
_STORE_OWN_KEYS: Final = frozenset({"topic", "partitions", "replication.factor", "file.filename"})


class SettingsError(Exception):
    """The worker cannot start with these settings. The text names every wrong key and how to correct it."""


@dataclass(frozen=True, slots=True)
class StoreTopic:
    """One of the three internal topics. ``partitions`` and ``replication_factor`` may be -1: the broker's default.

    ``settings`` are other settings for its creation (``config.storage.<setting>``).
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
    converters: Converters
    """Those of connectors that choose none."""
    secrets: Secrets
    console: ConsoleSettings
    metrics: MetricsSettings
    connector_version: str
    """The version of Debezium that connectors emulate which choose none."""
    override_policy: str
    override_allowlist: frozenset[str]
    """The properties of Kafka clients that connectors may set with the policy ``Allowlist``, without ``producer.override.`` etc."""
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
    """The user classes that connectors may name."""
    class_map: Mapping[str, str]
    """Java class → the Python class in its place (``class.map.<Java class>``)."""
    properties: Mapping[str, str] = field(repr=False)
    ignored: tuple[str, ...] = ()
    """Keys without an effect here."""
    unknown: tuple[str, ...] = ()
    """Keys that Kafka Connect does not have either."""

    @property
    def worker_id(self) -> str:
        """``host:port``, the name of this worker in statuses."""
        return f"{self.http.advertised_host}:{self.http.advertised_port}"

    @staticmethod
    def from_properties(given: Mapping[str, str]) -> WorkerSettings:
        """Read ``given``. An absent key has Connect's default. Raises SettingsError that lists all unsupported keys.

        The keys without a default may be absent, because some commands need none of them: the group's and the topics' names are empty
        then, and the converters Connect's usual ones. What joins the group or uses the topics calls
        :func:`workers.settings.required.require_all`.
        """
        problems, ignored, unknown = sort_out(given)
        if problems:
            raise SettingsError("\n".join(problems))
        try:
            secrets = Secrets(_providers(given))
            properties = _trimmed(secrets.look_up(given).values)
            classes, plugins = class_map(properties), _plugins(properties)
            for side in ("key", "value", "header"):
                check_converter({f"{side}.converter": default_class(side), **properties}, side, classes)
            return WorkerSettings(
                bootstrap_servers=properties.get("bootstrap.servers", "localhost:9092"),
                group_id=properties.get("group.id", ""),
                config_topic=_store(properties, "config", 1),
                offset_topic=_store(properties, "offset", 25),
                status_topic=_store(properties, "status", 5),
                http=HttpSettings.from_properties(properties),
                converters=converters(properties, classes),
                secrets=secrets,
                console=ConsoleSettings.from_properties(properties),
                metrics=MetricsSettings.from_properties(properties),
                connector_version=_connector_version(properties),
                override_policy=_override_policy(properties),
                override_allowlist=_override_allowlist(properties),
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
                plugins=plugins,
                class_map=classes,
                properties=properties,
                ignored=tuple(ignored),
                unknown=tuple(unknown),
            )
        except CdcError as problem:
            raise SettingsError(str(problem)) from problem


def worker_properties(file: Path | None, environment: Mapping[str, str]) -> dict[str, str]:
    """The properties of ``file``, or, when it is None, those of ``environment``. Raises SettingsError for an unreadable file.

    Options in ``KAFKA_OPTS`` that have a meaning here are added in both cases: the JAAS file, the allowed sources of tokens, and the port
    and the rules of JMX exporter's agent.
    """
    options = environment.get("KAFKA_OPTS", "")
    jaas_file = from_java_options(options)
    named = {PROPERTY: jaas_file} if jaas_file else {}
    if agent := metrics_agent(options):
        named[AGENT] = agent
    named |= {key: value for key in ALLOWED.values() if (value := java_property(options, key))}
    return named | (from_environment(environment) if file is None else _from_file(file))


def _from_file(file: Path) -> dict[str, str]:
    try:
        return read_properties(file.read_bytes())
    except OSError as problem:
        raise SettingsError(f"Cannot read the worker properties {file}: {problem.strerror}") from problem
    except ValueError as problem:
        raise SettingsError(f"Cannot read the worker properties {file}: {problem}") from problem


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
    """The default is one second instead of Connect's three, because a connector that moves to another worker stands still that long."""
    session = _integer(properties, "session.timeout.ms", 10_000, 1)
    interval = _integer(properties, "heartbeat.interval.ms", min(1_000, max(1, session // 3)), 1)
    if interval >= session:
        raise SettingsError(
            f"Invalid value {interval} for the worker property heartbeat.interval.ms: It must be less than session.timeout.ms ({session})"
        )
    return interval


def _store(properties: Mapping[str, str], which: str, partitions: int) -> StoreTopic:
    prefix = f"{which}.storage."
    own = under(properties, prefix)
    extra = {k: v for k, v in own.items() if k not in _STORE_OWN_KEYS}
    return StoreTopic(
        name=properties.get(prefix + "topic", "").strip(),
        partitions=partitions
        if prefix + "partitions" == CONFIG_PARTITIONS
        else _integer(properties, prefix + "partitions", partitions, -1),
        replication_factor=_integer(properties, prefix + "replication.factor", 3, -1),
        settings=extra,
    )


def _exactly_once(properties: Mapping[str, str]) -> bool:
    """Whether tasks use transactions. With ``preparing`` they do not: it only prepares a group of Connect's workers (KIP-618)."""
    given = properties.get("exactly.once.source.support", "disabled").strip()
    if given.upper() not in ("DISABLED", "PREPARING", "ENABLED", ""):
        raise SettingsError(
            f"Invalid value {given} for the worker property exactly.once.source.support: It must be disabled, preparing or enabled"
        )
    return given.upper() == "ENABLED"


def _trimmed(values: Mapping[str, str]) -> dict[str, str]:
    return {key: value if key.startswith(_AS_WRITTEN) else trim(value) for key, value in values.items()}


def _override_allowlist(properties: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name.strip() for name in properties.get(ALLOWLIST, "").split(",") if name.strip())


def _override_policy(properties: Mapping[str, str]) -> str:
    policy = properties.get("connector.client.config.override.policy", "All").strip()
    name = policy.rsplit(".", 1)[-1].removesuffix("ConnectorClientConfigOverridePolicy")
    if name not in OVERRIDE_POLICIES:
        raise SettingsError(
            f"The worker property connector.client.config.override.policy is {policy}. "
            f"This worker supports {', '.join(OVERRIDE_POLICIES)}; choose one of them."
        )
    return name


def _connector_version(properties: Mapping[str, str]) -> str:
    try:
        return select_version(properties.get("connector.plugin.version"))
    except BadVersionError as problem:
        raise SettingsError(f"The worker property connector.plugin.version cannot be used: {problem}") from None


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
            f"The worker property {PLUGIN_PACKAGES} cannot be used: {problem}. Write names such as acme.converters, separated by commas."
        ) from None


def _providers(properties: Mapping[str, str]) -> dict[str, Provider]:
    providers: dict[str, Provider] = {}
    for alias in filter(None, (a.strip() for a in properties.get("config.providers", "").split(","))):
        prefix = f"config.providers.{alias}."
        class_name = properties.get(prefix + "class", "").strip()
        if class_name in STORE_CLASSES:
            providers[alias] = Provider("store", store=_store_of(properties, prefix, class_name))
            continue
        kind = PROVIDER_CLASSES.get(class_name)
        if kind is None:
            raise SettingsError(
                f"The worker property {prefix}class is {class_name or 'missing'}. This worker supports "
                f"{', '.join([*PROVIDER_CLASSES, *STORE_CLASSES])}; use one of them, or remove the provider from config.providers."
            )
        providers[alias] = Provider(
            kind=kind,
            allowed_paths=_allowed_paths(properties, prefix + "param.allowed.paths"),
            allowed_names=_pattern(properties, prefix + "param.allowlist.pattern"),
        )
    return providers


def _store_of(properties: Mapping[str, str], prefix: str, class_name: str) -> SecretStore:
    param = f"{prefix}param."
    parameters = under(properties, param)
    try:
        return store_of(class_name, parameters, os.environ)
    except ParameterError as problem:
        key = f"{param}{problem.name}" if problem.name else f"{prefix}class"
        raise SettingsError(f"The worker property {key} cannot be used: {problem}.") from None


def _allowed_paths(properties: Mapping[str, str], key: str) -> tuple[str, ...] | None:
    """The paths that limit a provider; None without a limit. As in Kafka each path must be absolute and exist."""
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
    if pattern is not None and (problem := regex_problem(pattern)) is not None:
        raise SettingsError(f"Invalid value {pattern} for the worker property {key}: {problem}")
    return pattern


def log_level(environment: Mapping[str, str]) -> str:
    """The level that the images' variables ask for: ``LOG_LEVEL`` (Debezium's) or ``CONNECT_LOG4J_ROOT_LOGLEVEL`` (Confluent's)."""
    return environment.get("LOG_LEVEL") or environment.get("CONNECT_LOG4J_ROOT_LOGLEVEL") or "INFO"


def log_format(properties: Mapping[str, str]) -> LogFormat:
    """The form of the log's lines (``log.format``), which is read before all other settings. Raises SettingsError for an unknown form."""
    given = properties.get("log.format", "text").strip().lower()
    match given:
        case "text" | "json":
            return given
        case _:
            raise SettingsError(f"Invalid value {given} for the worker property log.format: It must be text or json")


def current_environment() -> Mapping[str, str]:
    """The process's environment. Only this function reads it."""
    return os.environ
