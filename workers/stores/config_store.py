"""The config topic: connectors, their task configurations and target states, in Kafka Connect's own keys and values.

Keys (``KafkaConfigBackingStore``): ``connector-<name>``, ``target-state-<name>``, ``task-<name>-<n>``, ``commit-<name>``,
``restart-connector-<name>``, ``logger-cluster-<name>``; ``session-key`` and ``tasks-fencing-<name>`` are other workers' business. Task
configurations count only up to the number that the last ``commit-`` record names. A removed connector's task and commit
records stay behind in the topic, as Connect leaves them; they are forgotten here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

import orjson

from connect_api.herder import TargetState
from workers.stores.log import Entry, Log
from workers.stores.records import RecordError, connector_name, json_object, key_text, member, pass_over, task_name

LOGGER: Final = logging.getLogger(__name__)

_TARGET_STATES: Final = frozenset(get_args(TargetState))
_CONNECTOR: Final = "connector-"
_TARGET: Final = "target-state-"
_TASK: Final = "task-"
_COMMIT: Final = "commit-"
_RESTART: Final = "restart-connector-"
_LOGGER: Final = "logger-cluster-"
_OTHERS: Final = ("session-key", "tasks-fencing-")
"""What other workers keep here for themselves."""


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """Another worker's or tool's wish for a restart (KIP-745)."""

    name: str
    include_tasks: bool
    only_failed: bool


@dataclass(frozen=True, slots=True)
class LoggerRequest:
    """Somebody's wish that all workers log from this level on (KIP-976); ``level`` as it was written."""

    name: str
    level: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """A connector came to be (``exists``) or was deleted, by the record at ``offset``."""

    offset: int
    name: str
    exists: bool


Change = str | RestartRequest | LoggerRequest
"""A connector's name (its configuration, tasks or target state changed), or a request for a restart or a level."""


class ConfigStore:
    """What is wanted. Reads answer from memory; a write returns once Kafka has acknowledged it and it is in memory.

    ``changed`` is called with each change that arrives after :meth:`start`, whoever wrote it.
    """

    def __init__(self, log: Log, changed: Callable[[Change], None]) -> None:
        self._log = log
        self._changed = changed
        self._following = False
        self._configs: dict[str, dict[str, str]] = {}
        self._targets: dict[str, TargetState] = {}
        self._tasks: dict[str, dict[int, dict[str, str]]] = {}
        self._commits: dict[str, int] = {}
        self.revision = 0
        """Grows with every change of what is answered."""
        self.offset = -1
        """Of the last record that was applied."""
        self.arrivals: list[Arrival] = []
        """In the topic's order, as far as they are not forgotten (:meth:`forget_arrivals`). Of what was read at the start compaction
        may have taken records away, and with them the order; what is followed is whole."""

    @property
    def problem(self) -> str:
        """Why the topic is not followed; empty while it is."""
        return self._log.problem

    async def start(self) -> None:
        """Read the topic; requests of the past are not followed."""
        await self._log.start(self._apply)
        self._following = True

    async def catch_up(self) -> None:
        """Return when all that anybody has written so far is known. Raises CdcError(STORE)."""
        await self._log.catch_up()

    def forget_arrivals(self, offset: int) -> None:
        """Those up to ``offset`` are of no further use."""
        self.arrivals = [arrival for arrival in self.arrivals if arrival.offset > offset]

    async def stop(self) -> None:
        """Close."""
        await self._log.stop()

    def names(self) -> Sequence[str]:
        """Connectors, in the order of their records in the topic."""
        return list(self._configs)

    def config(self, name: str) -> Mapping[str, str] | None:
        """A connector's configuration as it was stored, or None."""
        return self._configs.get(name)

    def target(self, name: str) -> TargetState:
        """What the connector is to be; STARTED unless somebody said otherwise."""
        return self._targets.get(name, "STARTED")

    def tasks(self, name: str) -> Sequence[Mapping[str, str]]:
        """The committed task configurations; none when they are incomplete."""
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
        """Store a target state. A connector that is to be STOPPED loses its tasks with it (KIP-875)."""
        entries = [_commit_entry(name, 0)] if target == "STOPPED" else []
        await self._log.write([*entries, _target_entry(name, target)])

    async def put_restart(self, request: RestartRequest) -> None:
        """Ask all workers to restart the connector."""
        value = {"include-tasks": request.include_tasks, "only-failed": request.only_failed}
        await self._log.write([_entry(_RESTART + request.name, value)])

    async def put_logger(self, request: LoggerRequest) -> None:
        """Ask all workers to log from this level on."""
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
                # Of requests that follow each other the last must come last.
                changes.pop(change, None)
                changes[change] = None
        if self._following:
            for change in changes:
                try:
                    self._changed(change)
                except Exception:
                    LOGGER.exception("a change of the config topic could not be followed", extra={"fields": {"topic": self._log.name}})

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
            # As in the reference, what is not true counts as false.
            return RestartRequest(name, value.get("include-tasks") is True, value.get("only-failed") is True)
        if key.startswith(_LOGGER):
            return None if value is None else LoggerRequest(key.removeprefix(_LOGGER), member(value, "level", str))
        raise RecordError("its key is none of Kafka Connect's")

    def _apply_connector(self, name: str, value: Mapping[str, Any] | None, offset: int) -> Change:
        existed = name in self._configs
        if value is None:
            self._configs.pop(name, None)
            self._tasks.pop(name, None)
            self._commits.pop(name, None)
        else:
            self._configs[name] = _properties(value)
        if existed != (name in self._configs):
            self.arrivals.append(Arrival(offset, name, not existed))
        return name

    def _apply_target(self, name: str, value: Mapping[str, Any] | None) -> Change:
        if value is None:
            self._targets.pop(name, None)
            return name
        # Workers before 3.5 know no STOPPED: they read "state", where a stopped connector is PAUSED; "state.v2" is the truth.
        word = value.get("state.v2", value.get("state"))
        if not isinstance(word, str) or word not in _TARGET_STATES:
            raise RecordError("its state is no target state")
        self._targets[name] = word  # type: ignore[assignment]
        return name


def _properties(value: Mapping[str, Any]) -> dict[str, str]:
    properties = member(value, "properties", dict)
    if any(isinstance(v, dict | list) for v in properties.values()):
        raise RecordError("one of its properties is no text")
    # Old workers could store nulls; Connect reads such a property as absent.
    return {k: v if isinstance(v, str) else orjson.dumps(v).decode() for k, v in properties.items() if v is not None}


def _entry(key: str, value: object | None) -> Entry:
    return Entry(key.encode(), None if value is None else orjson.dumps(value))


def _commit_entry(name: str, count: int) -> Entry:
    return _entry(_COMMIT + name, {"tasks": count})


def _target_entry(name: str, target: TargetState) -> Entry:
    return _entry(_TARGET + name, {"state": "PAUSED" if target == "STOPPED" else target, "state.v2": target})
