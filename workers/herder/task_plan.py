"""Builds the context of a task from the connector's configuration and the worker's settings.

:meth:`TaskPlanner.refusals` and :meth:`TaskPlanner.shortcomings` list the properties that the worker (not the connector) does not support.
:meth:`TaskPlanner.context` builds the task's context and is the only place where ``${…}`` references become values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeVar

from connector.config.keys import DEFAULT_VERSION, BadVersionError, select_version
from connector.config.keys.versions import LATEST
from connector.configdef.validators import java_long
from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.progress import Progress
from connector.emulation import emulation_of
from connector.errors import CdcError, ErrorKind
from connector.log import EventLog
from connector.runner.context import ExactlyOnce, TaskContext
from workers.herder.notification_logs import NotificationLogs
from workers.herder.plugins import TASK_CLASS
from workers.herder.supervisor import RetryPolicy
from workers.settings import client_overrides
from workers.settings.class_map import with_python_classes
from workers.settings.config_providers import Resolution
from workers.settings.converters import check_converter, converters
from workers.settings.prefix import under
from workers.settings.redaction import Hidden
from workers.settings.worker_settings import WorkerSettings
from workers.stores.offset_store import AllOffsets, ConnectorOffsets
from workers.stores.transactional_offsets import TransactionOffsets

LOG: Final = EventLog(__name__)

_CLIENT_KEYS: Final = ("bootstrap.servers", "request.timeout.ms", "metadata.max.age.ms", "connections.max.idle.ms", "retry.backoff.ms")
_SECURITY_PREFIXES: Final = ("security.protocol", "sasl.", "ssl.")
_PRINCIPAL_KEYS: Final = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})
_PRODUCER: Final = "producer.override."
_OVERRIDES: Final = (_PRODUCER, "consumer.override.", "admin.override.")
_OWN_TOPIC: Final = "offsets.storage.topic"

Text = TypeVar("Text", str, str | None)
TopicUsed = Callable[[str, str], None]
"""``topic_used(connector, topic)``."""


class TaskPlanner:
    """Plans the tasks of one worker."""

    def __init__(
        self, settings: WorkerSettings, offsets: AllOffsets, topic_used: TopicUsed, notifications: NotificationLogs | None = None
    ) -> None:
        self._settings = settings
        self._offsets = offsets
        self._topic_used = topic_used
        self._notifications = notifications or NotificationLogs()
        self._versions: dict[str, str] = {}
        """References to servers in connector.plugin.version, with their values."""

    def task_config(self, config: Mapping[str, str]) -> dict[str, str]:
        """The task configuration as the config topic holds it, with its references."""
        return {**config, "task.class": TASK_CLASS}

    async def resolve(self, config: Mapping[str, str]) -> dict[str, str]:
        """``config`` with its references resolved. Never store, return or log the result.

        Raises CdcError(CONFIG_INVALID), CdcError(PROVIDER_UNREACHABLE).
        """
        return dict((await self.look_up(config)).values)

    def as_read(self, resolved: Mapping[str, str]) -> dict[str, str]:
        """Return a resolved configuration as the task reads it: with the emulated version, and Python's classes in place of Java's."""
        return with_python_classes(self.with_version(resolved), self._settings.class_map)

    async def look_up(self, config: Mapping[str, str]) -> Resolution:
        """As :meth:`resolve`, and return each replacement too. The log names each reference that stays as it is written."""
        return await self._settings.secrets.looked_up(config)

    async def class_and_version(self, config: Mapping[str, str]) -> dict[str, str]:
        """These two properties of ``config``, resolved, if it has them. From here on :meth:`version` knows the version."""
        wanted = config.get("connector.plugin.version")
        found = await self.resolve({key: config[key] for key in ("connector.class", "connector.plugin.version") if key in config})
        if wanted is not None and self._settings.secrets.asks_servers(wanted):
            self._versions[wanted] = found["connector.plugin.version"]
        return found

    def version(self, config: Mapping[str, str]) -> str:
        """The emulated version of the connector for ``config``. It is the current one if the wanted version does not exist.

        Asks no server: a reference to one counts as :meth:`class_and_version` resolved it last.
        """
        wanted = config.get("connector.plugin.version")
        if wanted is None or wanted.strip() == LATEST:
            # The usual case. It must be fast, because every write of a state calls this method.
            return self._settings.connector_version
        secrets = self._settings.secrets
        try:
            chosen = self._versions.get(wanted) if secrets.asks_servers(wanted) else secrets.resolve({"": wanted})[""]
            return select_version(chosen)
        except (ValueError, CdcError):
            return self._settings.connector_version

    @property
    def connector_version(self) -> str:
        """The version of connectors that choose none."""
        return self._settings.connector_version

    def with_version(self, config: Mapping[str, Text]) -> dict[str, Text | str]:
        """``config`` with the worker's version of the connector, if the configuration chooses none and the worker's is not the default."""
        own = self._settings.connector_version
        chosen: dict[str, Text | str] = dict(config)
        wanted = config.get("connector.plugin.version", LATEST) or ""
        if own != DEFAULT_VERSION and wanted.strip() == LATEST:
            chosen["connector.plugin.version"] = own
        return chosen

    def refusals(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        """(property, one sentence) for each reason not to store the configuration. A sentence may quote the value."""
        found: list[tuple[str, str]] = []
        if not self._settings.exactly_once and config.get("exactly.once.support", "").strip().lower() == "required":
            found.append(("exactly.once.support", "This worker does not have exactly-once source support enabled."))
        for key in config:
            prefix = next((p for p in _OVERRIDES if key.startswith(p)), None)
            if prefix is not None and not self._may_override(key.removeprefix(prefix)):
                policy, own = self._settings.override_policy, key.removeprefix(prefix)
                found.append((key, f"The '{policy}' policy does not allow '{own}' to be overridden in the connector configuration."))
        from connector.transforms.steps import refused_steps  # noqa: PLC0415 (every transform; not needed before the first connector)

        found += refused_steps(config, emulation_of(self.version(config)))
        checks = {"connector.plugin.version": lambda: _check_version(config), **self._converter_checks(config)}
        return found + [(key, line) for key, check in checks.items() if (line := _line_of(check)) is not None]

    def _converter_checks(self, config: Mapping[str, str]) -> dict[str, Callable[[], None]]:
        settings = self._settings
        return {f"{side}.converter": partial(check_converter, config, side, settings.class_map) for side in ("key", "value", "header")}

    def shortcomings(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        """(property, one sentence) for each reason why the task cannot start with a configuration that Kafka Connect would accept.

        A sentence may quote the value.
        """
        found = client_overrides.refusals(config, self._settings.properties)
        found += self._exactly_once_shortcomings(config)
        if not found:
            planned = self._kafka("", config)
            found += client_overrides.unusable(config, {"producer": planned.producer, "admin": planned.admin})
        return found

    def _exactly_once_shortcomings(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        servers = self._settings.bootstrap_servers
        key = "producer.override.bootstrap.servers"
        other = config.get(key, servers).strip()
        if other == servers or not self._settings.exactly_once:
            return []
        why = f"With exactly-once delivery records are written to the cluster of the offsets, {servers}; leave it out"
        return [(key, f"Invalid value {other} for configuration {key}: {why}")]

    async def context(self, name: str, config: Mapping[str, str]) -> TaskContext:
        """The context of one run.

        Raises CdcError(CONFIG_INVALID), CdcError(PROVIDER_UNREACHABLE), which name the property and hold no value of a reference.
        """
        resolution = await self.look_up(config)
        resolved = resolution.values
        if problems := self._problems(resolved):
            if resolution.found:
                from connector.config.redacted_validation import public_lines  # noqa: PLC0415 (every transform; rarely needed)

                problems = public_lines(problems, self._problems(config), frozenset(resolution.found))
            raise CdcError(ErrorKind.CONFIG_INVALID, problems[0][1], "Change the connector's configuration.")
        resolved = self.as_read(resolved)
        chosen = converters(resolved, self._settings.class_map, self._settings.converters)
        emulation = emulation_of(select_version(resolved.get("connector.plugin.version")))
        key_settings, value_settings, conversion = chosen.conversion(resolved, emulation, self._settings.plugins)
        client_overrides.log_ineffective(resolved)
        if conversion is None and (unused := chosen.unused()):
            LOG.warning("properties unknown to their converter, they have no effect", properties=", ".join(unused))
        self._report_offsets_topic(config, resolved)
        return TaskContext(
            connector=name,
            config=resolved,
            key_converter=key_settings,
            value_converter=value_settings,
            conversion=conversion,
            kafka=self._kafka(name, resolved),
            offsets=ConnectorOffsets(self._offsets, name),
            progress=Progress(),
            topic_used=lambda topic: self._topic_used(name, topic),
            offset_flush_interval=self._settings.offset_flush_interval,
            notify=self._notifications.of(name).add,
            exactly_once=self._exactly_once(name, resolved),
            signal_directory=self._settings.signal_directory,
            hide=Hidden(resolution.found),
            plugins=self._settings.plugins,
        )

    def _problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return self.refusals(config) + self.shortcomings(config)

    def _report_offsets_topic(self, config: Mapping[str, str], resolved: Mapping[str, str]) -> None:
        store = self._settings.offset_topic.name
        own = resolved.get(_OWN_TOPIC, "").strip() or store
        if own != store and not self._settings.exactly_once:
            # Kafka Connect writes these offsets to both topics. A worker of Kafka Connect in the same group reads the worker's own topic.
            LOG.warning(
                "offsets.storage.topic has no effect without exactly.once.source.support=enabled",
                named=config[_OWN_TOPIC],
                used=store,
            )

    def _exactly_once(self, name: str, config: Mapping[str, str]) -> ExactlyOnce | None:
        settings = self._settings
        if not settings.exactly_once:
            return None
        interval = 0.0
        if config.get("transaction.boundary", "").strip().lower() == "interval":
            interval = _number(config.get("transaction.boundary.interval.ms"), round(settings.offset_flush_interval * 1000)) / 1000
        return ExactlyOnce(
            # Connect's own form, so that this worker and Kafka Connect fence each other's tasks.
            transactional_id=f"{settings.group_id}-{name}-0",
            offsets=self._transaction_offsets(name, config),
            interval=interval,
        )

    async def transaction_offsets(self, name: str, config: Mapping[str, str]) -> TransactionOffsets | None:
        """The offsets of a connector that has its own topic for them; None without or if delivery is not exactly once.

        Raises CdcError as :meth:`resolve`.
        """
        if not self._settings.exactly_once or _OWN_TOPIC not in config:
            return None
        needed = {key: value for key, value in config.items() if key == _OWN_TOPIC or key.startswith(_PRODUCER)}
        return self._transaction_offsets(name, await self.resolve(needed))

    def _transaction_offsets(self, name: str, resolved: Mapping[str, str]) -> TransactionOffsets:
        settings = self._settings
        clients = {**settings.properties, "bootstrap.servers": settings.bootstrap_servers}
        own = resolved.get(_OWN_TOPIC, "").strip() or None
        return TransactionOffsets(self._offsets, name, clients, settings.offset_topic, own, self._kafka(name, resolved).producer)

    def retry_policy(self, config: Mapping[str, str]) -> RetryPolicy:
        """Debezium's retry properties. A value that is not a number has been refused before; here it means the default."""
        wait_ms = _number(config.get("retriable.restart.connector.wait.ms"), -1)
        return RetryPolicy(
            wait=None if wait_ms < 0 else wait_ms / 1000,
            retries=_number(config.get("errors.max.retries"), -1),
        )

    def _may_override(self, key: str) -> bool:
        match self._settings.override_policy:
            case "All":
                return True
            case "Allowlist":
                return key in self._settings.override_allowlist
            case "Principal":
                return key in _PRINCIPAL_KEYS
            case _:
                return False

    def _kafka(self, name: str, config: Mapping[str, str]) -> KafkaSettings:
        worker = self._settings.properties
        base = {"bootstrap.servers": self._settings.bootstrap_servers}
        security = {k: v for k, v in worker.items() if k.startswith(_SECURITY_PREFIXES)}
        producer = under(worker, "producer.")
        # In Kafka Connect a producer has only the settings below "producer.". Security that is set once counts for all clients here.
        inherited = {} if {"security.protocol", "bootstrap.servers"} & producer.keys() else security
        return KafkaSettings(
            producer={
                **base,
                "client.id": f"connector-producer-{name}-0",
                **inherited,
                **producer,
                **under(config, _PRODUCER),
            },
            admin={
                **base,
                **{k: worker[k] for k in _CLIENT_KEYS if k in worker},
                "client.id": f"connector-adminclient-{name}",
                **security,
                **under(worker, "admin."),
                **under(config, "admin.override."),
            },
            topic_creation=self._settings.topic_creation,
        )


def _check_version(config: Mapping[str, str]) -> None:
    try:
        select_version(config.get("connector.plugin.version"))
    except BadVersionError as problem:
        raise CdcError(ErrorKind.CONFIG_INVALID, str(problem)) from problem


def _line_of(check: Callable[[], None]) -> str | None:
    try:
        check()
    except CdcError as problem:
        return problem.message
    return None


def _number(text: str | None, default: int) -> int:
    number = None if text is None else java_long(text.strip())
    return default if number is None else number
