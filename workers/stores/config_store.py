"""The config topic: connectors, their task configurations and target states, in Kafka Connect's own keys and values.

Keys (``KafkaConfigBackingStore``): ``connector-<name>``, ``target-state-<name>``, ``task-<name>-<n>``, ``commit-<name>``,
``restart-connector-<name>``, ``logger-cluster-<name>``. Records of ``session-key`` and ``tasks-fencing-<name>`` are ignored. Task
configurations count only up to the number in the last ``commit-`` record. As in Kafka Connect the task and commit records of a removed
connector stay in the topic; this store drops them from memory, and does not take them for those of a later connector of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

import orjson

from connect_api.herder import TargetState
from connector.log import EventLog
from workers.stores.records import RecordError, connector_name, json_object, key_text, member, pass_over, task_name
from workers.stores.topic_log import Entry, TopicLog

LOG: Final = EventLog(__name__)

_TARGET_STATES: Final = frozenset(get_args(TargetState))
_CONNECTOR: Final = "connector-"
_TARGET: Final = "target-state-"
_TASK: Final = "task-"
_COMMIT: Final = "commit-"
_RESTART: Final = "restart-connector-"
_LOGGER: Final = "logger-cluster-"
_TASK_CLASS: Final = "task.class"
"""What Kafka Connect adds to a connector's configuration for its task."""
_OTHERS: Final = ("session-key", "tasks-fencing-")
"""Beginnings of the keys that only workers of Kafka Connect use."""


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """A request for a restart, written by a worker or a tool (KIP-745)."""

    name: str
    include_tasks: bool
    only_failed: bool


@dataclass(frozen=True, slots=True)
class LoggerRequest:
    """A request to set a logger's level on all workers (KIP-976). ``level`` is as it was written."""

    name: str
    level: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """The record at ``offset`` created a connector (``exists``) or deleted it."""

    offset: int
    name: str
    exists: bool


Change = str | RestartRequest | LoggerRequest
"""A connector's name (its configuration, tasks or target state changed), or a request for a restart or a level."""


