"""Finds the Java classes of PySpark's expressions once in a process.

PySpark names a class in full or in short for each expression. For a short name, Java first searches all jars for a class of this name
without a package, which takes longer than all else that the expression needs: a literal took 0.5 ms, and 0.24 ms without the search (busy).
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import SparkSession

NAMES: Final = ("functions", "org.apache.spark.sql.functions", "PythonUtils", "PythonSQLUtils")
"""What PySpark 4 asks for in functions and columns. A name that a later version does not use has no effect."""


def remember(session: SparkSession) -> None:
    """Let the process of ``session`` find each of :data:`NAMES`, and each of its functions, once."""
    java: Any = session.sparkContext._jvm  # noqa: SLF001 - PySpark looks its classes up there
    for name in NAMES:
        if name not in vars(java):
            setattr(java, name, _Remembered(getattr(java, name)))


class _Remembered:
    """A class in Java. Its static methods are kept as attributes from their first use on."""

    def __init__(self, java_class: Any) -> None:
        self._java_class = java_class

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._java_class, name)
        setattr(self, name, found)
        return found
