"""Polls for events without a notification: a file, a port, a state."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(look: Callable[[], T | None], what: str | Callable[[], str], seconds: float = 120.0, pause: float = 0.02) -> T:
    """The first result of ``look`` that is neither None nor False.

    ``look`` is called at once and then every ``pause`` seconds. Its exceptions are not caught. Raises TimeoutError that names ``what``
    after ``seconds``. If ``what`` is a function, it is called only then.
    """
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found is not None and found is not False:
            return found
        if time.monotonic() >= deadline:
            raise TimeoutError(f"Waited {seconds:g} s in vain for {what if isinstance(what, str) else what()}")
        time.sleep(pause)
