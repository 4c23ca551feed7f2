from __future__ import annotations

from workers.telemetry.worker_meter import StateShares, WorkerMeter


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def meter(clock: Clock) -> WorkerMeter:
    return WorkerMeter(clock, lambda: int(clock.now * 1000))


def test_shares_of_states() -> None:
    shares = StateShares(100)
    shares.enter("RUNNING", 100)
    assert shares.share("RUNNING", 100) == 1
    shares.enter("PAUSED", 130)
    assert (shares.share("RUNNING", 140), shares.share("PAUSED", 140)) == (0.75, 0.25)


def test_starts_and_failures() -> None:
    clock = Clock()
    counted = meter(clock)
    counted.connector_started()
    counted.connector_started(failed=True)
    counted.task_started("shop")
    counted.task_failed("shop", "internal", at_start=True)
    counted.task_started("shop")
    counted.task_failed("shop", "internal", at_start=False)
    assert (counted.connector_starts, counted.connector_failures, counted.task_starts, counted.task_failures) == (2, 1, 2, 1)


def test_a_task_keeps_its_retries_until_it_is_started_again() -> None:
    clock = Clock()
    counted = meter(clock)
    counted.task_started("shop")
    clock.now = 105.0
    counted.task_retried("shop", "internal")
    assert (counted.tasks["shop"].retries, counted.tasks["shop"].last_error_ms) == (1, 105_000)
    counted.task_started("shop")
    assert (counted.tasks["shop"].retries, counted.tasks["shop"].last_error_ms) == (0, 0)
    counted.forget("shop")
    assert counted.tasks == {}


def test_a_rebalance_lasts_from_the_first_join_to_the_assignment() -> None:
    clock = Clock()
    counted = meter(clock)
    assert not counted.rebalancing
    counted.joining()
    clock.now = 101.0
    counted.joining()
    assert counted.rebalancing
    clock.now = 102.5
    counted.joined()
    assert (counted.rebalances, counted.rebalancing, counted.rebalanced_at) == (1, False, 102.5)
    assert counted.rebalance_ms.average(clock.now) == 2500
