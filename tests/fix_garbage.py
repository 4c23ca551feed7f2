"""Keeps what lives until the end of a run away from the garbage collector.

The tests of a run, the modules that they import and what each test leaves are millions of objects. The collector would go through them
again and again: while they are made, in each of its full runs, and once more when the process ends. Without them the full runs take 2 s of
the fast tests instead of 16, a call of ``gc.collect()`` in a test 2 ms instead of 95, and the end of a process nothing instead of 2 s.
"""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator

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
        # The default of 700 new objects is reached thousands of times.
        gc.set_threshold(20_000)
        gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _what_a_file_leaves_is_garbage_or_stays() -> Iterator[None]:
    """After each file, free its garbage, and let the collector see only what is made later."""
    yield
    gc.collect()
    gc.freeze()
