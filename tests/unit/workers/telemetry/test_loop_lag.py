from __future__ import annotations

import asyncio

from workers.telemetry.loop_lag import INTERVAL_S, LoopLag


async def test_a_timer_that_is_late() -> None:
    now = [100.0]
    lag = LoopLag(lambda: now[0])
    lag.start()
    # The timer is due at 100.05 and comes at 100.25.
    now[0] += INTERVAL_S + 0.2
    # Timers run in the order in which they are due.
    await asyncio.sleep(INTERVAL_S)
    assert round(lag.histogram.sum, 6) == 0.2
    assert round(lag.recent.largest(now[0]), 6) == 0.2
    # The next one is in time.
    now[0] += INTERVAL_S
    await asyncio.sleep(INTERVAL_S)
    assert lag.histogram.count == 2
    assert round(lag.histogram.sum, 6) == 0.2
    timer = lag._timer
    lag.stop()
    assert timer is not None
    assert timer.cancelled()


def test_one_that_never_began_ends() -> None:
    LoopLag().stop()
