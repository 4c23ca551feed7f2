"""The topics that a job reads, as one Java pattern for whole names.

Spark searches for the pattern within a name; Kafka's consumer and this module match whole names. :func:`whole` makes both equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from workers.spark.failure import WRONG, JobError


def of_topic(name: str) -> str:
    """The pattern for exactly this topic, whatever characters its name has."""
    return re.escape(name)


def of_prefix(prefix: str) -> str:
    """The pattern for all topics with a literal ``topic.prefix``: ``x`` reads ``x.public.film``, not ``xy.public.film``.

    A prefix that extends another one with a dot cannot be distinguished from a schema: ``x`` also reads ``x.y.public.film``.
    """
    return re.escape(prefix) + r"\..+"


def either(*patterns: str) -> str:
    """A pattern for the names that at least one of ``patterns`` matches."""
    return "|".join(f"(?:{pattern})" for pattern in patterns)


def whole(pattern: str) -> str:
    """``pattern`` for readers that search within names: it then matches only whole names."""
    return f"^(?:{pattern})$"


def matching(spark: SparkSession, pattern: str, names: Iterable[str]) -> list[str]:
    """The ``names`` that ``pattern`` matches as a whole, in order. Java matches them, because its patterns differ from Python's.

    Raises JobError(WRONG) when Java cannot read the pattern.
    """
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no other way to Java's patterns
    try:
        # Compiled alone, because "a)|(b" would be valid between the parentheses of whole().
        jvm.java.util.regex.Pattern.compile(pattern)
    except IllegalArgumentException as error:
        # PySpark's text of a PatternSyntaxException: the error and its place, then the pattern.
        where = str(error).splitlines()[0]
        raise JobError(WRONG, f"topics is {pattern!r}, which Java cannot read as a pattern: {where}. Correct it.") from None
    compiled = jvm.java.util.regex.Pattern.compile(whole(pattern))
    return [name for name in names if compiled.matcher(name).find()]
