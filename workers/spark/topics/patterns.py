"""Which topics a job reads: one pattern (Java's) of whole names, made in one place.

Spark searches a name for its pattern, Kafka's consumer and everything here match whole names: :func:`whole` makes both the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from workers.spark.failure import WRONG, JobError


def of_topic(name: str) -> str:
    """The pattern of this one topic, whatever characters its name has."""
    return re.escape(name)


def of_prefix(prefix: str) -> str:
    """The pattern of all topics under a ``topic.prefix``, which is meant literally: ``x`` reads ``x.public.film``, not ``xy.public.film``.

    A prefix that continues another one with a dot cannot be told from a schema: ``x`` also reads ``x.y.public.film``.
    """
    return re.escape(prefix) + r"\..+"


def either(*patterns: str) -> str:
    """A pattern of the names that one of ``patterns`` matches."""
    return "|".join(f"(?:{pattern})" for pattern in patterns)


def whole(pattern: str) -> str:
    """``pattern`` for readers that search for it: it matches nothing but whole names."""
    return f"^(?:{pattern})$"


def matching(spark: SparkSession, pattern: str, names: Iterable[str]) -> list[str]:
    """Those of ``names`` that ``pattern`` matches as a whole, in order. Java is asked, since Java's patterns are not Python's.

    Raises JobError(WRONG) when Java cannot read the pattern.
    """
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no other way to Java's patterns
    try:
        # By itself: "a)|(b" would be one between the brackets of whole().
        jvm.java.util.regex.Pattern.compile(pattern)
    except IllegalArgumentException as error:
        # PatternSyntaxException, as PySpark passes it on: what and where, then the pattern.
        where = str(error).splitlines()[0]
        raise JobError(WRONG, f"topics is {pattern!r}, which Java cannot read as a pattern: {where}. Correct it.") from None
    compiled = jvm.java.util.regex.Pattern.compile(whole(pattern))
    return [name for name in names if compiled.matcher(name).find()]
