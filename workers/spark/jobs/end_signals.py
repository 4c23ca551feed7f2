"""The signals that end a run after its batch."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def end_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` at SIGINT and SIGTERM in the block. Only the main thread can handle signals; in another one the block has no effect."""

    def end(_number: int, _frame: FrameType | None) -> None:
        stop()

    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    former = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
