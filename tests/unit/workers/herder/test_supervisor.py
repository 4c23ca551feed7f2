from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping

import pytest

from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.progress import Progress
from connector.errors import CdcError, Directive, ErrorKind
from connector.ports import JsonObject
from connector.record.json_converter import ConverterSettings
from connector.runner.context import TaskContext
from tests.support.each_case import each_case
from workers.herder.supervisor import RetryPolicy, Supervisor, describe, pause_until
from workers.telemetry.logging import configure


class NoOffsets:
    async def load(self, partition: JsonObject) -> JsonObject | None:
        return None

    async def store(self, partition: JsonObject, offset: JsonObject | None) -> None:
        raise AssertionError


def context(config: Mapping[str, str] | None = None) -> TaskContext:
    return TaskContext(
        "shop", config or {}, ConverterSettings(), ConverterSettings(), KafkaSettings({}, {}), NoOffsets(), Progress(), print
    )


def later(make: Callable[[], TaskContext]) -> Callable[[], Awaitable[TaskContext]]:
    async def made() -> TaskContext:
        return make()

    return made


def error(kind: ErrorKind) -> CdcError:
    return CdcError(kind, f"The {kind.value} failed", "Mend it.")


KINDS = {directive: [kind for kind in ErrorKind if error(kind).directive is directive] for directive in Directive}


class Bench:
    """A supervisor with a scripted task and a clock that only counts."""

    def __init__(self, *script: Callable[[TaskContext, asyncio.Event], Awaitable[None]], graceful: float = 5.0) -> None:
        self.script = list(script)
        self.failed: list[tuple[str, str]] = []
        self.pauses: list[float] = []
        self.runs = 0
        self.last_context: TaskContext | None = None
        self.started = asyncio.Event()
        self.over = asyncio.Event()
        self.news = asyncio.Event()
        self.now = 0.0
        self.supervisor = Supervisor(self.run, self.fail, graceful=graceful, pause=self.pause, clock=lambda: self.now, chance=lambda: 1.0)

    async def run(self, task: TaskContext, stop: asyncio.Event) -> None:
        self.runs += 1
        self.last_context = task
        step = self.script.pop(0)
        self.started.set()
        self.news.set()
        await step(task, stop)

    async def until_runs(self, count: int) -> None:
        while self.runs < count:
            self.news.clear()
            await self.news.wait()

    def fail(self, name: str, trace: str) -> None:
        self.failed.append((name, trace))
        self.over.set()

    async def pause(self, seconds: float, stop: asyncio.Event) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def start(self, policy: RetryPolicy | None = None, make: Callable[[], TaskContext] = context) -> None:
        self.supervisor.start("shop", later(make), policy or RetryPolicy())


def raises(problem: BaseException, delivered: int = 0) -> Callable[[TaskContext, asyncio.Event], Awaitable[None]]:
    async def step(task: TaskContext, stop: asyncio.Event) -> None:
        # What was only read is no success.
        task.progress.events, task.progress.delivered = 5, delivered
        raise problem

    return step


async def until_stop(task: TaskContext, stop: asyncio.Event) -> None:
    await stop.wait()


@each_case("kind", KINDS[Directive.RETRY])
async def test_an_error_that_passes_is_tried_again_after_the_pause(kind: ErrorKind) -> None:
    bench = Bench(raises(error(kind)), raises(error(kind)), until_stop)
    bench.start(RetryPolicy(wait=7.5))
    await bench.until_runs(3)
    assert bench.pauses == [7.5, 7.5]
    assert bench.failed == []
    assert bench.supervisor.runs("shop")
    await bench.supervisor.stop("shop")
    assert not bench.supervisor.runs("shop")


@each_case("kind", KINDS[Directive.OPERATOR] + KINDS[Directive.FATAL])
async def test_any_other_error_ends_the_task(kind: ErrorKind) -> None:
    bench = Bench(raises(error(kind)))
    bench.start()
    await bench.over.wait()
    assert bench.failed == [("shop", f"The {kind.value} failed. Mend it.")]
    assert bench.pauses == []
    assert not bench.supervisor.runs("shop")


@pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (1, 2), (3, 4)])
async def test_retries_are_counted(retries: int, attempts: int) -> None:
    bench = Bench(*[raises(error(ErrorKind.SLOT_BUSY))] * 10)
    bench.start(RetryPolicy(wait=1, retries=retries))
    await bench.over.wait()
    assert bench.runs == attempts


@pytest.mark.parametrize(("retries", "seconds"), [(0, 0), (1, 10), (3, 30)])
async def test_growing_pauses_keep_the_patience_of_the_fixed_ones(retries: int, seconds: float) -> None:
    bench = Bench(*[raises(error(ErrorKind.SOURCE_UNREACHABLE))] * 30)
    bench.start(RetryPolicy(retries=retries))
    await bench.over.wait()
    assert bench.runs > retries
    assert seconds <= bench.now <= seconds + 10


async def test_pauses_grow_from_a_tenth_of_a_second_to_ten_seconds() -> None:
    bench = Bench(*[raises(error(ErrorKind.SOURCE_UNREACHABLE))] * 9, until_stop)
    bench.start()
    await bench.until_runs(10)
    assert bench.pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]
    await bench.supervisor.stop("shop")


def test_restarts_after_a_common_failure_are_spread_over_half_of_the_pause() -> None:
    assert [RetryPolicy().pause(3, chance) for chance in (0, 0.5, 1)] == pytest.approx([0.2, 0.3, 0.4])
    assert [RetryPolicy(wait=5).pause(3, chance) for chance in (0, 1)] == [5, 5]
    # However long the cause lasts.
    assert RetryPolicy().pause(10**6, 1) == 10


@pytest.mark.parametrize(
    ("seconds", "received", "pause"),
    [(10, 500, 0.1), (9, 500, 0.4), (3600, 0, 0.4)],
    ids=["ran well", "not for long", "never streamed"],
)
async def test_after_an_attempt_that_ran_well_pauses_are_short_again(seconds: float, received: int, pause: float) -> None:
    async def lost_later(task: TaskContext, stop: asyncio.Event) -> None:
        task.progress.received_lsn = received
        bench.now += seconds
        raise error(ErrorKind.SOURCE_CONNECTION_LOST)

    lost = raises(error(ErrorKind.SOURCE_UNREACHABLE))
    bench = Bench(lost, lost, lost_later, until_stop)
    bench.start()
    await bench.until_runs(4)
    assert bench.pauses == [0.1, 0.2, pause]
    await bench.supervisor.stop("shop")


async def test_an_attempt_that_delivered_events_restarts_the_count() -> None:
    lost = error(ErrorKind.SOURCE_CONNECTION_LOST)
    bench = Bench(raises(lost), raises(lost, delivered=5), raises(lost))
    bench.start(RetryPolicy(wait=1, retries=1))
    await bench.over.wait()
    assert bench.runs == 3


async def test_an_unexpected_exception_fails_with_its_frames() -> None:
    bench = Bench(raises(ZeroDivisionError("no")))
    bench.start()
    await bench.over.wait()
    first, *rest = bench.failed[0][1].splitlines()
    assert first == "ZeroDivisionError: no"
    assert any("test_supervisor.py" in line for line in rest)


@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()])
async def test_exceptions_that_would_end_the_worker_end_only_the_task(end: BaseException) -> None:
    bench = Bench(raises(end))
    bench.start()
    await bench.over.wait()
    [(_, trace)] = bench.failed
    assert trace.startswith(type(end).__name__)
    assert not bench.supervisor.runs("shop")


async def test_a_context_that_cannot_be_made_fails_the_task() -> None:
    def broken() -> TaskContext:
        raise CdcError(ErrorKind.CONFIG_INVALID, "The property x is bad")

    bench = Bench()
    bench.start(make=broken)
    await bench.over.wait()
    assert bench.failed == [("shop", "The property x is bad.")]
    assert bench.runs == 0


async def test_each_attempt_has_a_new_context() -> None:
    passwords: Iterator[str] = iter(["old", "new"])
    bench = Bench(raises(error(ErrorKind.SOURCE_UNREACHABLE)), until_stop)
    bench.start(make=lambda: context({"database.password": next(passwords)}))
    await bench.until_runs(2)
    assert bench.last_context is not None
    assert bench.last_context.config == {"database.password": "new"}
    assert bench.supervisor.progress("shop") is bench.last_context.progress
    await bench.supervisor.stop("shop")


