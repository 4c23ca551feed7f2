"""The status topic: states of connectors and tasks, and the topics in use, in Kafka Connect's own keys and values.

Keys (``KafkaStatusBackingStore``): ``status-connector-<name>``, ``status-task-<name>-<n>`` and, for topic tracking (KIP-558),
``status-topic-<topic>:connector-<name>``.

A state is in memory at once and is written in the background, as in Kafka Connect; writes of one key never overlap.
:meth:`StatusStore.flush` waits for the writes. A failed write is repeated until it succeeds, or until another worker has written the key,
which then has newer knowledge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, get_args

import orjson

from connect_api.herder import ConnectorState
from connector.errors import CdcError
from connector.log import EventLog
from workers.stores.records import RecordError, connector_name, json_object, key_text, member, optional_text, pass_over, task_name
from workers.stores.topic_log import Entry, TopicLog

LOG: Final = EventLog(__name__)

_STATES: Final = frozenset(get_args(ConnectorState))
_CONNECTOR: Final = "status-connector-"
_TASK: Final = "status-task-"
_TOPIC: Final = "status-topic-"
_RETRY_SECONDS: Final = 5.0
_END_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class StatusEntry:
    """A stored state. ``version`` is the plugin's; workers of Kafka Connect before 4.1 write none."""

    state: ConnectorState
    worker_id: str
    generation: int
    version: str | None
    trace: str | None = None


