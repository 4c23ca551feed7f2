"""The verbs that the REST dialect needs of whoever runs the connectors.

Names are Kafka Connect's (``Herder``). The REST layer turns HTTP into these calls and their results into Connect's JSON;
it knows nothing of workers, tasks, Kafka or PostgreSQL. Every verb answers from memory, except those that say otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

ConnectorState = Literal["UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED"]
TargetState = Literal["STARTED", "PAUSED", "STOPPED"]


class HerderError(Exception):
    """A refusal with its HTTP status and the message for the body (``{"error_code": status, "message": message}``)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Elsewhere(Exception):  # noqa: N818 (no failure: the call goes on at another worker)
    """Only another worker of the group can do this: the one at ``url``, or None while the group decides which.

    Any verb but the plain reads may raise it; :mod:`connect_api.forwarding` sends the call there.
    """

    def __init__(self, url: str | None) -> None:
        super().__init__(url)
        self.url = url


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What ``GET /`` tells. ``version`` is the Kafka Connect version that is played."""

    version: str
    commit: str
    kafka_cluster_id: str


@dataclass(frozen=True, slots=True)
class Health:
    """``status`` is healthy, starting or unhealthy; the REST layer makes 200, 503 or 500 of it (KIP-1017)."""

    status: Literal["healthy", "starting", "unhealthy"]
    message: str


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """A connector as GET /connectors/{c} shows it. ``tasks`` are task ids; ``config`` is verbatim, with ``name``."""

    name: str
    config: Mapping[str, str]
    tasks: Sequence[int]
    type: Literal["source", "sink", "unknown"]


@dataclass(frozen=True, slots=True)
class State:
    """State of a connector or a task. ``trace`` is left out of the JSON when it is None.

    ``versioned`` is False where ``version`` is to be left out too, as before KIP-891.
    """

    state: ConnectorState
    worker_id: str
    version: str | None
    trace: str | None = None
    versioned: bool = True


@dataclass(frozen=True, slots=True)
class Status:
    """A connector's status with its tasks' by id."""

    name: str
    connector: State
    tasks: Mapping[int, State]
    type: Literal["source", "sink", "unknown"]


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task's id and its configuration (the connector's, plus ``task.class``)."""

    connector: str
    task: int
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Plugin:
    """A line of ``GET /connector-plugins``."""

    class_name: str
    type: str
    version: str | None


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """What is known of a property (Connect's ``ConfigKeyInfo``). ``group`` is None and ``order_in_group`` -1 for one without."""

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    group: str | None
    order_in_group: int
    width: str
    display_name: str
    dependents: Sequence[str]


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """What validation found of a property (``ConfigValueInfo``)."""

    name: str
    value: str | None
    recommended_values: Sequence[str]
    errors: Sequence[str]
    visible: bool
    warnings: Sequence[str] = ()
    """What would hurt and refuses nothing: an extension of ours, shown when it is asked for."""


@dataclass(frozen=True, slots=True)
class ConfigInfos:
    """A validated configuration. A property that nothing is known of, set to null, has no :class:`ConfigKey`."""

    name: str
    error_count: int
    groups: Sequence[str]
    configs: Sequence[tuple[ConfigKey | None, ConfigValue]]


@dataclass(frozen=True, slots=True)
class Offset:
    """One source partition and its offset, both JSON objects as Connect stores them. An offset of None is to be forgotten.

    Only a change may name no partition (None): Connect stores such a record and never shows it.
    """

    partition: Mapping[str, object] | None
    offset: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """A logger's level in Log4j's words, and when it was last changed (milliseconds), None if never."""

    level: str
    last_modified: int | None


@dataclass(frozen=True, slots=True)
class SignalRequest:
    """A signal to a connector. ``data`` is the text of a JSON object."""

    id: str | None
    type: str
    data: str | None


@dataclass(frozen=True, slots=True)
class Note:
    """A notification of a connector: its running number, what it is about, and all of it as JSON."""

    number: int
    event: str
    content: Mapping[str, object]


