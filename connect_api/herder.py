"""The interface between the REST dialect and the worker that runs the connectors.

Names are Kafka Connect's (``Herder``). The REST layer turns HTTP into these calls and their results into Connect's JSON. It does not
depend on workers, tasks, Kafka or PostgreSQL. Each method answers from memory unless its docstring says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

ConnectorState = Literal["UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED"]
TargetState = Literal["STARTED", "PAUSED", "STOPPED"]


class HerderError(Exception):
    """A refused call: the HTTP status and the message of the body (``{"error_code": status, "message": message}``)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Elsewhere(Exception):  # noqa: N818 (not a failure: another worker takes the call)
    """Only another worker of the group can do this: the one at ``url``, or None while the group has not decided which.

    Every method except the plain reads may raise it. :mod:`connect_api.forwarding` forwards the call to that worker.
    """

    def __init__(self, url: str | None) -> None:
        super().__init__(url)
        self.url = url


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The answer of ``GET /``. ``version`` is the emulated version of Kafka Connect."""

    version: str
    commit: str
    kafka_cluster_id: str


@dataclass(frozen=True, slots=True)
class Health:
    """The answer of ``GET /health``: healthy is 200, starting 503, unhealthy 500 (KIP-1017)."""

    status: Literal["healthy", "starting", "unhealthy"]
    message: str


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """A connector as GET /connectors/{c} shows it. ``tasks`` are task ids; ``config`` is as it was sent, with ``name``."""

    name: str
    config: Mapping[str, str]
    tasks: Sequence[int]
    type: Literal["source", "sink", "unknown"]


@dataclass(frozen=True, slots=True)
class State:
    """The state of a connector or a task. The JSON has no ``trace`` when it is None.

    With ``versioned`` False the JSON has no ``version`` either, as before KIP-891.
    """

    state: ConnectorState
    worker_id: str
    version: str | None
    trace: str | None = None
    versioned: bool = True


@dataclass(frozen=True, slots=True)
class Status:
    """A connector's state and its tasks' states by task id."""

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
    """An element of ``GET /connector-plugins``."""

    class_name: str
    type: str
    version: str | None


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """The definition of a property (Connect's ``ConfigKeyInfo``). Without a group ``group`` is None and ``order_in_group`` -1."""

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
    """The result of a property's validation (Connect's ``ConfigValueInfo``)."""

    name: str
    value: str | None
    recommended_values: Sequence[str]
    errors: Sequence[str]
    visible: bool
    warnings: Sequence[str] = ()
    """Problems that do not make the configuration invalid. An extension: shown only on request."""


@dataclass(frozen=True, slots=True)
class ConfigInfos:
    """A validated configuration. An unknown property whose value is null has no :class:`ConfigKey`."""

    name: str
    error_count: int
    groups: Sequence[str]
    configs: Sequence[tuple[ConfigKey | None, ConfigValue]]


@dataclass(frozen=True, slots=True)
class Offset:
    """One source partition and its offset, both JSON objects as Connect stores them. In a change None as offset removes it.

    Only a change may have None as partition: Connect stores such a record and never shows it.
    """

    partition: Mapping[str, object] | None
    offset: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """A logger's level in Log4j's words, and the time of its last change (milliseconds since 1970), None if there was none."""

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
    """A notification of a connector: its number, which grows by one, the name of its event, and its JSON members."""

    number: int
    event: str
    content: Mapping[str, object]


class Herder(Protocol):
    """Runs the connectors. A refused call raises :class:`HerderError` with Connect's own status and message."""

    def server_info(self) -> ServerInfo:
        """The worker's version and its Kafka cluster."""

    def health(self) -> Health:
        """Whether the worker has read its topics and can answer."""

    async def next_assignment(self, seconds: float) -> None:
        """Return when the group has assigned its connectors again, or after ``seconds``."""

    async def caught_up(self) -> None:
        """Return when this worker has read everything that any worker has stored so far. 500 when Kafka does not answer."""

    def revision(self) -> object:
        """A value that stays equal as long as no connector's name, configuration, tasks or states change."""

    def connectors(self) -> Sequence[str]:
        """Names of all connectors, in the order of their creation."""

    def connector_info(self, name: str) -> ConnectorInfo:
        """The connector's configuration and tasks. 404 ``Connector {name} not found``."""

    def connector_status(self, name: str) -> Status:
        """The states of the connector and its tasks. 404 ``No status found for connector {name}``."""

    def task_status(self, name: str, task: int) -> State:
        """The state of a task. 404 ``No status found for task {name}-{task}``."""

    def task_configs(self, name: str) -> Sequence[TaskInfo]:
        """The tasks and their configurations; empty for a stopped connector. 404 ``Connector {name} not found``."""

    async def put_connector(
        self, name: str, config: Mapping[str, str | None], *, allow_replace: bool, initial_state: TargetState | None = None
    ) -> tuple[bool, ConnectorInfo]:
        """Validate the configuration (this queries the database), store it and start the connector. Returns (created, info).

        409 ``Connector {name} already exists`` when it exists and may not be replaced; 400 with Connect's validation text.
        Returns when the config topic holds the configuration. The connector's tasks may not run yet.
        """

    async def patch_connector(self, name: str, patch: Mapping[str, str | None]) -> ConnectorInfo:
        """Merge ``patch`` into the configuration (None removes a property), then as :meth:`put_connector` (KIP-477).

        404 ``Connector {name} not found``; 400 when the patch holds another name.
        """

    async def delete_connector(self, name: str) -> None:
        """Stop the connector and remove its configuration. Its offsets stay. 404 ``Connector {name} not found``."""

    async def set_target_state(self, name: str, state: TargetState) -> None:
        """Pause, resume or stop the connector. 404 ``Unknown connector {name}``."""

    async def restart_connector(self, name: str, *, include_tasks: bool, only_failed: bool) -> Status:
        """Begin the restart. Returns the status, with RESTARTING for all that restarts (KIP-745). 404 ``Unknown connector: {name}``."""

    async def restart_task(self, name: str, task: int) -> None:
        """Restart a task. 404 ``Unknown connector: {name}`` or ``Unknown task: {name}-{task}``."""

    async def offsets(self, name: str) -> Sequence[Offset]:
        """The stored offsets of a connector, read from Kafka. 404 ``Connector {name} not found``."""

    async def alter_offsets(self, name: str, changes: Sequence[Offset]) -> str:
        """Store or remove offsets of a stopped connector. Returns Connect's sentence about it (KIP-875).

        The last of several changes of one partition counts. 404 ``Connector {name} not found``; 400 while it is not STOPPED.
        """

    async def reset_offsets(self, name: str) -> str:
        """Remove all offsets of a stopped connector. Returns and raises as :meth:`alter_offsets`."""

    def plugins(self, connectors_only: bool) -> Sequence[Plugin]:
        """The plugins of this worker: connectors alone, or all."""

    def plugin_config(self, plugin: str, version: str | None) -> Sequence[ConfigKey]:
        """The properties of a plugin, by any of its names, in the version that an exact one or a Maven range chooses (KIP-769, KIP-891).

        404 ``Unknown plugin {plugin}.``; 400 when no version fits.
        """

    async def validate_config(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        """Check a configuration as :meth:`put_connector` does (this queries the database) and return every result. Nothing is stored.

        400 when the configuration is for another plugin, 500 when it names an unknown plugin.
        """

    def active_topics(self, name: str) -> Sequence[str]:
        """The topics that the connector has written to since the last reset; empty for an unknown connector (KIP-558)."""

    def reset_active_topics(self, name: str) -> None:
        """Forget the connector's topics until it writes to them again. No-op for an unknown connector (KIP-558)."""

    def loggers(self) -> Mapping[str, LoggerLevel]:
        """All loggers of the worker by name, in the order of their names (KIP-495)."""

    def logger(self, name: str) -> LoggerLevel:
        """The level of a logger. 404 ``Logger {name} not found.``."""

    def set_logger_level(self, name: str, level: str) -> Sequence[str]:
        """Set the level of a logger and of those below it. Returns the names of the loggers whose level has changed."""

    async def set_cluster_logger_level(self, name: str, level: str) -> None:
        """Set the level on every worker of the group, through the config topic (KIP-976). ``level`` is stored as it was written."""

    def progress(self, name: str) -> Mapping[str, object]:
        """The JSON of ``GET /connectors/{c}/progress``, an extension. 404 ``Connector {name} not found``."""

    async def signal(self, name: str, request: SignalRequest) -> str:
        """Deliver a signal to the running task. Returns the signal's id. An extension.

        404 ``Connector {name} not found``; 400 for an invalid signal; 409 when the channel for it is not enabled or the task does not
        stream.
        """

    def notifications(self, name: str, after: int) -> Sequence[Note]:
        """The kept notifications with numbers above ``after``. An extension. 404 ``Connector {name} not found``."""

    async def next_notifications(self, name: str, after: int, seconds: float) -> Sequence[Note] | None:
        """Wait for notifications with numbers above ``after``; empty after ``seconds``, None when there will be no more.

        404 ``Connector {name} not found``.
        """

    def clear_notifications(self, name: str) -> None:
        """Remove the kept notifications. 404 ``Connector {name} not found``."""
