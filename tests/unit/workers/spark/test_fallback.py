"""What is reported of a small batch that took the way of large ones; without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from py4j.protocol import Py4JError, Py4JJavaError

from workers.spark.fallback import Fallbacks, reason_of


def java(*names: str) -> Py4JJavaError:
    """Java's error of these classes; each is caused by the next one."""
    cause = None
    for name in reversed(names):
        cause = SimpleNamespace(
            getClass=lambda name=name: SimpleNamespace(getName=lambda: name),
            getCause=lambda cause=cause: cause,
            _target_id="o1",
            _gateway_client=None,
        )
    return Py4JJavaError("secret value 4711", cause)


def test_reason_is_the_class_of_the_innermost_error() -> None:
    assert reason_of(Py4JError("secret value 4711")) == "Py4JError"
    assert reason_of(java("java.lang.RuntimeException", "java.lang.NoSuchMethodError")) == "java.lang.NoSuchMethodError"


def test_each_reason_is_reported_once_for_a_table(caplog: pytest.LogCaptureFixture) -> None:
    fallbacks, before = Fallbacks("The commit of rows"), Fallbacks.total
    for table in ("s.a", "s.a", "s.b"):
        fallbacks.report(table, java("java.lang.NoSuchMethodError"))
    fallbacks.report("s.a", TypeError("secret value 4711"))
    assert Fallbacks.total - before == 4
    assert caplog.messages == [
        "The commit of rows of table s.a failed with java.lang.NoSuchMethodError: they take the slower way",
        "The commit of rows of table s.b failed with java.lang.NoSuchMethodError: they take the slower way",
        "The commit of rows of table s.a failed with TypeError: they take the slower way",
    ]


def test_another_process_that_was_first_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    before = Fallbacks.total
    Fallbacks("The commit of rows").report("s.a", java("java.lang.RuntimeException", "java.nio.file.FileAlreadyExistsException"))
    assert caplog.messages == []
    assert Fallbacks.total == before
