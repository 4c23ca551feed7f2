"""Decides whether Spark compiles code for a batch or interprets its expressions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

COMPILED: Final = 100_000
"""From this number of records of one topic on, compiled code is faster.

A batch of twenty tables, 200 records of each, took 106 s with code and 84 s without (2 cores, busy); 50,000 records of one table took
11.6 s and 10.5 s.
"""
WALKED: Final = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""The settings of a session whose plans are small and run once."""
_COMPILED: Final = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}


@contextmanager
def compiled(spark: SparkSession, records: int) -> Iterator[None]:
    """Let the session compile within the block if a topic has enough ``records`` in the batch; else its settings stay."""
    if records < COMPILED:
        yield
        return
    former = {name: spark.conf.get(name) for name in _COMPILED}
    for name, value in _COMPILED.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in former.items():
            spark.conf.set(name, str(known))
