"""A mirror on a standalone cluster of two workers. Its checkpoint and its tables are on an object store; its driver is killed once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.cluster.killed_driver import need_java, outlive_a_killed_driver
from tests.support.cluster.s3_server import object_store
from tests.support.spark.log_broker import Broker, broker
from workers.lab.bench.spark_cluster import standalone_cluster

if TYPE_CHECKING:
    from tests.fix_pg import PgServer

__all__ = ["broker"]
pytestmark = [pytest.mark.pg(">= 18"), pytest.mark.long]


async def test_mirror_on_a_cluster_outlives_its_driver(broker: Broker, pg: PgServer, tmp_path: Path) -> None:
    need_java()
    with object_store(tmp_path) as store, standalone_cluster(tmp_path) as cluster:
        await outlive_a_killed_driver(cluster, store, broker, pg, tmp_path, "sparkcluster")
