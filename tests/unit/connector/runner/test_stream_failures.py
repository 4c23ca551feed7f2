"""A stream whose server, catalog, Kafka or offset topic fails at any step, or that is cancelled or killed anywhere, loses nothing."""

from __future__ import annotations

import logging

import pytest
from aiokafka.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    ProducerFenced,
    TopicAuthorizationFailedError,
)

from connector import failpoints
from connector.errors import CdcError, ErrorKind
from tests.support.stream_world import StreamWorld

LOST = CdcError(ErrorKind.SOURCE_CONNECTION_LOST, "lost")
SLOW = CdcError(ErrorKind.SOURCE_TIMEOUT, "slow")
REFUSED = CdcError(ErrorKind.STORE, "refused")

SOURCE = [
    ("frames", LOST, ErrorKind.SOURCE_CONNECTION_LOST),
    ("confirm", LOST, ErrorKind.SOURCE_CONNECTION_LOST),
    ("read_table", SLOW, ErrorKind.SOURCE_TIMEOUT),
    ("read_types", LOST, ErrorKind.SOURCE_CONNECTION_LOST),
    ("slot_xmin", LOST, ErrorKind.SOURCE_CONNECTION_LOST),
    ("read_again", LOST, ErrorKind.SOURCE_CONNECTION_LOST),
    ("load", REFUSED, ErrorKind.STORE),
    ("partitions", KafkaConnectionError(), ErrorKind.SINK_UNREACHABLE),
    ("send", KafkaTimeoutError(), ErrorKind.SINK_UNREACHABLE),
]
CASES = [
    *[(False, *case) for case in SOURCE],
    *[(True, *case) for case in SOURCE],
    (False, "store", REFUSED, ErrorKind.STORE),
    (False, "stored", REFUSED, ErrorKind.STORE),
    (False, "acknowledge", KafkaTimeoutError(), ErrorKind.SINK_UNREACHABLE),
    (False, "acknowledge", MessageSizeTooLargeError(), ErrorKind.SINK_RECORD_TOO_LARGE),
    (False, "acknowledge", TopicAuthorizationFailedError(), ErrorKind.SINK_PERMISSION),
    (True, "begin", KafkaConnectionError(), ErrorKind.SINK_UNREACHABLE),
    (True, "commit", KafkaTimeoutError(), ErrorKind.SINK_UNREACHABLE),
    (True, "committed", KafkaConnectionError(), ErrorKind.SINK_UNREACHABLE),
    (True, "commit", ProducerFenced(), ErrorKind.SINK_FENCED),
]


class KilledError(BaseException):
    """Ends a session at a failpoint."""


def world(*, exactly_once: bool, **properties: str) -> StreamWorld:
    one = StreamWorld(exactly_once=exactly_once, **properties)
    one.write()
    return one


async def recover(one: StreamWorld) -> None:
    """The next start brings what is missing."""
    assert await one.session() is None
    one.check()


@pytest.mark.parametrize("exactly_once", [False, True])
async def test_without_failures_everything_comes_once_and_the_slot_follows(exactly_once: bool) -> None:
    one = world(exactly_once=exactly_once)
    assert await one.session() is None
    assert one.delivered == list(range(1, 12))
    assert one.server.slot == max(end for end, _, _, _ in one.changes)


@pytest.mark.parametrize(("exactly_once", "step", "error", "kind"), CASES)
async def test_a_failure_at_any_call_of_any_step(exactly_once: bool, step: str, error: CdcError | KafkaError, kind: ErrorKind) -> None:
    nth, failed = 0, False
    while True:
        nth += 1
        one = world(exactly_once=exactly_once)
        one.faults.order(step, error, nth)
        problem = await one.session()
        if not one.faults.raised:
            break
        if problem is None:
            assert isinstance(error, MessageSizeTooLargeError), "only a batch of several records is sent again, in parts"
            one.check()
        else:
            assert isinstance(problem, CdcError)
            assert problem.kind is kind
            failed = True
        await recover(one)
    assert failed, "no session takes this step"