class Herder(Protocol):
    """Raises :class:`HerderError` with Connect's own status and message where a verb is refused."""

    def server_info(self) -> ServerInfo:
        """Facts about the worker and its Kafka cluster."""

    def health(self) -> Health:
        """Whether the worker has read its topics and answers."""

    async def next_assignment(self, seconds: float) -> None:
        """Return when the group has shared its connectors anew, or after so many seconds."""

    async def caught_up(self) -> None:
        """Return when this worker knows of everything that any worker has stored so far. 500 when Kafka does not answer."""

    def revision(self) -> object:
        """Equal to what it was before as long as no connector's name, configuration, tasks or states have changed."""

    def connectors(self) -> Sequence[str]:
        """Names of all connectors, in the order they were created."""

    def connector_info(self, name: str) -> ConnectorInfo:
        """404 ``Connector {name} not found``."""

    def connector_status(self, name: str) -> Status:
        """404 ``No status found for connector {name}``."""

    def task_status(self, name: str, task: int) -> State:
        """404 ``No status found for task {name}-{task}``."""

    def task_configs(self, name: str) -> Sequence[TaskInfo]:
        """404 ``Connector {name} not found``; empty for a stopped connector."""

    async def put_connector(
        self, name: str, config: Mapping[str, str | None], *, allow_replace: bool, initial_state: TargetState | None = None
    ) -> tuple[bool, ConnectorInfo]:
        """Validate (with a look at the database), store and start. Answers (created, info).

        409 ``Connector {name} already exists`` when it exists and may not be replaced; 400 with Connect's validation text.
        Returns when the configuration is stored in the config topic; the connector's tasks may not run yet.
        """

    async def patch_connector(self, name: str, patch: Mapping[str, str | None]) -> ConnectorInfo:
        """Merge ``patch`` into the configuration (None removes a property), then as :meth:`put_connector` (KIP-477).

        404 ``Connector {name} not found``; 400 when the patch holds another name.
        """

    async def delete_connector(self, name: str) -> None:
        """Stop it and forget its configuration; offsets stay. 404 ``Connector {name} not found``."""

    async def set_target_state(self, name: str, state: TargetState) -> None:
        """pause, resume, stop. 404 ``Unknown connector {name}``."""

    async def restart_connector(self, name: str, *, include_tasks: bool, only_failed: bool) -> Status:
        """Begin the restart and answer the status with RESTARTING where it will happen (KIP-745). 404 ``Unknown connector: {name}``."""

    async def restart_task(self, name: str, task: int) -> None:
        """404 ``Unknown connector: {name}`` or ``Unknown task: {name}-{task}``."""

    async def offsets(self, name: str) -> Sequence[Offset]:
        """The stored offsets of a connector. 404 ``Connector {name} not found``."""

    async def alter_offsets(self, name: str, changes: Sequence[Offset]) -> str:
        """Store or forget offsets of a stopped connector; answers Connect's sentence about it (KIP-875).

        Of several changes of one partition the last counts. 404 ``Connector {name} not found``; 400 while it is not STOPPED.
        """

    async def reset_offsets(self, name: str) -> str:
        """Forget all offsets of a stopped connector; answers and refuses as :meth:`alter_offsets`."""

    def plugins(self, connectors_only: bool) -> Sequence[Plugin]:
        """The plugins this worker plays."""

    def plugin_config(self, plugin: str, version: str | None) -> Sequence[ConfigKey]:
        """The properties of a plugin, by any of its names, in the version that an exact one or a Maven range chooses (KIP-769, KIP-891).

        404 ``Unknown plugin {plugin}.``; 400 when no version fits.
        """

    async def validate_config(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        """Check a configuration as :meth:`put_connector` does, with a look at the database, and tell all; nothing is stored.

        400 when the configuration is of another plugin, 500 when it names none that is known.
        """

    def active_topics(self, name: str) -> Sequence[str]:
        """Topics the connector has written to since the last reset; empty for an unknown one (KIP-558)."""

    def reset_active_topics(self, name: str) -> None:
        """Forget them; those that are written to come back. Nothing happens for an unknown connector (KIP-558)."""

    def loggers(self) -> Mapping[str, LoggerLevel]:
        """All loggers of the worker by name, in the order of their names (KIP-495)."""

    def logger(self, name: str) -> LoggerLevel:
        """The level of one. 404 ``Logger {name} not found.``."""

    def set_logger_level(self, name: str, level: str) -> Sequence[str]:
        """Set the level of a logger and of those below it; answers the names of those whose level is another now."""

    async def set_cluster_logger_level(self, name: str, level: str) -> None:
        """The same on every worker of the group (KIP-976): each follows the config topic. ``level`` is stored as it was written."""

    def progress(self, name: str) -> Mapping[str, object]:
        """JSON for ``GET /connectors/{c}/progress``: an extension of ours. 404 ``Connector {name} not found``."""

    def signal(self, name: str, request: SignalRequest) -> str:
        """Hand a signal to the running task; answers the signal's id. An extension of ours.

        404 ``Connector {name} not found``; 400 for a signal that makes no sense; 409 when its channel is not enabled or the task does
        not stream.
        """

    def notifications(self, name: str, after: int) -> Sequence[Note]:
        """The notifications kept with higher numbers. An extension of ours. 404 ``Connector {name} not found``."""

    async def next_notifications(self, name: str, after: int, seconds: float) -> Sequence[Note] | None:
        """Wait for such; empty after so many seconds, None when no more will come. 404 ``Connector {name} not found``."""

    def clear_notifications(self, name: str) -> None:
        """Forget them. 404 ``Connector {name} not found``."""
