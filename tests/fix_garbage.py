"""Keeps the collected tests away from the garbage collector.

The tests of a run and the modules that they import are a million objects that live until its end. The collector would go through them again
and again: while they are made, in each of its full runs, and once more when the process ends. Without them a call of ``gc.collect()`` in a
test takes 2 ms instead of 95, and the end of a process nothing instead of 2 s.
"""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without the collector, and let it see only what is made later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
