"""A mirror on a standalone cluster of two workers. Its checkpoint and its tables are on an object store; its driver is killed once."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.cluster.s3_server import ObjectStore, object_store
from tests.support.cluster.standalone import Cluster, standalone_cluster
from tests.support.spark.log_broker import Broker, broker
from tests.support.spark.spark_command import QUICK, QUICK_JAVA, SECONDS, command, started
from tests.support.spark.topic_log import TopicLog
from workers.quickstart.embedded.wait import wait_until
from workers.spark.failure import JobError
from workers.spark.session import find_java

if TYPE_CHECKING:
    from tests.fix_pg import PgServer

__all__ = ["broker"]
pytestmark = [pytest.mark.pg(">= 18"), pytest.mark.long]

ROWS = 24


def configured(folder: Path, cluster: Cluster, store: ObjectStore, broker: Broker, dsn: str, more: str = "") -> str:
    config = folder / "mirror.toml"
    here = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.executor.memory": "512m"}
    java = {"spark.executor.extraJavaOptions": f"-XX:+UseSerialGC {QUICK_JAVA}"}
    settings = {**store.spark, **QUICK, **java, **here}
    lines = "\n".join(f'"{name}" = "{value}"' for name, value in settings.items())
    config.write_text(
        f"""
        name = "sparkcluster"
        bootstrap = "{broker.bootstrap}"
        prefix = "sparkcluster"
        checkpoint = "s3a://{store.bucket}/checkpoint"
        dsn = "{dsn}"
        master = "{cluster.master}"
        {more}
        [sink]
        path = "s3a://{store.bucket}/tables"
        [spark]
        {lines}
        """,
        encoding="utf-8",
    )
    return str(config)


async def test_mirror_on_a_cluster_outlives_its_driver(broker: Broker, pg: PgServer, tmp_path: Path) -> None:
    try:
        find_java()
    except JobError as error:
        pytest.skip(str(error))
    database = pg.database("sparkcluster")
    database.execute(
        "create table items(id int primary key, name text)",
        f"insert into items select n, 'changed ' || n from generate_series(2, {ROWS}) n where n % 3 <> 0",
    )
    log = TopicLog(None, topic="sparkcluster.public.items")
    await broker.create(log)
    for number in range(1, ROWS + 1):
        log.change("r", {"id": number, "name": f"read {number}"})
    await broker.write(log)
    with ExitStack() as stack:
        store = stack.enter_context(object_store(tmp_path))
        cluster = stack.enter_context(standalone_cluster(tmp_path))
        config = configured(tmp_path, cluster, store, broker, database.dsn)
        async with started("mirror", "--config", config) as mirror:
            assert (await mirror.line("batch")).startswith(f"batch 0: {ROWS} records of 1 tables"), mirror.said
            # Each worker runs an executor.
            assert cluster.busy() == [1, 1]
            for number in range(1, ROWS + 1):
                row = {"id": number, "name": f"changed {number}"}
                log.change("d" if number % 3 == 0 or number == 1 else "u", row)
            await broker.write(log)
            # The batch is planned and has not ended.
            wait_until(lambda: store.names("checkpoint/stream/offsets/1"), "the second batch", SECONDS)
            assert not store.names("checkpoint/stream/commits/1")
            mirror.kill()
            await mirror.end()
        wait_until(lambda: cluster.busy() == [0, 0], "the end of the killed driver's executors", SECONDS)
        ending = configured(tmp_path, cluster, store, broker, database.dsn, 'trigger = "available-now"')
        code, said = await command("mirror", "--config", ending)
        assert code == 0, said
        assert any(line.startswith("batch 1: ") for line in said.splitlines()), said
        code, said = await command("verify", "--config", config, "--json")
        assert code == 0, said
        [verdict] = json.loads(said[said.index("{") :])["tables"]
        assert verdict["rows"] == {"source": 15, "mirror": 15, "same": 15}, verdict
