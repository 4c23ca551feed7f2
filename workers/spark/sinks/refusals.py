"""The errors of sinks that cannot read or write a table: one sentence with the place and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from workers.spark.failure import UNREADABLE, JobError, TableError, failure_sentence, is_own
from workers.spark.tables.table import Table

_FILES: Final = re.compile(
    r"\b(?:org\.apache\.spark\.sql\.delta|java\.io|java\.nio\.file|java\.net|org\.apache\.hadoop(?:\.\w+)+|org\.apache\.iceberg\.exceptions|com\.amazonaws(?:\.\w+)*"
    r"|software\.amazon\.awssdk(?:\.\w+)*|com\.google\.cloud(?:\.\w+)*|com\.azure(?:\.\w+)*)\.(\w+Exception)\b"
)
"""Exceptions of file systems, object stores and Iceberg's catalogs. Only their names are reported, because their texts may hold values."""
_NO_CLASS: Final = re.compile(r"\bClassNotFoundException: Class ([\w.$]+) not found")


def vanished(table: Table, place: str) -> JobError:
    """The failure of a sink that does not find a table which earlier batches have filled."""
    return JobError(
        UNREADABLE,
        f"The table {place} is gone, though earlier batches have filled it: made again it would hold new rows only. "
        f"Put it back, or start once with --rebuild {table.full_name}.",
    )


@contextmanager
def placed(table: Table, place: str) -> Iterator[None]:
    """Convert failures of the table's storage to a JobError, and those of its data or columns to a TableError.

    Both name the table and the place. Other errors pass unchanged.
    """
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        why = _of_files(str(error))
        if why is None and is_own(str(error)):
            said = f"The table {table.full_name} could not be written at {place}: {failure_sentence(str(error))}"
            raise TableError(table.full_name, said) from None
        if why is None:
            raise
        raise _unreadable(table, place, why) from None
    except OSError as error:
        # Of a file that the driver itself reads or writes.
        raise _unreadable(table, place, type(error).__name__) from None


def _unreadable(table: Table, place: str, why: str) -> JobError:
    return JobError(
        UNREADABLE,
        f"The table {table.full_name} could not be read or written at {place} ({why}). Check that this place is there, has room and "
        "may be written to.",
    )


def _of_files(trace: str) -> str | None:
    """The failure of a file system that the trace names; None for other failures."""
    if "org.apache.kafka" in trace or "[MALFORMED_RECORD" in trace:
        return None
    lacking = _NO_CLASS.search(trace)
    if lacking is not None:
        return f"Spark has no {lacking[1]}, see spark.jars in [spark]"
    found = _FILES.findall(trace)
    return str(found[-1]) if found else None
