"""Runs the tasks: one asyncio task a connector, started, restarted after errors that pass, and ended in order.

The supervisor knows neither REST nor Kafka. It decides by :class:`connector.errors.Directive` alone: RETRY starts the task
again after a pause (its state stays RUNNING, the reason is in the log), OPERATOR and FATAL end it and tell the herder, which
shows FAILED with the text of :func:`describe` as ``trace``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from connector.errors import CdcError, Directive
from connector.ports import Progress, TaskContext
from connector.signal_inbox import SignalInbox
from connector.signals import Signal
from connector.user_code import described, let_operator_through
from workers.logging import connector_context, hiding

LOGGER: Final = logging.getLogger(__name__)

RunTask = Callable[[TaskContext, asyncio.Event], Awaitable[None]]
"""``run_task(context, stop)``: returns when it is done or, within about a second, after ``stop`` is set."""
MakeContext = Callable[[], TaskContext]
"""Called before each attempt, so that a changed password behind a ``${…}`` is read again. May raise CdcError."""
Failed = Callable[[str, str], None]
"""``failed(connector, trace)``: the task has ended for good."""
Pause = Callable[[float, asyncio.Event], Awaitable[None]]
"""``pause(seconds, stop)``: returns after so many seconds or when ``stop`` is set."""


_FIRST_S: Final = 0.1
_LONGEST_S: Final = 10.0
"""Debezium's pause, by default."""
WELL_S: Final = 10.0
"""An attempt that streamed and lasted so many seconds ran well: whatever fails next has nothing to do with the failures before it."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How errors that pass are tried again: Debezium's ``retriable.restart.connector.wait.ms`` and ``errors.max.retries``.

    ``wait`` is the pause in seconds before each attempt; None is the default, pauses that grow. ``retries`` is -1 without a limit; it
    counts failed attempts in a row: after one that delivered an event the count starts again.
    """

    wait: float | None = None
    retries: int = -1

    def pause(self, failures: int, chance: float) -> float:
        """Seconds before the attempt after so many failures in a row; ``chance``, from 0 to 1, spreads what failed together."""
        if self.wait is not None:
            return self.wait
        longest: float = min(_LONGEST_S, _FIRST_S * 2 ** min(failures - 1, 10))
        return longest * (0.5 + chance / 2)

    def exhausted(self, failures: int, seconds: float) -> bool:
        """Whether no attempt is left after so many failures in a row, the first one so many seconds ago.

        Growing pauses give up no sooner than Debezium's fixed ones of 10 s: a limit is set with those in mind.
        """
        return 0 <= self.retries < failures and (self.wait is not None or seconds >= self.retries * _LONGEST_S)


@dataclass(slots=True)
class _Failures:
    """Failures in a row, by the two ways to count them."""

    attempts: int = 0
    """Since the last attempt that delivered an event."""
    since: float = 0.0
    """When the first of these failed."""
    quick: int = 0
    """Since the last attempt that ran well."""

    def add(self, progress: Progress | None, began: float, now: float) -> None:
        """One more attempt failed."""
        if not self.attempts or (progress is not None and progress.events):
            self.attempts, self.since = 0, now
        if progress is not None and progress.received_lsn and now - began >= WELL_S:
            self.quick = 0
        self.attempts += 1
        self.quick += 1


@dataclass(slots=True)
class _Running:
    task: asyncio.Task[None]
    stop: asyncio.Event
    progress: Progress
    signals: SignalInbox


