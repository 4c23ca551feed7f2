"""The error that ends a job, with its exit code."""

from __future__ import annotations

import re
from typing import Final

WRONG: Final = 2
NO_JAVA: Final = 3
UNREADABLE: Final = 4
FAULT: Final = 70
"""The exit code of a defect (sysexits.h, EX_SOFTWARE). Python's own code for an uncaught error, 1, means that tables differ."""

_OWN: Final = re.compile(r"\bSQLSTATE: (?:0A|21|22|23|42)[0-9A-Z]{3}\b")
_WRAPPERS: Final = frozenset({"TASK_WRITE_FAILED", "FAILED_EXECUTE_UDF"})
"""Error conditions whose cause is another error condition."""


class JobError(Exception):
    """A failure: one sentence and its remedy. ``code`` is the process's exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class TableError(JobError):
    """A failure that concerns one table alone: other tables can still be written. ``table`` is its name (``schema.name``)."""

    def __init__(self, table: str, message: str) -> None:
        super().__init__(UNREADABLE, message)
        self.table = table


def is_own(trace: str) -> bool:
    """Whether Spark's trace shows an error in the data or the columns of a table, and not in the place that stores it.

    The SQLSTATE says so: its classes are feature not supported, cardinality, data exception, integrity constraint, and syntax or access
    rule (SQL standard; Spark's documentation, "Error Conditions").
    """
    return _OWN.search(trace) is not None


def failure_sentence(trace: str) -> str:
    """A sentence for Spark's trace, without the values that it quotes: Kafka's message or the name of Spark's error condition."""
    kafka = re.findall(r"org\.apache\.kafka\.[\w.]*Exception: ([^\n]+)", trace)
    if kafka:
        return f"Kafka could not be read: {kafka[-1].rstrip('.')}. Check bootstrap and [kafka] in the configuration."
    conditions = re.findall(r"\[([A-Z][A-Z_]*(?:\.[A-Z_]+)?)\]", trace)
    condition = next((name for name in conditions if name not in _WRAPPERS), conditions[0] if conditions else None)
    java = re.findall(r"\b[a-z]\w*(?:\.\w+)*\.(\w+(?:Exception|Error))\b", trace)
    name = condition or (java[-1] if java else "an unknown error")
    if name.startswith("MALFORMED_RECORD"):
        return "An event holds a value of another type than its schema, or without one the source's table now, has for the column."
    return f"Spark stopped with {name}."
