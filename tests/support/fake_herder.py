"""A herder in memory, with Kafka Connect's refusals, and a client that talks to the REST layer over it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import cast

import httpx
from fastapi import FastAPI

from connect_api.app import create_app
from connect_api.herder import (
    ConfigInfos,
    ConfigKey,
    ConfigValue,
    ConnectorInfo,
    ConnectorState,
    Health,
    Herder,
    HerderError,
    LoggerLevel,
    Note,
    Offset,
    Plugin,
    ServerInfo,
    SignalRequest,
    State,
    Status,
    TargetState,
    TaskInfo,
)

CLASS = "io.debezium.connector.postgresql.PostgresConnector"
WORKER = "10.0.0.7:8083"
VERSION = "3.6.3.Final"
KEY = ConfigKey("topic.prefix", "STRING", False, None, "HIGH", "Begins names.", "Postgres", 1, "MEDIUM", "Topic prefix", ())
HEALTHY = Health("healthy", "Worker has completed startup and is ready to handle requests.")
STATES: Mapping[TargetState, ConnectorState] = {"STARTED": "RUNNING", "PAUSED": "PAUSED", "STOPPED": "STOPPED"}


@dataclass
class Connector:
    config: dict[str, str]
    target: TargetState = "STARTED"
    trace: str | None = None
    """Set: task 0 has failed, or the connector, if it has no task."""
    offsets: list[Offset] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)

    @property
    def tasks(self) -> list[int]:
        return [] if self.target == "STOPPED" else [0]


@dataclass
class FakeHerder:
    """Obeys ``connect_api.herder.Herder``. ``calls`` holds what changed something, in order."""

    known: dict[str, Connector] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    levels: dict[str, LoggerLevel] = field(
        default_factory=lambda: {"connector": LoggerLevel("DEBUG", 7), "root": LoggerLevel("INFO", None)}
    )
    waits: int = 0
    refuses: HerderError | None = None
    """Raised for the next signal or reset of topics."""
    calls: list[tuple[object, ...]] = field(default_factory=list)
    state: Health = HEALTHY
    vanished: set[str] = field(default_factory=set)
    """Listed, but gone when asked for."""

    def add(self, name: str, *, target: TargetState = "STARTED", trace: str | None = None, **config: str) -> Connector:
        settings = {"connector.class": CLASS, "topic.prefix": name, **config, "name": name}
        connector = Connector(settings, target, trace)
        self.known[name] = connector
        return connector

    def server_info(self) -> ServerInfo:
        return ServerInfo("4.3.0", "a9ce3221537b8653", "aOJQVFq4Teia2MZgCiCxeA")

    async def next_assignment(self, seconds: float) -> None:
        """The fake's group never changes."""

    async def caught_up(self) -> None:
        """The fake knows all."""

    def revision(self) -> object:
        """Tests change what is known as they like."""
        return object()

    def health(self) -> Health:
        return self.state

    def connectors(self) -> Sequence[str]:
        return tuple(self.known)

    def connector_info(self, name: str) -> ConnectorInfo:
        connector = self._find(name, f"Connector {name} not found")
        return ConnectorInfo(name, MappingProxyType(connector.config), tuple(connector.tasks), "source")

    def connector_status(self, name: str) -> Status:
        connector = self._find(name, f"No status found for connector {name}")
        state = State(STATES[connector.target], WORKER, VERSION)
        if connector.trace is not None and not connector.tasks:
            state = State("FAILED", WORKER, VERSION, connector.trace)
        return Status(name, state, {task: self.task_status(name, task) for task in connector.tasks}, "source")

    def task_status(self, name: str, task: int) -> State:
        missing = f"No status found for task {name}-{task}"
        connector = self._find(name, missing)
        if task not in connector.tasks:
            raise HerderError(404, missing)
        if connector.trace is not None:
            return State("FAILED", WORKER, VERSION, connector.trace)
        return State(STATES[connector.target], WORKER, VERSION)

    def task_configs(self, name: str) -> Sequence[TaskInfo]:
        connector = self._find(name, f"Connector {name} not found")
        config = {**connector.config, "task.class": "io.debezium.connector.postgresql.PostgresConnectorTask"}
        return [TaskInfo(name, task, config) for task in connector.tasks]

    async def put_connector(
        self, name: str, config: Mapping[str, str | None], *, allow_replace: bool, initial_state: TargetState | None = None
    ) -> tuple[bool, ConnectorInfo]:
        self.calls.append(("put", name, dict(config), allow_replace, initial_state))
        if not config.get("connector.class"):
            raise HerderError(400, f"Connector config {{name={name}}} contains no connector type")
        if None in config.values():
            raise HerderError(400, "Null value can not be supplied as the configuration value.")
        is_new = name not in self.known
        if not is_new and not allow_replace:
            raise HerderError(409, f"Connector {name} already exists")
        settings = {key: value for key, value in config.items() if value is not None}
        if is_new:
            self.known[name] = Connector(settings, initial_state or "STARTED")
            return True, ConnectorInfo(name, settings, (), "source")
        self.known[name].config = settings
        return False, self.connector_info(name)

    async def delete_connector(self, name: str) -> None:
        self._find(name, f"Connector {name} not found")
        self.calls.append(("delete", name))
        del self.known[name]

    async def set_target_state(self, name: str, state: TargetState) -> None:
        self._find(name, f"Unknown connector {name}").target = state
        self.calls.append(("target", name, state))

    async def restart_connector(self, name: str, *, include_tasks: bool, only_failed: bool) -> Status:
        connector = self._find(name, f"Unknown connector: {name}")
        self.calls.append(("restart", name, include_tasks, only_failed))
        restarting = State("RESTARTING", WORKER, None)
        running = State("RUNNING", WORKER, VERSION)
        tasks = dict.fromkeys(connector.tasks, restarting if include_tasks else running)
        return Status(name, running if only_failed else restarting, tasks, "source")

    async def restart_task(self, name: str, task: int) -> None:
        if task not in self._find(name, f"Unknown connector: {name}").tasks:
            raise HerderError(404, f"Unknown task: {name}-{task}")
        self.calls.append(("restart task", name, task))

    async def offsets(self, name: str) -> Sequence[Offset]:
        return tuple(self._find(name, f"Connector {name} not found").offsets)

    async def patch_connector(self, name: str, patch: Mapping[str, str | None]) -> ConnectorInfo:
        known = self._find(name, f"Connector {name} not found").config
        self.calls.append(("patch", name, dict(patch)))
        self.known[name].config = {key: value for key, value in {**known, **patch}.items() if value is not None}
        return self.connector_info(name)

    async def alter_offsets(self, name: str, changes: Sequence[Offset]) -> str:
        self._find(name, f"Connector {name} not found")
        self.calls.append(("alter", name, [*changes]))
        return "altered"

    async def reset_offsets(self, name: str) -> str:
        self._find(name, f"Connector {name} not found").offsets.clear()
        self.calls.append(("reset", name))
        return "reset"

    def reset_active_topics(self, name: str) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.calls.append(("reset topics", name))

    def loggers(self) -> Mapping[str, LoggerLevel]:
        return MappingProxyType(self.levels)

    def logger(self, name: str) -> LoggerLevel:
        if name not in self.levels:
            raise HerderError(404, f"Logger {name} not found.")
        return self.levels[name]

    def set_logger_level(self, name: str, level: str) -> Sequence[str]:
        self.calls.append(("level", name, level))
        return (name, f"{name}.below")

    async def set_cluster_logger_level(self, name: str, level: str) -> None:
        self.calls.append(("cluster level", name, level))

    def plugins(self, connectors_only: bool) -> Sequence[Plugin]:
        others = [Plugin("org.example.Unwrap", "transformation", VERSION), Plugin("org.example.IsTombstone", "predicate", None)]
        return [Plugin(CLASS, "source", VERSION), *([] if connectors_only else others)]

    def plugin_config(self, plugin: str, version: str | None) -> Sequence[ConfigKey]:
        if plugin != "Postgres":
            raise HerderError(404, f"Unknown plugin {plugin}.")
        if version not in (None, VERSION):
            raise HerderError(400, f"Plugin {CLASS} not found that matches the version range [{version},{version}]")
        return (KEY,)

    async def validate_config(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        self.calls.append(("validate", plugin, dict(config)))
        if plugin != "Postgres":
            raise HerderError(400, f"Included connector type {config.get('connector.class')} does not match request type {plugin}")
        prefix = config.get("topic.prefix")
        value = ConfigValue("topic.prefix", prefix, (), () if prefix else ("missing",), True)
        unknown = [(None, ConfigValue(key, None, (), ("null",), True)) for key, text in config.items() if text is None]
        return ConfigInfos(CLASS, len(unknown) + (not prefix), ("Common", "Postgres"), [*unknown, (KEY, value)])

    def active_topics(self, name: str) -> Sequence[str]:
        return tuple(self.known[name].topics) if name in self.known else ()

    def progress(self, name: str) -> Mapping[str, object]:
        self._find(name, f"Connector {name} not found")
        return MappingProxyType({"phase": "snapshot", "tables": ({"table": "public.a", "rows": 7},)})

    async def signal(self, name: str, request: SignalRequest) -> str:
        self._find(name, f"Connector {name} not found")
        if self.refuses is not None:
            raise self.refuses
        self.calls.append(("signal", name, request))
        return request.id or "new"

    def notifications(self, name: str, after: int) -> Sequence[Note]:
        self._find(name, f"Connector {name} not found")
        return [note for note in self.notes if note.number > after]

    async def next_notifications(self, name: str, after: int, seconds: float) -> Sequence[Note] | None:
        """What is there, once; then nothing came in time, once; then it is over."""
        if after < len(self.notes):
            return self.notifications(name, after)
        self.waits += 1
        return None if self.waits > 1 else ()

    def clear_notifications(self, name: str) -> None:
        self._find(name, f"Connector {name} not found")
        self.notes.clear()

    def _find(self, name: str, missing: str) -> Connector:
        if name not in self.known or name in self.vanished:
            raise HerderError(404, missing)
        return self.known[name]


class Stage:
    """Stands where a herder is expected and hands every call to ``herder``: building an app per test would double their time."""

    herder: FakeHerder

    def __getattr__(self, verb: str) -> object:
        return getattr(self.herder, verb)


@cache
def _app(advertised_url: str | None) -> tuple[Stage, FastAPI]:
    stage = Stage()
    return stage, create_app(cast("Herder", stage), advertised_url=advertised_url)


@asynccontextmanager
async def rest(herder: FakeHerder, *, advertised_url: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client of the REST layer over ``herder``, without a socket; no exception may leave the app."""
    stage, app = _app(advertised_url)
    stage.herder = herder
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://connect.example:8083") as client:
        yield client


def failure(status: int, message: str) -> dict[str, object]:
    """The body of a failure."""
    return {"error_code": status, "message": message}