class ConfigStore:
    """The wanted state of all connectors. Reads answer from memory. A write returns when Kafka has acknowledged it and it is in memory.

    ``changed`` is called with each change that arrives after :meth:`start`, whoever wrote it.
    """

    def __init__(self, log: TopicLog, changed: Callable[[Change], None]) -> None:
        self._log = log
        self._changed = changed
        self._following = False
        self._configs: dict[str, dict[str, str]] = {}
        self._targets: dict[str, TargetState] = {}
        self._tasks: dict[str, dict[int, dict[str, str]]] = {}
        self._commits: dict[str, int] = {}
        self.revision = 0
        """Grows with every change in memory."""
        self.offset = -1
        """The offset of the last applied record."""
        self.arrivals: list[Arrival] = []
        """Creations and deletions in the topic's order, without those dropped by :meth:`forget_arrivals`. For those read at the start
        the order may be incomplete, because compaction removes records. For later ones it is complete."""

    @property
    def problem(self) -> str:
        """Why the topic is not followed; empty while it is."""
        return self._log.problem

    async def start(self) -> None:
        """Read the topic. Requests that it holds already have no effect."""
        await self._log.start(self._apply)
        self._following = True

    async def catch_up(self) -> None:
        """Return when every record that exists now has been applied. Raises CdcError(STORE)."""
        await self._log.catch_up()

    def forget_arrivals(self, offset: int) -> None:
        """Drop the arrivals up to ``offset``."""
        self.arrivals = [arrival for arrival in self.arrivals if arrival.offset > offset]

    async def stop(self) -> None:
        """Close the store."""
        await self._log.stop()

    def names(self) -> Sequence[str]:
        """The names of all connectors, in the order of their records in the topic."""
        return list(self._configs)

    def config(self, name: str) -> Mapping[str, str] | None:
        """A connector's configuration as it was stored, or None."""
        return self._configs.get(name)

    def target(self, name: str) -> TargetState:
        """The wanted state of the connector; STARTED by default."""
        return self._targets.get(name, "STARTED")

    def tasks(self, name: str) -> Sequence[Mapping[str, str]]:
        """The committed task configurations; empty when they are incomplete."""
        known = self._tasks.get(name, {})
        count = self._commits.get(name, 0)
        return [known[n] for n in range(count)] if all(n in known for n in range(count)) else []

    async def put_connector(self, name: str, config: Mapping[str, str], target: TargetState | None = None) -> None:
        """Store a configuration, and before it the target state when one is given (KIP-980)."""
        entries = [] if target is None else [_target_entry(name, target)]
        await self._log.write([*entries, _entry(_CONNECTOR + name, {"properties": config})])

    async def delete_connector(self, name: str) -> None:
        """Remove configuration and target state."""
        await self._log.write([_entry(_CONNECTOR + name, None), _entry(_TARGET + name, None)])

    async def put_tasks(self, name: str, configs: Sequence[Mapping[str, str]]) -> None:
        """Store and commit task configurations."""
        entries = [_entry(f"{_TASK}{name}-{n}", {"properties": config}) for n, config in enumerate(configs)]
        await self._log.write([*entries, _commit_entry(name, len(configs))])

    async def put_target(self, name: str, target: TargetState) -> None:
        """Store a target state. STOPPED also removes the task configurations (KIP-875)."""
        entries = [_commit_entry(name, 0)] if target == "STOPPED" else []
        await self._log.write([*entries, _target_entry(name, target)])

    async def put_restart(self, request: RestartRequest) -> None:
        """Ask all workers to restart the connector."""
        value = {"include-tasks": request.include_tasks, "only-failed": request.only_failed}
        await self._log.write([_entry(_RESTART + request.name, value)])

    async def put_logger(self, request: LoggerRequest) -> None:
        """Ask all workers to set the logger's level."""
        await self._log.write([_entry(_LOGGER + request.name, {"level": request.level})])

    def _apply(self, entries: Sequence[Entry]) -> None:
        self.revision += 1
        changes: dict[Change, None] = {}
        for entry in entries:
            self.offset = max(self.offset, entry.offset)
            try:
                change = self._apply_one(key_text(entry.key), entry)
            except Exception as problem:  # noqa: BLE001 (no record may end the follower)
                pass_over(self._log.name, entry.partition, entry.offset, problem)
                continue
            if change is not None:
                # A repeated request takes the place of its last record in the order.
                changes.pop(change, None)
                changes[change] = None
        if self._following:
            for change in changes:
                try:
                    self._changed(change)
                except Exception as problem:  # noqa: BLE001 (the other changes must still be followed)
                    LOG.error("config topic change not applied", topic=self._log.name, cause=problem)  # noqa: TRY400 (with the traceback)

    def _apply_one(self, key: str, entry: Entry) -> Change | None:
        if key.startswith(_OTHERS):
            return None
        value = json_object(entry.value)
        if key.startswith(_CONNECTOR):
            return self._apply_connector(connector_name(key.removeprefix(_CONNECTOR)), value, entry.offset)
        if key.startswith(_TARGET):
            return self._apply_target(connector_name(key.removeprefix(_TARGET)), value)
        if key.startswith(_TASK):
            name, number = task_name(key.removeprefix(_TASK))
            if value is None:
                self._tasks.get(name, {}).pop(number, None)
            else:
                self._tasks.setdefault(name, {})[number] = _properties(value)
            return name
        if key.startswith(_COMMIT):
            name = connector_name(key.removeprefix(_COMMIT))
            self._commits[name] = 0 if value is None else member(value, "tasks", int)
            return name
        if key.startswith(_RESTART):
            name = connector_name(key.removeprefix(_RESTART))
            if value is None:
                return None
            # As in Kafka Connect every value other than true counts as false.
            return RestartRequest(name, value.get("include-tasks") is True, value.get("only-failed") is True)
        if key.startswith(_LOGGER):
            return None if value is None else LoggerRequest(key.removeprefix(_LOGGER), member(value, "level", str))
        raise RecordError("its key is not one of Kafka Connect's")

    def _apply_connector(self, name: str, value: Mapping[str, Any] | None, offset: int) -> Change:
        existed = name in self._configs
        if value is None:
            self._configs.pop(name, None)
            self._tasks.pop(name, None)
            self._commits.pop(name, None)
        else:
            self._configs[name] = _properties(value)
            if not existed:
                self._drop_others(name, self._configs[name])
        if existed != (name in self._configs):
            self.arrivals.append(Arrival(offset, name, not existed))
        return name

    def _drop_others(self, name: str, config: Mapping[str, str]) -> None:
        """Drop task configurations that were read before the connector's first record and were not made from it.

        They are those of a deleted connector, if compaction has removed the record of its deletion.
        """
        tasks = self._tasks.get(name, {}).values()
        if any({key: value for key, value in task.items() if key != _TASK_CLASS} != config for task in tasks):
            self._tasks.pop(name, None)
            self._commits.pop(name, None)

    def _apply_target(self, name: str, value: Mapping[str, Any] | None) -> Change:
        if value is None:
            self._targets.pop(name, None)
            return name
        # Workers before 3.5 have no STOPPED. They read "state", which is PAUSED for a stopped connector; "state.v2" has the real state.
        word = value.get("state.v2", value.get("state"))
        if not isinstance(word, str) or word not in _TARGET_STATES:
            raise RecordError("its state is not a target state")
        self._targets[name] = word  # type: ignore[assignment]
        return name


def _properties(value: Mapping[str, Any]) -> dict[str, str]:
    properties = member(value, "properties", dict)
    if any(isinstance(v, dict | list) for v in properties.values()):
        raise RecordError("one of its properties is not text")
    # Old workers could store nulls. Kafka Connect treats such a property as absent.
    return {k: v if isinstance(v, str) else orjson.dumps(v).decode() for k, v in properties.items() if v is not None}


def _entry(key: str, value: object | None) -> Entry:
    return Entry(key.encode(), None if value is None else orjson.dumps(value))


def _commit_entry(name: str, count: int) -> Entry:
    return _entry(_COMMIT + name, {"tasks": count})


def _target_entry(name: str, target: TargetState) -> Entry:
    return _entry(_TARGET + name, {"state": "PAUSED" if target == "STOPPED" else target, "state.v2": target})
