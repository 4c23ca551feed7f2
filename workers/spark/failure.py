"""The error that ends a job, with its exit code."""

from __future__ import annotations

import re
from typing import Final

WRONG: Final = 2
NO_JAVA: Final = 3
UNREADABLE: Final = 4
FAULT: Final = 70
"""The exit code of a defect (sysexits.h, EX_SOFTWARE). Python's own code for an uncaught error, 1, means that tables differ."""


class JobError(Exception):
    """A failure: one sentence and its remedy. ``code`` is the process's exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def failure_sentence(trace: str) -> str:
    """A sentence for Spark's trace, without the values that it quotes: Kafka's message or the name of Spark's error condition."""
    kafka = re.findall(r"org\.apache\.kafka\.[\w.]*Exception: ([^\n]+)", trace)
    if kafka:
        return f"Kafka could not be read: {kafka[-1].rstrip('.')}. Check bootstrap and [kafka] in the configuration."
    condition = re.search(r"\[([A-Z][A-Z_]*(?:\.[A-Z_]+)?)\]", trace)
    java = re.findall(r"\b[a-z]\w*(?:\.\w+)*\.(\w+(?:Exception|Error))\b", trace)
    name = condition[1] if condition else java[-1] if java else "an unknown error"
    if name.startswith("MALFORMED_RECORD"):
        return "An event holds a value of another type than its schema, or without one the source's table now, has for the column."
    return f"Spark stopped with {name}."