async def pause_until(seconds: float, stop: asyncio.Event) -> None:
    """The real :data:`Pause`."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


class Supervisor:
    """Starts and stops tasks by connector name.

    ``graceful`` is how many seconds a task that was told to stop has before it is cancelled
    (``task.shutdown.graceful.timeout.ms``).
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
    ) -> None:
        self._run_task = run_task
        self._failed = failed
        self._graceful = graceful
        self._pause = pause
        self._clock = clock
        self._chance = chance
        self._running: dict[str, _Running] = {}

    def start(self, name: str, make_context: MakeContext, policy: RetryPolicy) -> None:
        """Begin to run the connector's task; it must not run already."""
        if name in self._running:
            raise RuntimeError(f"The task of {name} runs already")
        stop = asyncio.Event()
        with connector_context(name):
            task = asyncio.create_task(self._supervise(name, make_context, policy, stop), name=f"task {name}-0")
        self._running[name] = _Running(task, stop, Progress(), SignalInbox())

    async def stop(self, name: str) -> None:
        """End the connector's task; returns when it is over, at once when there is none."""
        running = self._running.get(name)
        if running is None:
            return
        running.stop.set()
        done, _ = await asyncio.wait([running.task], timeout=self._graceful)
        if not done:
            LOGGER.warning("cancelled a task that did not stop in time", extra={"fields": {"connector": name, "seconds": self._graceful}})
            running.task.cancel()
            await asyncio.wait([running.task])
        if self._running.get(name) is running:
            del self._running[name]

    async def stop_all(self) -> None:
        """End all tasks at the same time."""
        await asyncio.gather(*(self.stop(name) for name in list(self._running)))

    def runs(self, name: str) -> bool:
        """Whether the connector's task was started and has neither been stopped nor failed.

        A task that ended by itself because all is done (``snapshot.mode=initial_only``) still runs in this sense.
        """
        return name in self._running

    def progress(self, name: str) -> Progress | None:
        """What the running task tells about itself."""
        running = self._running.get(name)
        return None if running is None else running.progress

    def signal(self, name: str, signal: Signal) -> bool:
        """Hand a signal to the running task; False when there is none that takes signals."""
        running = self._running.get(name)
        return running is not None and running.signals.offer(signal)

    async def _supervise(self, name: str, make_context: MakeContext, policy: RetryPolicy, stop: asyncio.Event) -> None:
        failures = _Failures()
        hide: Callable[[str], str] = str
        while not stop.is_set():
            progress: Progress | None = None
            began = self._clock()
            try:
                context = make_context()
                progress = context.progress
                self._running[name].progress = progress
                self._running[name].signals = context.signals
                hide = context.hide
                with hiding(hide):
                    LOGGER.info("task starting", extra={"fields": {"attempt": failures.attempts + 1}})
                    await self._run_task(context, stop)
            except CdcError as problem:
                if stop.is_set():
                    LOGGER.warning("task raised while stopping", extra={"fields": {"error": hide(str(problem))}})
                    return
                now = self._clock()
                failures.add(progress, began, now)
                if problem.directive is not Directive.RETRY or policy.exhausted(failures.attempts, now - failures.since):
                    self._end(name, hide(describe(problem)), hide(str(problem)), problem.kind.value)
                    return
                seconds = policy.pause(failures.quick, self._chance())
                told = {
                    "error": hide(str(problem)),
                    "kind": problem.kind.value,
                    "failures": failures.attempts,
                    "seconds": round(seconds, 3),
                }
                LOGGER.warning("task failed with an error that may pass, trying again", extra={"fields": told})
                await self._pause(seconds, stop)
            except BaseException as problem:
                let_operator_through(problem)
                current = asyncio.current_task()
                if isinstance(problem, asyncio.CancelledError) and current is not None and current.cancelling():
                    raise
                if stop.is_set():
                    LOGGER.warning("task raised while stopping", extra={"fields": {"error": type(problem).__name__}})
                    return
                self._end(name, hide(describe(problem)), f"unexpected {type(problem).__name__}", "internal")
                return
            else:
                if not stop.is_set():
                    LOGGER.info("task has done all there is to do")
                return

    def _end(self, name: str, trace: str, reason: str, kind: str) -> None:
        # The kind is the anchor of its section in docs/runbook.md.
        LOGGER.error("task failed and will not be tried again", extra={"fields": {"error": reason, "kind": kind}})
        self._running.pop(name, None)
        self._failed(name, trace)


def describe(problem: BaseException) -> str:
    """The ``trace`` of a failure: what, where and how to mend it in the first line, then a ``Caused by:`` line for each cause.

    For an exception that is no CdcError, which only a defect raises, the frames follow. Of causes only the first line is told:
    PostgreSQL's further ones (DETAIL) may quote a row.
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
