"""Mirrors equal their source after a random workload on twenty tables, with the worker and Spark killed meanwhile.

The whole of it, 200,000 changes with five kills each, is ``python -m tests.support.spark.kill_run``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.kill_rig import KillRig
from workers.spark.sinks.delta.log_folder import ENGINE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.pg_once, pytest.mark.long]

SEED = 20_261_122


def commits(folder: Path) -> Iterator[str]:
    return (path.read_text(encoding="utf-8") for path in folder.rglob("_delta_log/*.json"))


@pytest.mark.parametrize("sink", ["delta"])
async def test_a_mirror_equals_its_source_after_kills(
    spark: SparkSession, pg: PgServer, worker: Callable[..., Worker], tmp_path: Path, sink: str
) -> None:
    sys.stdout.write(f"seed {SEED}\n")
    connector = Connector(worker(), pg.database("sparkload"), f"sparkload_{sink}")
    rig = KillRig(pg, connector, tmp_path, seed=SEED, changes=1000, sinks=[sink], batch_records=2000)
    try:
        rig.run(kills=1, rows=20)
        assert await rig.topic_faults() == []
        for mirror in rig.mirrors:
            verified = mirror.verify(1200, spark)
            assert verified.code == 0, verified.said
    finally:
        rig.close()
    assert rig.spark_kills == 1
    # Small batches were committed without a MERGE, which is the way that a kill could tear.
    assert any(f'"engineInfo":"{ENGINE}"' in commit.replace(" ", "") for commit in commits(tmp_path))
