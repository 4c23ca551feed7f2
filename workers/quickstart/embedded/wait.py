"""Polls for events without a notification: a file, a port, a state."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

SHORTEST: Final = 0.02
LONGEST: Final = 0.1
GROWTH: Final = 1.2


def wait_until(look: Callable[[], T | None], what: str | Callable[[], str], seconds: float = 120.0, pause: float | None = None) -> T:
    """The first result of ``look`` that is neither None nor False.

    ``look`` is called at once and then every ``pause`` seconds. Without ``pause`` it is called again after 0.02 seconds, and then ever more
    rarely, at last every 0.1 seconds; a state that is soon over needs a pause. The exceptions of ``look`` are not caught. Raises
    TimeoutError that names ``what`` after ``seconds``. If ``what`` is a function, it is called only then.
    """
    deadline = time.monotonic() + seconds
    rest = SHORTEST if pause is None else pause
    while True:
        found = look()
        if found is not None and found is not False:
            return found
        if time.monotonic() >= deadline:
            raise TimeoutError(f"Waited {seconds:g} s in vain for {what if isinstance(what, str) else what()}")
        time.sleep(rest)
        if pause is None:
            # A look often costs a request, and the server that is waited for its answer.
            rest = min(rest * GROWTH, LONGEST)
