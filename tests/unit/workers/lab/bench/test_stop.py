"""A measurement ends on request, with its servers."""

from __future__ import annotations

import signal

import pytest

from workers.lab.bench.stop import stoppable


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_block_is_interrupted_and_the_handlers_come_back(number: signal.Signals) -> None:
    former = signal.getsignal(number)
    cleaned: list[str] = []

    def interrupted() -> None:
        with stoppable():
            try:
                signal.raise_signal(number)
                cleaned.append("not interrupted")
            finally:
                cleaned.append("servers stopped")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert cleaned == ["servers stopped"]
    assert signal.getsignal(number) is former
