"""Mirrors equal their source after a random workload on twenty tables, with the worker and Spark killed meanwhile.

The whole of it, 200,000 changes with five kills each, is ``python -m tests.support.spark.kill_run``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector
from tests.support.spark.kill_rig import KillRig

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.failure import JobError
from workers.spark.session import find_java
from workers.spark.sinks.delta_commit import ENGINE

pytestmark = [pytest.mark.pg_once, pytest.mark.long]

SEED = 20_261_122


def commits(folder: Path) -> Iterator[str]:
    return (path.read_text(encoding="utf-8") for path in folder.rglob("_delta_log/*.json"))


@pytest.mark.parametrize("sink", ["delta"])
async def test_a_mirror_equals_its_source_after_kills(pg: PgServer, worker: Callable[..., Worker], tmp_path: Path, sink: str) -> None:
    try:
        find_java()
    except JobError as error:
        pytest.skip(str(error))
    sys.stdout.write(f"seed {SEED}\n")
    connector = Connector(worker(), pg.database("sparkload"), f"sparkload_{sink}")
    rig = KillRig(pg, connector, tmp_path, seed=SEED, changes=1000, sinks=[sink], batch_records=2000)
    try:
        rig.run(kills=1, rows=20)
        assert await rig.topic_faults() == []
        for mirror in rig.mirrors:
            verified = mirror.verify(seconds=1200)
            assert verified.code == 0, verified.said
    finally:
        rig.close()
    assert rig.spark_kills == 1
    # Small batches were committed without a MERGE, which is the way that a kill could tear.
    assert any(f'"engineInfo":"{ENGINE}"' in commit.replace(" ", "") for commit in commits(tmp_path))
