"""What a task is given, out of the connector's configuration and the worker's settings.

:meth:`TaskPlanner.refusals` and :meth:`TaskPlanner.shortcomings` say what of a configuration the worker (not the connector) cannot
do; :meth:`TaskPlanner.context` builds the task's context and is the only place where ``${…}`` references become values.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from connector.config_keys import CURRENT, BadVersionError, select_version
from connector.config_keys.checks import java_long
from connector.errors import CdcError, ErrorKind
from connector.ports import ExactlyOnce, KafkaSettings, Progress, TaskContext
from connector.public_validation import public_lines
from workers import client_overrides
from workers.converters import check_header_converter, converter
from workers.hidden import Hidden
from workers.notification_boards import NotificationBoards
from workers.plugins import TASK_CLASS
from workers.secrets import Resolution
from workers.settings import WorkerSettings
from workers.stores.offset_store import AllOffsets, ConnectorOffsets
from workers.stores.transactional_offsets import TransactionOffsets
from workers.supervisor import RetryPolicy

LOGGER: Final = logging.getLogger(__name__)

_CLIENT_KEYS: Final = ("bootstrap.servers", "request.timeout.ms", "metadata.max.age.ms", "connections.max.idle.ms", "retry.backoff.ms")
_SECURITY_PREFIXES: Final = ("security.protocol", "sasl.", "ssl.")
_PRINCIPAL_KEYS: Final = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})
_OVERRIDES: Final = ("producer.override.", "consumer.override.", "admin.override.")

TopicUsed = Callable[[str, str], None]
"""``topic_used(connector, topic)``."""


class TaskPlanner:
    """Plans the tasks of one worker."""

    def __init__(
        self, settings: WorkerSettings, offsets: AllOffsets, topic_used: TopicUsed, boards: NotificationBoards | None = None
    ) -> None:
        self._settings = settings
        self._offsets = offsets
        self._topic_used = topic_used
        self._boards = boards or NotificationBoards()

    def task_config(self, config: Mapping[str, str]) -> dict[str, str]:
        """The task configuration as the config topic holds it: references unresolved."""
        return {**config, "task.class": TASK_CLASS}

    def resolve(self, config: Mapping[str, str]) -> dict[str, str]:
        """``config`` with its references resolved. Raises CdcError(CONFIG_INVALID). Never store, return or log the result."""
        return self._settings.secrets.resolve(config)

    def look_up(self, config: Mapping[str, str]) -> Resolution:
        """As :meth:`resolve`, with what was replaced by what; a line in the log names each reference that stays as it is written."""
        return self._settings.secrets.look_up(config)

    def version(self, config: Mapping[str, str]) -> str:
        """The connector version that is played for ``config``; the present one where what it asks for cannot be had."""
        wanted = config.get("connector.plugin.version")
        if wanted is None:
            # Asked for each state that is told, and nearly always so.
            return CURRENT
        try:
            return select_version(self.resolve({"connector.plugin.version": wanted})["connector.plugin.version"])
        except (ValueError, CdcError):
            return CURRENT

    def refusals(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        """(property, one sentence) for everything that keeps the configuration from being saved; a sentence may quote the value."""
        found: list[tuple[str, str]] = []
        steps = config.get("transforms", "")
        if steps.strip():
            told = f"Invalid value {steps} for configuration transforms: This worker applies no transforms yet; leave it out"
            found.append(("transforms", told))
        if not self._settings.exactly_once and config.get("exactly.once.support", "").strip().lower() == "required":
            found.append(("exactly.once.support", "This worker does not have exactly-once source support enabled."))
        for key in config:
            prefix = next((p for p in _OVERRIDES if key.startswith(p)), None)
            if prefix is not None and not self._may_override(key.removeprefix(prefix)):
                policy, own = self._settings.override_policy, key.removeprefix(prefix)
                found.append((key, f"The '{policy}' policy does not allow '{own}' to be overridden in the connector configuration."))
        return found + [(key, line) for key, check in _CHECKS if (line := _line_of(check, config)) is not None]

    def shortcomings(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        """(property, one sentence) for what keeps the task from starting, although the reference takes the configuration.

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
        why = f"With exactly-once delivery records go where the offsets are, which is {servers}; leave it out"
        return [(key, f"Invalid value {other} for configuration {key}: {why}")]

    def context(self, name: str, config: Mapping[str, str]) -> TaskContext:
        """The context of one run. Raises CdcError(CONFIG_INVALID) that names the property, without values behind references."""
        resolution = self.look_up(config)
        resolved = resolution.values
        if problems := self._problems(resolved):
            told = public_lines(problems, self._problems(config), frozenset(resolution.found)) if resolution.found else problems
            raise CdcError(ErrorKind.CONFIG_INVALID, told[0][1], "Change the connector's configuration.")
        client_overrides.tell(resolved)
        self._report_offsets_topic(config, resolved)
        return TaskContext(
            connector=name,
            config=resolved,
            key_converter=converter(resolved, "key.converter", self._settings.key_converter),
            value_converter=converter(resolved, "value.converter", self._settings.value_converter),
            kafka=self._kafka(name, resolved),
            offsets=ConnectorOffsets(self._offsets, name),
            progress=Progress(),
            topic_used=lambda topic: self._topic_used(name, topic),
            offset_flush_interval=self._settings.offset_flush_interval,
            notify=self._boards.of(name).add,
            exactly_once=self._exactly_once(name, resolved),
            signal_directory=self._settings.signal_directory,
            hide=Hidden(found for each in resolution.found.values() for found in each),
            plugins=self._settings.plugins,
        )

    def _problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return self.refusals(config) + self.shortcomings(config)

    def _report_offsets_topic(self, config: Mapping[str, str], resolved: Mapping[str, str]) -> None:
        store = self._settings.offset_topic.name
        own = resolved.get("offsets.storage.topic", "").strip() or store
        if own != store and not self._settings.exactly_once:
            # The reference writes these offsets to both topics; its worker's own topic is the one that is shared with it.
            LOGGER.warning(
                "offsets.storage.topic has no effect without exactly.once.source.support=enabled",
                extra={"fields": {"named": config["offsets.storage.topic"], "used": store}},
            )

    def _exactly_once(self, name: str, config: Mapping[str, str]) -> ExactlyOnce | None:
        settings = self._settings
        if not settings.exactly_once:
            return None
        clients = {**settings.properties, "bootstrap.servers": settings.bootstrap_servers}
        own = config.get("offsets.storage.topic", "").strip() or None
        interval = 0.0
        if config.get("transaction.boundary", "").strip().lower() == "interval":
            interval = _number(config.get("transaction.boundary.interval.ms"), round(settings.offset_flush_interval * 1000)) / 1000
        return ExactlyOnce(
            # Connect's own form, so that each of the two fences the other's tasks.
            transactional_id=f"{settings.group_id}-{name}-0",
            offsets=TransactionOffsets(self._offsets, name, clients, settings.offset_topic, own),
            interval=interval,
        )

    def retry_policy(self, config: Mapping[str, str]) -> RetryPolicy:
        """Debezium's retry properties; a value that is no number has been refused before, so the default stands in."""
        wait_ms = _number(config.get("retriable.restart.connector.wait.ms"), -1)
        return RetryPolicy(
            wait=None if wait_ms < 0 else wait_ms / 1000,
            retries=_number(config.get("errors.max.retries"), -1),
        )

    def _may_override(self, key: str) -> bool:
        match self._settings.override_policy:
            case "All":
                return True
            case "Principal":
                return key in _PRINCIPAL_KEYS
            case _:
                return False

    def _kafka(self, name: str, config: Mapping[str, str]) -> KafkaSettings:
        worker = self._settings.properties
        base = {"bootstrap.servers": self._settings.bootstrap_servers}
        security = {k: v for k, v in worker.items() if k.startswith(_SECURITY_PREFIXES)}
        producer = _under(worker, "producer.")
        # Connect gives a producer only what is under "producer."; a worker that names its security once means it for both.
        inherited = {} if {"security.protocol", "bootstrap.servers"} & producer.keys() else security
        return KafkaSettings(
            producer={
                **base,
                "client.id": f"connector-producer-{name}-0",
                **inherited,
                **producer,
                **_under(config, "producer.override."),
            },
            admin={
                **base,
                **{k: worker[k] for k in _CLIENT_KEYS if k in worker},
                "client.id": f"connector-adminclient-{name}",
                **security,
                **_under(worker, "admin."),
                **_under(config, "admin.override."),
            },
            topic_creation=self._settings.topic_creation,
        )


def _check_version(config: Mapping[str, str]) -> None:
    try:
        select_version(config.get("connector.plugin.version"))
    except BadVersionError as problem:
        raise CdcError(ErrorKind.CONFIG_INVALID, str(problem)) from problem


def _check_converter(config: Mapping[str, str], which: str) -> None:
    # Without a converter of its own a connector has the worker's, with the worker's options: its own have no effect.
    if config.get(which, "").strip():
        converter(config, which)


_CHECKS: Final[tuple[tuple[str, Callable[[Mapping[str, str]], object]], ...]] = (
    ("connector.plugin.version", _check_version),
    ("key.converter", lambda config: _check_converter(config, "key.converter")),
    ("value.converter", lambda config: _check_converter(config, "value.converter")),
    ("header.converter", check_header_converter),
)


def _line_of(check: Callable[[Mapping[str, str]], object], config: Mapping[str, str]) -> str | None:
    try:
        check(config)
    except CdcError as problem:
        return problem.message
    return None


def _under(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix)}


def _number(text: str | None, default: int) -> int:
    number = None if text is None else java_long(text.strip())
    return default if number is None else number
