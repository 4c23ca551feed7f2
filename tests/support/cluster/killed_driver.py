"""A mirror on a cluster whose driver is killed in the middle of a batch. Its checkpoint and its tables are on an object store."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

import pytest

from tests.fix_pg import PgServer
from tests.support.cluster.s3_server import ObjectStore
from tests.support.spark.log_broker import Broker
from tests.support.spark.spark_command import QUICK, QUICK_JAVA, SECONDS, command, started
from tests.support.spark.topic_log import TopicLog
from workers.quickstart.embedded.wait import wait_until
from workers.spark.failure import JobError
from workers.spark.session import find_java

ROWS: Final = 24


class Cluster(Protocol):
    """A cluster that runs, on this machine."""

    @property
    def master(self) -> str:
        """What Spark's sessions take."""

    @property
    def spark(self) -> Mapping[str, str]:
        """The settings of a session on it."""

    @property
    def full(self) -> list[int]:
        """What :meth:`busy` is while each machine runs an executor of such a session."""

    def busy(self) -> list[int]:
        """How much runs on each machine: a list of zeros if nothing does."""


def need_java() -> None:
    """Skip the test without a Java that Spark can use."""
    try:
        find_java()
    except JobError as error:
        pytest.skip(str(error))


async def outlive_a_killed_driver(
    cluster: Cluster, store: ObjectStore, broker: Broker, pg: PgServer, folder: Path, name: str, look: Callable[[], None] = lambda: None
) -> None:
    """Kill the driver during its second batch, whose executors then end. The next one repeats the batch, and its tables have the rows.

    ``name`` is that of the mirror, of its database and of its topics. ``look`` is called while the executors run.
    """
    database = pg.database(name)
    database.execute(
        "create table items(id int primary key, name text)",
        f"insert into items select n, 'changed ' || n from generate_series(2, {ROWS}) n where n % 3 <> 0",
    )
    log = TopicLog(None, topic=f"{name}.public.items")
    await broker.create(log)
    for number in range(1, ROWS + 1):
        log.change("r", {"id": number, "name": f"read {number}"})
    await broker.write(log)
    config = _configured(folder / "mirror.toml", name, cluster, store, broker, database.dsn)
    async with started("mirror", "--config", config) as mirror:
        assert (await mirror.line("batch")).startswith(f"batch 0: {ROWS} records of 1 tables"), mirror.said
        assert cluster.busy() == cluster.full
        look()
        for number in range(1, ROWS + 1):
            row = {"id": number, "name": f"changed {number}"}
            log.change("d" if number % 3 == 0 or number == 1 else "u", row)
        await broker.write(log)
        # The batch is planned and has not ended.
        wait_until(lambda: store.names("checkpoint/stream/offsets/1"), "the second batch", SECONDS)
        assert not store.names("checkpoint/stream/commits/1")
        mirror.kill()
        await mirror.end()
    wait_until(lambda: not any(cluster.busy()), "the end of the killed driver's executors", SECONDS)
    ending = _configured(folder / "ending.toml", name, cluster, store, broker, database.dsn, 'trigger = "available-now"')
    code, said = await command("mirror", "--config", ending)
    assert code == 0, said
    assert any(line.startswith("batch 1: ") for line in said.splitlines()), said
    code, said = await command("verify", "--config", config, "--json")
    assert code == 0, said
    [verdict] = json.loads(said[said.index("{") :])["tables"]
    assert verdict["rows"] == {"source": 15, "mirror": 15, "same": 15}, verdict


def _configured(config: Path, name: str, cluster: Cluster, store: ObjectStore, broker: Broker, dsn: str, more: str = "") -> str:
    here = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.executor.memory": "512m"}
    java = {"spark.executor.extraJavaOptions": f"-XX:+UseSerialGC {QUICK_JAVA}"}
    settings = {**store.spark, **QUICK, **java, **here, **cluster.spark}
    lines = "\n".join(f'"{key}" = "{value}"' for key, value in settings.items())
    config.write_text(
        f"""
        name = "{name}"
        bootstrap = "{broker.bootstrap}"
        prefix = "{name}"
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
