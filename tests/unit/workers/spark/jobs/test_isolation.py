"""Which failures set a table aside, and that the others of its batch are applied."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.errors import PySparkException

from workers.spark.failure import UNREADABLE, JobError, TableError, failure_sentence, is_own
from workers.spark.jobs.isolation import Isolation, of_table
from workers.spark.tables.table import Effects, Sink
from workers.spark.topics.known import TopicState

OVERFLOW = "[TASK_WRITE_FAILED] SQLSTATE: 58030\nCaused by: [NUMERIC_VALUE_OUT_OF_RANGE] The value 77 does not fit. SQLSTATE: 22003"


class Files:
    folder = "/c"

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.removed: list[str] = []

    def listed(self, folder: str) -> list[str]:
        assert folder == "/c/dead-letters"
        return self.names

    def remove(self, path: str) -> None:
        self.removed.append(path)


class FailingSink:
    """Refuses the tables in ``reasons``; ``seen`` has the tables of each call."""

    def __init__(self, **reasons: JobError) -> None:
        self.reasons = reasons
        self.seen: list[list[str]] = []

    def apply(self, batch: int, effects: Sequence[Effects]) -> None:
        del batch
        self.seen.append([one.table.full_name for one in effects])
        for one in effects:
            if one.table.full_name in self.reasons:
                raise self.reasons[one.table.full_name]


def effects(*names: str) -> list[Effects]:
    return [cast(Effects, SimpleNamespace(table=SimpleNamespace(full_name=name))) for name in names]


def applied(sink: FailingSink, *names: str, files: Files | None = None) -> dict[str, str]:
    return Isolation(files or Files()).apply(cast(Sink, sink), 1, effects(*names))


def test_other_tables_are_applied_without_those_that_fail() -> None:
    sink = FailingSink(b=TableError("b", "b is bad."), d=TableError("d", "d is bad."))
    assert applied(sink, "a", "b", "c", "d") == {"b": "b is bad", "d": "d is bad"}
    assert sink.seen == [["a", "b", "c", "d"], ["a", "c", "d"], ["a", "c"]]


def test_failure_of_the_place_stops_the_job() -> None:
    with pytest.raises(JobError, match="no room"):
        applied(FailingSink(b=JobError(UNREADABLE, "no room")), "a", "b")
    # A table that is not in the batch: the program would never end.
    with pytest.raises(TableError):
        applied(FailingSink(b=TableError("x", "x is bad.")), "a", "b")


def test_without_files_the_first_failure_is_raised() -> None:
    with pytest.raises(TableError):
        Isolation(None).apply(cast(Sink, FailingSink(b=TableError("b", "bad"))), 1, effects("a", "b"))
    with pytest.raises(TableError):
        Isolation(None).planned(lambda: fail(TableError("b", "bad")), "b", lambda why: why)
    assert Isolation(None).refusal(lambda: fail(TableError("b", "bad"))) is None
    assert Isolation(None).clear({}) == []


def fail(error: Exception) -> Any:
    raise error


def test_plan_of_a_table_that_cannot_be_read_has_a_reason_without_values() -> None:
    files = Isolation(Files())
    why = files.planned(lambda: fail(PySparkException(OVERFLOW)), "s.b", lambda why: why)
    assert why == "The changes of s.b could not be read: Spark stopped with NUMERIC_VALUE_OUT_OF_RANGE"
    with pytest.raises(PySparkException, match="58030"):
        files.planned(lambda: fail(PySparkException("[TASK_WRITE_FAILED] SQLSTATE: 58030")), "s.b", lambda why: why)
    assert files.refusal(lambda: fail(JobError(UNREADABLE, "no row."))) == "no row"
    assert files.refusal(lambda: 1) is None


def test_dead_letters_of_topics_that_came_back_are_removed() -> None:
    files = Files("topic=a", "topic=b", "topic=c", "_SUCCESS")
    gone = Isolation(files).clear({"a": TopicState(aside="why"), "b": TopicState()})
    assert gone == ["b", "c"]
    assert files.removed == ["/c/dead-letters/topic=b", "/c/dead-letters/topic=c"]


@pytest.mark.parametrize(
    ("trace", "own"),
    [
        (OVERFLOW, True),
        ("[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] secret SQLSTATE: 22023", True),
        ("[UNRESOLVED_COLUMN] SQLSTATE: 42703", True),
        ("[TASK_WRITE_FAILED] SQLSTATE: 58030", False),
        ("[SPARK_JOB_CANCELLED] SQLSTATE: XXKDA", False),
        ("java.lang.OutOfMemoryError: heap", False),
    ],
)
def test_sqlstate_says_whether_a_failure_is_the_table_s_own(trace: str, own: bool) -> None:
    assert is_own(trace) is own
    assert "secret" not in failure_sentence(trace)


def test_error_of_a_table_names_it() -> None:
    with pytest.raises(TableError) as raised, of_table("s.b"):
        raise PySparkException(OVERFLOW)
    assert (raised.value.table, raised.value.code) == ("s.b", UNREADABLE)