@pytest.mark.parametrize(
    ("exactly_once", "point"),
    [
        *[(False, point) for point in ("in-transaction", "after-send", "after-acknowledge", "after-store", "after-confirm")],
        *[(True, point) for point in ("in-transaction", "after-send", "before-commit", "after-commit", "after-store", "after-confirm")],
    ],
)
async def test_a_crash_at_any_failpoint(exactly_once: bool, point: str) -> None:
    nth, ended, killed = 0, 0, [point]

    def kill() -> None:
        killed.append(point)
        raise KilledError

    while killed:
        killed.clear()
        nth += 1
        one = world(exactly_once=exactly_once)
        with failpoints.armed(point, kill, nth):
            problem = await one.session()
        if killed and problem is None:
            # The stop of the session had cancelled the task that stored the offset (since Python 3.12), so the session ended in order.
            assert point == "after-store"
            one.check()
        else:
            assert isinstance(problem, KilledError) == bool(killed)
            ended += bool(killed)
        await recover(one)
    assert ended, "no session gets there"


@pytest.mark.parametrize("exactly_once", [False, True])
async def test_a_cancellation_at_any_turn(exactly_once: bool) -> None:
    one = world(exactly_once=exactly_once)
    assert await one.session() is None
    turns = one.steps
    assert turns > 20
    for turn in range(1, turns):
        one = world(exactly_once=exactly_once)
        await one.session(cancel_after=turn)
        await recover(one)


async def test_a_failure_of_two_concurrent_steps_leaves_no_tasks() -> None:
    one = world(exactly_once=False)
    one.faults.order("frames", LOST, 4)
    one.faults.order("acknowledge", KafkaTimeoutError(), 2)
    assert isinstance(await one.session(), CdcError)
    await recover(one)


async def test_a_confirmation_that_is_not_taken_in_time_fails_the_task_where_asked() -> None:
    one = world(exactly_once=False, lsn_flush_timeout_ms="2000", lsn_flush_timeout_action="fail")
    one.server.stuck = True
    # Records must wait, or the session would be over before.
    one.kafka.held = True
    problem = await one.session()
    assert isinstance(problem, CdcError)
    assert problem.kind is ErrorKind.SOURCE_TIMEOUT
    assert "slot debezium within 2000 ms" in problem.message
    one.server.stuck = one.kafka.held = False
    await recover(one)


async def test_a_confirmation_that_is_not_taken_in_time_is_a_warning_where_asked(caplog: pytest.LogCaptureFixture) -> None:
    one = world(exactly_once=False, lsn_flush_timeout_ms="2000", lsn_flush_timeout_action="warn")
    one.server.stuck = True
    with caplog.at_level(logging.WARNING):
        assert await one.session() is None
    assert "confirmation timed out" in caplog.messages
    one.check()
    assert one.server.slot == 0


@pytest.mark.parametrize(("step", "error", "nth"), [("frames", LOST, 6), ("acknowledge", KafkaTimeoutError(), 3)])
async def test_the_stream_advances_through_failures_in_quick_succession(step: str, error: Exception, nth: int) -> None:
    one = world(exactly_once=False, heartbeat_interval_ms="0")
    # No session lasts as long as the interval at which the offset is stored.
    one.turn_s = 0.0001
    failed = 0
    one.faults.order(step, error, nth)
    while isinstance(await one.session(), CdcError):
        failed += 1
        assert failed < 6, "each session repeats the same records"
        one.faults.order(step, error, nth)
    assert failed > 1
    one.check()


async def test_a_failure_that_meets_a_silent_offset_topic_ends_the_session_in_time() -> None:
    one = world(exactly_once=False)
    one.offsets.stuck = True
    one.faults.order("frames", LOST, 4)
    problem = await one.session()
    assert isinstance(problem, CdcError)
    assert problem.kind is ErrorKind.SOURCE_CONNECTION_LOST
    assert one.steps < 100
    one.offsets.stuck = False
    await recover(one)


async def test_status_updates_go_on_while_the_offset_is_not_acknowledged() -> None:
    one = world(exactly_once=False)
    one.offsets.stuck = True
    # It never comes, so that only the cancellation ends the session.
    missing = (10**9, 10**9, 1, 99_999)
    one.changes.append(missing)
    await one.session(cancel_after=400)
    # 20 s, and an update every 300 ms.
    assert one.faults.calls["confirm"] > 40
    assert one.server.slot == 0
    one.offsets.stuck = False
    one.changes.remove(missing)
    await recover(one)


@pytest.mark.parametrize("exactly_once", [False, True])
async def test_bursts_of_one_frame_and_of_all_frames(exactly_once: bool) -> None:
    for burst in (1, 1000):
        one = world(exactly_once=exactly_once)
        one.server.burst = burst
        assert await one.session() is None
        one.check()