async def test_a_task_that_is_done_still_runs_for_the_world() -> None:
    async def done(task: TaskContext, stop: asyncio.Event) -> None:
        task.progress.phase = "idle"

    bench = Bench(done)
    bench.start()
    await bench.started.wait()
    await asyncio.sleep(0)
    assert bench.supervisor.runs("shop")
    progress = bench.supervisor.progress("shop")
    assert progress is not None
    assert progress.phase == "idle"
    await bench.supervisor.stop("shop")
    assert bench.failed == []
    assert bench.supervisor.progress("shop") is None


async def test_stop_waits_for_an_orderly_end() -> None:
    order: list[str] = []

    async def orderly(task: TaskContext, stop: asyncio.Event) -> None:
        await stop.wait()
        await asyncio.sleep(0)
        order.append("task over")

    bench = Bench(orderly)
    bench.start()
    await bench.started.wait()
    await bench.supervisor.stop("shop")
    order.append("stop over")
    assert order == ["task over", "stop over"]


async def test_a_task_that_does_not_stop_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def deaf(task: TaskContext, stop: asyncio.Event) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    bench = Bench(deaf, graceful=0)
    bench.start()
    await bench.started.wait()
    await bench.supervisor.stop("shop")
    assert cancelled.is_set()
    assert not bench.supervisor.runs("shop")
    assert bench.failed == []


@pytest.mark.parametrize("problem", [error(ErrorKind.PROTOCOL), RuntimeError("late")])
async def test_an_exception_while_a_task_stops_is_no_failure(problem: Exception) -> None:
    async def raises_at_the_end(task: TaskContext, stop: asyncio.Event) -> None:
        await stop.wait()
        raise problem

    bench = Bench(raises_at_the_end)
    bench.start()
    await bench.started.wait()
    await bench.supervisor.stop("shop")
    assert bench.failed == []


async def test_stop_ends_the_pause_before_the_next_attempt() -> None:
    paused = asyncio.Event()
    bench = Bench(raises(error(ErrorKind.SLOT_BUSY)))

    async def pause(seconds: float, stop: asyncio.Event) -> None:
        paused.set()
        await pause_until(seconds, stop)

    bench.supervisor = Supervisor(bench.run, bench.fail, graceful=5, pause=pause)
    bench.start(RetryPolicy(wait=3600))
    await paused.wait()
    await bench.supervisor.stop("shop")
    assert bench.runs == 1


async def test_stop_all_stops_at_the_same_time() -> None:
    both = asyncio.Barrier(2)

    async def meets(task: TaskContext, stop: asyncio.Event) -> None:
        await stop.wait()
        await both.wait()

    bench = Bench(meets, meets)
    bench.supervisor.start("a", later(context), RetryPolicy())
    bench.supervisor.start("b", later(context), RetryPolicy())
    await bench.until_runs(2)
    await bench.supervisor.stop_all()
    assert not bench.supervisor.runs("a")
    assert not bench.supervisor.runs("b")


async def test_a_second_start_is_a_defect() -> None:
    bench = Bench(until_stop)
    bench.start()
    with pytest.raises(RuntimeError):
        bench.start()
    await bench.supervisor.stop("shop")


def test_trace_has_one_line_for_each_cause_and_no_details() -> None:
    problem = CdcError(ErrorKind.SOURCE_QUERY, "The query failed", "Grant it.")
    problem.__cause__ = ValueError("duplicate key\nDETAIL: Key (email)=(a@b.c) already exists")
    assert describe(problem) == "The query failed. Grant it.\nCaused by: ValueError: duplicate key"


async def test_a_task_s_log_lines_carry_the_connector() -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure("INFO", stream)
    try:
        bench = Bench(until_stop)
        bench.start()
        await bench.started.wait()
        await bench.supervisor.stop("shop")
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    assert 'connector=shop msg="task starting"' in stream.getvalue()
