"""Whether Spark compiles code for a batch, or walks its expressions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

COMPILED: Final = 100_000
"""From so many records of one topic on, code is worth its making.

A batch of twenty tables, 200 records of each, took 106 s with code and 84 s without (2 cores, busy); 50,000 records of one table took
11.6 s and 10.5 s.
"""
WALKED: Final = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""The settings of a session whose plans are small and run once."""
_COMPILED: Final = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}


@contextmanager
def compiled(spark: SparkSession, records: int) -> Iterator[None]:
    """The session compiles in the block if a topic has so many ``records`` in the batch; else it does what it was set to."""
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
