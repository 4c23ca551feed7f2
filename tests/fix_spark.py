"""A local Spark session for tests, one for the whole run; without a Java that Spark runs on, its tests are skipped and say why."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that the jobs use, with all jars; they are fetched once, into the project's cache."""
    # Imported here, because this file must also load without PySpark.
    pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")
    from workers.spark.failure import JobError  # noqa: PLC0415
    from workers.spark.jars import GROUPS, jars_of  # noqa: PLC0415
    from workers.spark.session import find_java, jar_folder, open_session  # noqa: PLC0415

    try:
        java = find_java()
    except JobError as error:
        pytest.skip(str(error))
    # What a test makes in Spark's own catalog would else lie in the folder that the tests run in.
    settings = {
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.local.dir": str(tmp_path_factory.mktemp("local")),
        # Tests have tables of a few files: with one task for a table's log in place of two, batches of Delta take 9 % less CPU time.
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    # Only a test with an object store needs those of S3; it has a session of its own.
    jars = jars_of(java, jar_folder(), [group for group in GROUPS if group != "s3"])
    session = open_session("tests", java, jars, settings=settings)
    with pytest.MonkeyPatch.context() as patch:
        _close_sockets(patch)
        yield session
    session.stop()


def _close_sockets(patch: pytest.MonkeyPatch) -> None:
    """PySpark leaves the sockets it reads results from to the garbage collector, which warns; these close with the file on them."""
    from pyspark import util  # noqa: PLC0415

    connect = util.local_connect_and_auth

    def connected(*where: object) -> tuple[object, socket.socket]:
        file, channel = connect(*where)
        # The file counts as a user: the socket itself stays open until the file is closed.
        channel.close()
        return file, channel

    patch.setattr(util, "local_connect_and_auth", connected)
