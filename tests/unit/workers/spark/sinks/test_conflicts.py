"""Commits of another process: which errors are repeated, and how often."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from pyspark.errors import AnalysisException, PySparkException

from workers.spark.sinks.conflicts import is_conflict, repeated

# The beginnings of the errors as Delta 4.4.0 and Iceberg 1.11.0 raise them through PySpark 4.1.1.
CONFLICTS = [
    "[DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT] Transaction conflict detected.",
    "[DELTA_METADATA_CHANGED] MetadataChangedException: The metadata of the Delta table has been changed by a concurrent update.",
    "io.delta.exceptions.ConcurrentAppendException: x",
    "org.apache.iceberg.exceptions.ValidationException: Cannot commit, missing data files: [a.parquet]",
    "org.apache.iceberg.exceptions.CommitFailedException: x",
]


@pytest.mark.parametrize("text", CONFLICTS)
def test_conflicts_are_known(text: str) -> None:
    assert is_conflict(PySparkException(text))
    assert not is_conflict(ValueError(text))


@pytest.mark.parametrize(
    "text", ["[TABLE_OR_VIEW_NOT_FOUND] x", "org.apache.iceberg.exceptions.NoSuchTableException: x", "[DELTA_TABLE_NOT_FOUND] x"]
)
def test_other_errors_are_no_conflicts(text: str) -> None:
    tries = []

    def fail() -> None:
        tries.append(text)
        raise AnalysisException(text)

    assert not is_conflict(AnalysisException(text))
    with pytest.raises(AnalysisException):
        repeated(fail)
    assert len(tries) == 1


@pytest.mark.parametrize(("conflicts", "runs"), [(0, 1), (2, 3)])
def test_a_statement_is_repeated_until_it_succeeds(conflicts: int, runs: int) -> None:
    tries: list[int] = []

    def work() -> None:
        tries.append(len(tries))
        if len(tries) <= conflicts:
            raise PySparkException(CONFLICTS[0])

    repeated(work, 3)
    assert len(tries) == runs


def test_the_last_conflict_is_raised() -> None:
    tries: list[int] = []

    def work() -> None:
        tries.append(len(tries))
        raise PySparkException(f"{CONFLICTS[0]} {len(tries)}")

    with pytest.raises(PySparkException, match=r"3$"):
        repeated(work, 3)
    assert len(tries) == 3
