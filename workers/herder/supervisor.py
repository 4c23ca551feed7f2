"""Runs the connectors' tasks, each as one asyncio task, and restarts those that fail with a temporary error.

The supervisor does not depend on REST or Kafka. Only :class:`connector.errors.Directive` decides: after RETRY the task starts
again after a pause (its state stays RUNNING, and the log gives the reason); OPERATOR and FATAL end it, and the callback ``failed``
gets the text of :func:`describe`, which becomes the ``trace`` of the state FAILED.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from connector.delivery.progress import Progress
from connector.errors import CdcError, Directive
from connector.log import EventLog
from connector.meters.task_meters import TaskMeters
from connector.plugins.user_code import described, let_operator_through
from connector.runner.context import TaskContext
from connector.runner.task_stop import TaskStop
from connector.signals.inbox import SignalInbox
from connector.signals.signal import Signal
from workers.telemetry.logging import connector_context, hiding
from workers.telemetry.worker_meter import WorkerMeter

LOG: Final = EventLog(__name__)

RunTask = Callable[[TaskContext, TaskStop], Awaitable[None]]
"""``run_task(context, stop)``: returns when the task is complete, or about a second after ``stop`` is set."""
MakeContext = Callable[[], Awaitable[TaskContext]]
"""Called before each attempt, so that ``${…}`` references are resolved again. May raise CdcError."""
Failed = Callable[[str, str], None]
"""``failed(connector, trace)``: the task has failed and is not tried again."""
Pause = Callable[[float, asyncio.Event], Awaitable[None]]
"""``pause(seconds, stop)``: returns after ``seconds`` or when ``stop`` is set."""
Figures = tuple[TaskMeters, Progress]
"""What a task has counted."""


_FIRST_S: Final = 0.1
_LONGEST_S: Final = 10.0
"""The longest pause. It equals Debezium's default pause."""
WELL_S: Final = 10.0
"""An attempt that streamed and lasted so many seconds was successful: a later failure is not related to the failures before it."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When to try again after a temporary error: Debezium's ``retriable.restart.connector.wait.ms`` and ``errors.max.retries``.

    ``wait`` is the pause in seconds before each attempt; None, the default, means growing pauses. ``retries`` limits the failed attempts
    in a row; -1 means no limit. An attempt that delivered an event resets the count.
    """

    wait: float | None = None
    retries: int = -1

    def pause(self, failures: int, chance: float) -> float:
        """The pause in seconds after ``failures`` in a row. ``chance``, from 0 to 1, spreads tasks that failed at the same time."""
        if self.wait is not None:
            return self.wait
        longest: float = min(_LONGEST_S, _FIRST_S * 2 ** min(failures - 1, 10))
        return longest * (0.5 + chance / 2)

    def exhausted(self, failures: int, seconds: float) -> bool:
        """Whether no attempt is left after ``failures`` in a row, the first of them ``seconds`` ago.

        With growing pauses the attempts end no sooner than with Debezium's fixed pauses of 10 s, for which users choose their limits.
        """
        return 0 <= self.retries < failures and (self.wait is not None or seconds >= self.retries * _LONGEST_S)


@dataclass(slots=True)
class _Failures:
    """Failures in a row, counted in two ways."""

    attempts: int = 0
    """Failed attempts since the last attempt that delivered an event."""
    since: float = 0.0
    """When the first of these attempts failed."""
    quick: int = 0
    """Failed attempts since the last successful attempt (:data:`WELL_S`)."""

    def add(self, progress: Progress | None, began: float, now: float) -> None:
        """Count a failed attempt that ran from ``began`` to ``now``."""
        if not self.attempts or (progress is not None and progress.delivered):
            self.attempts, self.since = 0, now
        if progress is not None and progress.received_lsn and now - began >= WELL_S:
            self.quick = 0
        self.attempts += 1
        self.quick += 1


@dataclass(slots=True)
class _Running:
    task: asyncio.Task[None]
    stop: TaskStop
    progress: Progress
    signals: SignalInbox
    meters: TaskMeters

    def begin(self, context: TaskContext) -> None:
        """Show what a new run of the task counts, and pass signals to it."""
        self.progress, self.signals, self.meters = context.progress, context.signals, context.meters


