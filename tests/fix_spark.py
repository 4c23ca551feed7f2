"""A local Spark session for tests, one for the whole run; without a Java that Spark runs on, its tests are skipped and say why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session that the jobs use, without Kafka's jars."""
    # Not at the top: the other tests' fixtures load this file where PySpark is not installed.
    pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'embedded')")
    from workers.spark.failure import JobError  # noqa: PLC0415
    from workers.spark.session import find_java, open_session  # noqa: PLC0415

    try:
        java = find_java()
    except JobError as error:
        pytest.skip(str(error))
    session = open_session("tests", java)
    yield session
    session.stop()
