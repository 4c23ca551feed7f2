"""Commits that another process makes to a table at the same time: the errors that they cause, and the repetition of the statement."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

TRIES: Final = 5
"""How often a statement is run. Each time it sees the other commit; a process commits seldom enough that a few times suffice."""
_CONFLICT: Final = re.compile(
    r"\bDELTA_(?:CONCURRENT_[A-Z_]+|METADATA_CHANGED|PROTOCOL_CHANGED)\b"
    r"|\bio\.delta\.exceptions\.(?:Concurrent\w+|MetadataChanged|ProtocolChanged)Exception\b"
    r"|\borg\.apache\.iceberg\.exceptions\.(?:CommitFailed|Validation)Exception\b"
)


def is_conflict(error: Exception) -> bool:
    """Whether another commit prevented this one, which has therefore changed nothing."""
    return isinstance(error, PySparkException | Py4JJavaError) and _CONFLICT.search(str(error)) is not None


def repeated(work: Callable[[], None], tries: int = TRIES) -> None:
    """Run ``work``, which is safe to repeat, again while other commits prevent it, ``tries`` times in all. Then raise the last error."""
    for left in reversed(range(tries)):
        try:
            work()
        except (PySparkException, Py4JJavaError) as error:
            if not left or not is_conflict(error):
                raise
        else:
            return