class StatusStore:
    """The actual states. ``start`` reads the topic, reads answer from memory, and ``put_*`` and ``drop_*`` neither fail nor wait.

    ``worker_id`` is the worker's, in the states that it puts. ``pause`` waits for seconds.
    """

    def __init__(self, log: TopicLog, worker_id: str = "", pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._log = log
        self._worker_id = worker_id
        self._pause = pause
        self._connectors: dict[str, StatusEntry] = {}
        self._tasks: dict[str, dict[int, StatusEntry]] = {}
        """Connector → task id → state. The most frequent read must not become slower with the number of connectors."""
        self._topics: dict[str, dict[str, None]] = {}
        self.revision = 0
        """Grows with every change in memory."""
        self._unwritten: dict[bytes, bytes | None] = {}
        """Key → its last value, until Kafka has acknowledged it."""
        self._writers: dict[bytes, asyncio.Task[None]] = {}
        self._failed: set[bytes] = set()
        """The keys in ``_unwritten`` whose write failed."""
        self._repeating: asyncio.Task[None] | None = None
        self._read_meanwhile: dict[bytes, Entry] = {}
        """Key → the last record that was read while the key's value was being written."""

    @property
    def problem(self) -> str:
        """Why the topic is not followed; empty while it is."""
        return self._log.problem

    async def start(self) -> None:
        """Read the topic."""
        await self._log.start(self._apply)

    async def stop(self) -> None:
        """Finish all writes, without repeating those that fail or waiting long, and close the store."""
        if self._repeating is not None:
            self._repeating.cancel()
        await self.flush(_END_SECONDS)
        if self._repeating is not None:
            # A write that failed just now began it.
            self._repeating.cancel()
        await self._log.stop()

    async def flush(self, seconds: float | None = None) -> None:
        """Wait until every change is written, or its failure is in the log. What is not written after ``seconds`` is given up."""
        try:
            async with asyncio.timeout(seconds):
                while self._writers:
                    # A caller that is cancelled must not take the writes with it: others wait for them too.
                    await asyncio.wait(self._writers.values())
        except TimeoutError:
            LOG.warning("status not written in time", seconds=seconds)
            writers = list(self._writers.values())
            for writer in writers:
                writer.cancel()
            await asyncio.gather(*writers, return_exceptions=True)

    @property
    def generation(self) -> int:
        """The highest generation that any worker has written."""
        tasks = (entry for entries in self._tasks.values() for entry in entries.values())
        return max((entry.generation for entry in chain(self._connectors.values(), tasks)), default=0)

    def connectors(self) -> Sequence[str]:
        """The connectors that have a state."""
        return list(self._connectors)

    def connector(self, name: str) -> StatusEntry | None:
        """A connector's state."""
        return self._connectors.get(name)

    def tasks(self, name: str) -> Mapping[int, StatusEntry]:
        """The states of a connector's tasks by id."""
        return dict(self._tasks.get(name, ()))

    def topics(self, name: str) -> Sequence[str]:
        """The topics the connector has used."""
        return list(self._topics.get(name, ()))

    def put_connector(self, name: str, entry: StatusEntry) -> None:
        """Set a connector's state."""
        self._connectors[name] = entry
        self._write(_CONNECTOR + name, _json(entry))

    def put_task(self, name: str, task: int, entry: StatusEntry) -> None:
        """Set a task's state."""
        self._tasks.setdefault(name, {})[task] = entry
        self._write(f"{_TASK}{name}-{task}", _json(entry))

    def put_topic(self, name: str, task: int, topic: str, at_ms: int) -> None:
        """Record that the connector uses the topic. Only the first call for a topic has an effect."""
        known = self._topics.setdefault(name, {})
        if topic not in known:
            known[topic] = None
            value = {"topic": {"name": topic, "connector": name, "task": task, "discoverTimestamp": at_ms}}
            self._write(_topic_key(topic, name), orjson.dumps(value))

    def drop_tasks(self, name: str) -> None:
        """Remove the states of the connector's tasks."""
        for task in self._tasks.pop(name, {}):
            self._write(f"{_TASK}{name}-{task}", None)

    def drop_connector(self, name: str) -> None:
        """Remove the connector's state, its tasks' states and its topics."""
        self.drop_tasks(name)
        if self._connectors.pop(name, None) is not None:
            self._write(_CONNECTOR + name, None)
        self.drop_topics(name)

    def drop_topics(self, name: str) -> None:
        """Remove the connector's topics."""
        for topic in self._topics.pop(name, {}):
            self._write(_topic_key(topic, name), None)

    def _write(self, key: str, value: bytes | None) -> None:
        self.revision += 1
        raw = key.encode()
        self._unwritten[raw] = value
        if raw not in self._writers:
            self._begin(raw)

    def _begin(self, key: bytes) -> None:
        self._writers[key] = asyncio.create_task(self._write_out(key), name=f"write {key.decode()}")

    async def _write_out(self, key: bytes) -> None:
        """Write the key's last value, and repeat while the value has changed meanwhile."""
        try:
            while True:
                value = self._unwritten[key]
                await self._log.write([Entry(key, value)])
                if self._unwritten[key] is value:
                    last = self._read_meanwhile.get(key)
                    self._written(key)
                    if last is not None and last.value != value:
                        # The write has applied its own record, so the last one is another worker's, written after it.
                        self._apply([last])
                    return
        except CdcError as problem:
            if key not in self._failed:
                LOG.warning("status not written, trying again", key=key.decode(), error=str(problem), seconds=_RETRY_SECONDS)
            self._failed.add(key)
            if self._repeating is None or self._repeating.done():
                self._repeating = asyncio.create_task(self._repeat(), name="repeat writes of statuses")
        except BaseException:
            self._written(key)
            raise
        finally:
            del self._writers[key]

    def _written(self, key: bytes) -> None:
        self._unwritten.pop(key, None)
        self._read_meanwhile.pop(key, None)
        self._failed.discard(key)

    async def _repeat(self) -> None:
        while self._failed:
            await self._pause(_RETRY_SECONDS)
            try:
                # What another worker has written meanwhile counts.
                await self._log.catch_up()
            except CdcError:
                continue
            for key in self._failed - self._writers.keys():
                self._begin(key)
            await self.flush()

    def _apply(self, entries: Sequence[Entry]) -> None:
        self.revision += 1
        for entry in entries:
            # Until the acknowledgement memory is newer than the topic.
            waits = entry.key in self._failed and entry.key not in self._writers
            if entry.key in self._unwritten and not waits:
                self._read_meanwhile[entry.key] = entry
                continue
            try:
                key, value = key_text(entry.key), json_object(entry.value)
                if waits:
                    # A record of this worker, or one without a worker, may be older than the state that waits.
                    if value is None or value.get("worker_id", self._worker_id) == self._worker_id:
                        continue
                    self._written(entry.key)
                self._apply_one(key, value)
            except Exception as problem:  # noqa: BLE001 (no record may end the follower)
                pass_over(self._log.name, entry.partition, entry.offset, problem)

    def _apply_one(self, key: str, value: Mapping[str, Any] | None) -> None:
        if key.startswith(_TOPIC):
            topic, _, name = key.removeprefix(_TOPIC).partition(":connector-")
            if value is None:
                self._topics.get(connector_name(name), {}).pop(topic, None)
            else:
                self._topics.setdefault(connector_name(name), {})[topic] = None
        elif key.startswith(_CONNECTOR):
            name = connector_name(key.removeprefix(_CONNECTOR))
            if value is None:
                self._connectors.pop(name, None)
            else:
                self._connectors[name] = _status(value)
        elif key.startswith(_TASK):
            name, task = task_name(key.removeprefix(_TASK))
            if value is not None:
                self._tasks.setdefault(name, {})[task] = _status(value)
            elif name in self._tasks:
                self._tasks[name].pop(task, None)
                if not self._tasks[name]:
                    del self._tasks[name]
        else:
            raise RecordError("its key is not one of Kafka Connect's")


def _json(entry: StatusEntry) -> bytes:
    return orjson.dumps(
        {
            "state": entry.state,
            "trace": entry.trace,
            "worker_id": entry.worker_id,
            "generation": entry.generation,
            "version": entry.version,
        }
    )


def _status(value: Mapping[str, Any]) -> StatusEntry:
    state = member(value, "state", str)
    if state not in _STATES:
        raise RecordError("its state is not one of Kafka Connect's")
    return StatusEntry(
        state=state,
        worker_id=member(value, "worker_id", str),
        generation=member(value, "generation", int),
        version=optional_text(value, "version"),
        trace=optional_text(value, "trace"),
    )


def _topic_key(topic: str, name: str) -> str:
    return f"{_TOPIC}{topic}:connector-{name}"
