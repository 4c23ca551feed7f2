"""The checkpoints of Delta's logs are written beside the batches; without Spark."""

from __future__ import annotations

import threading
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from py4j.protocol import Py4JError
from pyspark import SparkContext

from workers.quickstart.embedded.wait import wait_until
from workers.spark.sinks.delta.checkpoints import COMMITS, Checkpoints
from workers.spark.tables.table import Table


class Held:
    """A table with so many commits. Its checkpoint lasts until ``end`` is set, and fails if ``fails`` is."""

    def __init__(self, commits: int, *, fails: bool = False) -> None:
        self.commits = commits
        self.begun, self.end, self.done = threading.Event(), threading.Event(), threading.Event()
        self._fails = fails

    @property
    def files(self) -> Any:
        return self

    def checkpoint(self) -> None:
        self.begun.set()
        assert self.end.wait(30)
        self.done.set()
        if self._fails:
            raise Py4JError("no such method")


def named(*held: Held) -> list[tuple[Table, Held]]:
    return [(Table("s", f"t{at}", (), ()), one) for at, one in enumerate(held)]


def test_a_batch_does_not_wait() -> None:
    checkpoints, known = Checkpoints(), named(first := Held(COMMITS), second := Held(COMMITS + 1), Held(COMMITS - 1))
    checkpoints.write(known)
    # The one with most commits, and one in each batch for so few tables.
    assert second.begun.wait(30)
    assert (first.commits, second.commits) == (COMMITS, 0)
    # While it is being written, no other one is begun.
    checkpoints.write(known)
    assert first.commits == COMMITS
    second.end.set()
    assert second.done.wait(30)

    def taken() -> bool:
        checkpoints.write(known)
        return first.commits == 0

    wait_until(taken, "the next one")
    assert first.begun.wait(30)
    first.end.set()


@pytest.mark.parametrize("active", [True, False])
def test_failures_are_reported_while_the_session_is_open(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, active: bool
) -> None:
    monkeypatch.setattr(SparkContext, "_active_spark_context", object() if active else None)
    checkpoints, failing, last = Checkpoints(), Held(COMMITS, fails=True), Held(COMMITS)
    failing.end.set()
    last.end.set()
    checkpoints.write(named(failing))

    def done() -> bool:
        checkpoints.write(named(Held(0), last))
        return last.done.is_set()

    wait_until(done, "the next one")
    assert ("The checkpoint of the log of table s.t0 failed with Py4JError" in caplog.text) == active
