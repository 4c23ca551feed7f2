"""What a worker counts of itself: started connectors and tasks, retries, the states of tasks over time, and generations of its group."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from connector.meters.connection_meter import ConnectionMeter, Look
from connector.meters.producer_meter import ProducerMeter
from connector.meters.sampled import Sampled
from workers.telemetry.loop_lag import LoopLag

STORES: Final = ("configs", "offsets", "statuses")
"""The worker's own producers, by the ends of the client ids that Kafka Connect gives them."""


@dataclass(slots=True)
class StateShares:
    """How long a task was in each state. ``now`` is monotonic seconds."""

    began: float
    state: str = ""
    since: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)

    def enter(self, state: str, now: float) -> None:
        """Take note of a change."""
        if self.state:
            self.seconds[self.state] = self.seconds.get(self.state, 0.0) + now - self.since
        self.state, self.since = state, now

    def share(self, state: str, now: float) -> float:
        """The part of the time since the beginning in which the task was in ``state``."""
        spent = self.seconds.get(state, 0.0) + (now - self.since if state == self.state else 0.0)
        return spent / (now - self.began) if now > self.began else float(state == self.state)


@dataclass(slots=True)
class TaskHistory:
    """What is kept of a task while it is tried again."""

    shares: StateShares
    retries: int = 0
    last_error_ms: int = 0
    """When an attempt last failed, in ms since 1970; 0 if none did."""


@dataclass(slots=True)
class TaskOutcomes:
    """How often a connector's task was started, and how its attempts ended, while this worker runs."""

    starts: int = 0
    retries: dict[str, int] = field(default_factory=dict)
    """Attempts that failed and were repeated, by the kind of the error (docs/runbook.md)."""
    failures: dict[str, int] = field(default_factory=dict)
    """Attempts after which the task was FAILED, likewise."""


class WorkerMeter:
    """The counters of one worker."""

    def __init__(self, now: Callable[[], float] = time.monotonic, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self.now: Final = now
        self.now_ms: Final = now_ms
        self.started_ms: Final = now_ms()
        self.connector_starts = 0
        self.connector_failures = 0
        self.task_starts = 0
        self.task_failures = 0
        """Tasks that failed before they read anything."""
        self.tasks: dict[str, TaskHistory] = {}
        """By connector."""
        self.outcomes: dict[str, TaskOutcomes] = {}
        """Likewise. Unlike a history it goes on when a task is started again."""
        self.connections: Callable[[], int] = lambda: 0
        """Returns the number of open connections of the REST interface."""
        self.loop_lag: Final = LoopLag()
        self.scrape_cpu_s = 0.0
        """CPU seconds in which answers to scrapes were made."""
        self.rebalances = 0
        self.rebalance_ms = Sampled()
        self.rebalanced_at: float | None = None
        self._joining_since: float | None = None
        self.stores: Final = {name: ProducerMeter() for name in STORES}
        self.consumers: Final = {name: ConnectionMeter() for name in STORES}
        """The consumers of the internal topics, by the same ends."""
        self.member: Final = ConnectionMeter()
        """The member of the group."""

    def watch(self, member: Look, producer: Look, consumers: Mapping[str, Look]) -> None:
        """Look at the connections of the worker's own clients. Its stores share a producer, whose connections the first store shows."""
        self.member.watch(member)
        self.stores[STORES[0]].connections.watch(producer)
        for store, look in consumers.items():
            self.consumers[store].watch(look)

    def scraped(self, cpu_s: float) -> None:
        """Add CPU seconds in which an answer to a scrape was made."""
        self.scrape_cpu_s += cpu_s

    def connector_started(self, *, failed: bool = False) -> None:
        """Count a start of a connector."""
        self.connector_starts += 1
        self.connector_failures += failed

    def task_started(self, name: str) -> None:
        """Count a start of a connector's task, which begins its history."""
        self.task_starts += 1
        self._outcomes(name).starts += 1
        self.tasks[name] = TaskHistory(StateShares(self.now()))

    def task_state(self, name: str, state: str) -> None:
        """Take note of the state of a connector's task."""
        self._history(name).shares.enter(state, self.now())

    def task_retried(self, name: str, kind: str) -> None:
        """Count an attempt that failed with an error of this kind and is repeated."""
        retries = self._outcomes(name).retries
        retries[kind] = retries.get(kind, 0) + 1
        history = self._history(name)
        history.retries += 1
        history.last_error_ms = self.now_ms()

    def task_failed(self, name: str, kind: str, *, at_start: bool) -> None:
        """Count a task that failed with an error of this kind and is not tried again."""
        failures = self._outcomes(name).failures
        failures[kind] = failures.get(kind, 0) + 1
        self.task_failures += at_start
        self._history(name).last_error_ms = self.now_ms()

    def forget(self, name: str) -> None:
        """Drop the history of a deleted connector."""
        self.tasks.pop(name, None)
        self.outcomes.pop(name, None)

    def joining(self) -> None:
        """A new generation of the group begins."""
        if self._joining_since is None:
            self._joining_since = self.now()

    def joined(self) -> None:
        """The generation has its assignment."""
        now = self.now()
        self.rebalances += 1
        if self._joining_since is not None:
            self.rebalance_ms.add((now - self._joining_since) * 1000, now)
        self.rebalanced_at, self._joining_since = now, None

    @property
    def rebalancing(self) -> bool:
        """Whether the worker waits for an assignment."""
        return self._joining_since is not None

    def _outcomes(self, name: str) -> TaskOutcomes:
        return self.outcomes.setdefault(name, TaskOutcomes())

    def _history(self, name: str) -> TaskHistory:
        if name not in self.tasks:
            self.tasks[name] = TaskHistory(StateShares(self.now()))
        return self.tasks[name]
