"""Which of ``make test-fast``, ``make test`` and ``make test-long`` runs a test.

Two marks decide. ``server`` is set here, on each test that asks for a fixture which starts a server or a JVM; a test that
starts one by itself sets it at its own place. ``long`` is set by hand on a test that repeats at length what another test
proves in short or that proves an edge of a feature, and by ``fix_pg`` on the runs of a test on further PostgreSQL servers.

| target | runs |
|---|---|
| ``test-fast`` | neither ``server`` nor ``long``; property tests with a fifth of their examples |
| ``test`` | the same, then ``server`` without ``long`` |
| ``test-long`` | ``long``, and the property tests once more with all their examples |
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator
from typing import Final

import pytest
from hypothesis import settings

from tests.support.project import TESTS
from workers.quickstart.embedded.watch import watched

SERVERS: Final = frozenset(
    {"pg", "kafka", "kafka_bootstrap", "secured_kafka", "spark", "jvm", "connect_runtime", "pg_release", "schema_registry"}
)
"""Fixtures that start a server or a JVM; the others that do so ask for one of these."""

# No deadlines: how long an example takes says nothing on a machine with other work.
settings.register_profile("full", settings(), max_examples=100, deadline=None)
settings.register_profile("fast", settings(), max_examples=20, deadline=None)
# A run without a profile, of a single file: no test may depend on the machine's speed.
settings.register_profile("default", settings(), deadline=None)
settings.load_profile("default")


FAST: Final = "unit"
"""The folder that `make test-fast` collects. All tests of other folders count as tests on servers, so that it need not collect them."""


LENGTHY: Final = (
    "faults/test_incremental_kill.py",
    "integration/workers/test_takeover.py",
    "faults/test_kill.py",
    "faults/test_exactly_once_kill.py",
    "integration/workers/test_demo.py",
    "parity/test_parity.py",
    "integration/connector/test_parallel_snapshot.py",
    "integration/workers/test_kafka_security.py",
    "integration/workers/test_many_workers.py",
    "integration/workers/test_console_browser.py",
    "integration/tutorials/test_unwrap.py",
    "contract/console/test_browser.py",
    "integration/connector/test_event_value.py",
    "integration/workers/test_killed_run.py",
)
"""The files that take longest, which begin first: a process that began one late would work on it alone while the others have ended.

xdist's own order is by the number of tests, and the longest files have few.
"""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--no-loadscope-reorder``, put the lengthy files first, then the others, those with most tests first."""
    if config.getoption("loadscopereorder", default=True):
        return
    files = [str(item.path.relative_to(TESTS)) if item.path.is_relative_to(TESTS) else "" for item in items]
    count, place = Counter(files), {file: number for number, file in enumerate(LENGTHY)}
    order = sorted(range(len(items)), key=lambda at: (place.get(files[at], len(place)), -count[files[at]], files[at], at))
    items[:] = [items[at] for at in order]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """The processes of ``test-fast``: one more than cores, since 20 of its 95 s in one process are waits for sockets and other processes.

    On two cores a process more takes 51 to 55 s instead of 56 to 62; with two more, the collection of their tests costs what they save.
    """
    return (os.cpu_count() or 1) + 1


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test that needs a server."""
    if not item.path.is_relative_to(TESTS):
        return  # A test that a test has written.
    folder = item.path.relative_to(TESTS).parts[0]
    needs = isinstance(item, pytest.Function) and not SERVERS.isdisjoint(item.fixturenames)
    if needs and folder == FAST:
        raise pytest.UsageError(f"{item.nodeid} needs a server: move it to another folder, since `make test` looks for none here")
    if needs or folder != FAST:
        item.add_marker("server")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Reports travel between processes as UTF-8, which has no lone surrogates; some tests print them."""
    report = yield
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    return report


@pytest.fixture(scope="session", autouse=True)
def _no_server_outlives_the_tests() -> Iterator[None]:
    """The servers end also if pytest is killed."""
    with watched():
        yield