async def pause_until(seconds: float, stop: asyncio.Event) -> None:
    """A :data:`Pause` in real time."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


class Supervisor:
    """Starts and stops tasks by connector name.

    ``graceful``: seconds that a task has to stop before it is cancelled (``task.shutdown.graceful.timeout.ms``).
    """

    def __init__(
        self,
        run_task: RunTask,
        failed: Failed,
        *,
        graceful: float,
        pause: Pause = pause_until,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
        meter: WorkerMeter | None = None,
    ) -> None:
        self._meter = meter or WorkerMeter()
        self._run_task = run_task
        self._failed = failed
        self._graceful = graceful
        self._pause = pause
        self._clock = clock
        self._chance = chance
        self._running: dict[str, _Running] = {}
        self._failed_figures: dict[str, Figures] = {}
        """What the failed tasks had counted. As in Kafka Connect it is shown until the task is started or stopped."""

    def start(self, name: str, make_context: MakeContext, policy: RetryPolicy) -> None:
        """Start the connector's task. Raises RuntimeError when it runs already."""
        if name in self._running:
            raise RuntimeError(f"The task of {name} runs already")
        self._failed_figures.pop(name, None)
        stop = TaskStop()
        with connector_context(name):
            task = asyncio.create_task(self._supervise(name, make_context, policy, stop), name=f"task {name}-0")
        self._running[name] = _Running(task, stop, Progress(), SignalInbox(), TaskMeters())

    async def stop(self, name: str, *, paused: bool = False) -> None:
        """End the connector's task and wait until it has ended. No-op when it does not run. The task learns whether it is ``paused``."""
        self._failed_figures.pop(name, None)
        running = self._running.get(name)
        if running is None:
            return
        if paused:
            running.stop.pause()
        else:
            running.stop.set()
        done, _ = await asyncio.wait([running.task], timeout=self._graceful)
        if not done:
            LOG.warning("task cancelled because it did not stop in time", connector=name, seconds=self._graceful)
            running.task.cancel()
            await asyncio.wait([running.task])
        if self._running.get(name) is running:
            del self._running[name]

    async def stop_all(self) -> None:
        """End all tasks at the same time."""
        await asyncio.gather(*(self.stop(name) for name in list(self._running)))

    def runs(self, name: str) -> bool:
        """Whether the connector's task was started and has neither been stopped nor failed.

        This includes a task that has completed (``snapshot.mode=initial_only``).
        """
        return name in self._running

    def progress(self, name: str) -> Progress | None:
        """The running task's progress; None when no task runs."""
        running = self._running.get(name)
        return None if running is None else running.progress

    def meters(self, name: str) -> TaskMeters | None:
        """The meters of the running task; None when no task runs."""
        running = self._running.get(name)
        return None if running is None else running.meters

    def figures(self, name: str) -> Figures | None:
        """What the running or failed task has counted; None when there is no task."""
        running = self._running.get(name)
        return self._failed_figures.get(name) if running is None else (running.meters, running.progress)

    def signal(self, name: str, signal: Signal) -> bool:
        """Deliver a signal to the running task. False when no task runs that accepts signals."""
        running = self._running.get(name)
        return running is not None and running.signals.offer(signal)

    async def _supervise(self, name: str, make_context: MakeContext, policy: RetryPolicy, stop: TaskStop) -> None:
        failures = _Failures()
        hide: Callable[[str], str] = str
        while not stop.is_set():
            progress: Progress | None = None
            began = self._clock()
            try:
                context = await make_context()
                if stop.is_set():
                    return
                progress = context.progress
                self._running[name].begin(context)
                hide = context.hide
                with hiding(hide):
                    LOG.info("task starting", attempt=failures.attempts + 1)
                    await self._run_task(context, stop)
            except CdcError as problem:
                if stop.is_set():
                    LOG.warning("task raised while stopping", error=hide(str(problem)))
                    return
                now = self._clock()
                failures.add(progress, began, now)
                if problem.directive is not Directive.RETRY or policy.exhausted(failures.attempts, now - failures.since):
                    self._end(name, hide(describe(problem)), hide(str(problem)), problem.kind.value)
                    return
                seconds = policy.pause(failures.quick, self._chance())
                LOG.warning(
                    "task failed with an error that may pass, trying again",
                    error=hide(str(problem)),
                    kind=problem.kind.value,
                    failures=failures.attempts,
                    seconds=round(seconds, 3),
                )
                self._meter.task_retried(name, problem.kind.value)
                await self._pause(seconds, stop)
            except BaseException as problem:
                let_operator_through(problem)
                current = asyncio.current_task()
                if isinstance(problem, asyncio.CancelledError) and current is not None and current.cancelling():
                    raise
                if stop.is_set():
                    LOG.warning("task raised while stopping", error=type(problem).__name__)
                    return
                self._end(name, hide(describe(problem)), f"unexpected {type(problem).__name__}", "internal")
                return
            else:
                if not stop.is_set():
                    LOG.info("task completed")
                return

    def _end(self, name: str, trace: str, reason: str, kind: str) -> None:
        # The kind is the anchor of its section in docs/runbook.md.
        LOG.error("task failed and will not be tried again", error=reason, kind=kind)
        running = self._running.pop(name, None)
        if running is not None:
            self._failed_figures[name] = running.meters, running.progress
        self._meter.task_failed(name, kind, at_start=running is not None and running.progress.phase == "starting")
        self._failed(name, trace)


def describe(problem: BaseException) -> str:
    """The ``trace`` of a failure: the error with its place and remedy in the first line, then a ``Caused by:`` line for each cause.

    An exception other than CdcError is a defect; its stack frames follow the first line. Of a cause only the first line is shown, because
    PostgreSQL's other lines (DETAIL) may quote a row.
    """
    lines = [str(problem) if isinstance(problem, CdcError) else _title(problem)]
    if not isinstance(problem, CdcError):
        lines += [f"\tat {frame.filename}:{frame.lineno} in {frame.name}" for frame in traceback.extract_tb(problem.__traceback__)]
    seen = {id(problem)}
    cause = problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        lines.append(f"Caused by: {_title(cause)}")
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return "\n".join(lines)


def _title(problem: BaseException) -> str:
    return described(problem).splitlines()[0].rstrip(": ")
