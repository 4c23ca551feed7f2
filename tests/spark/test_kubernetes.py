"""Mirrors whose executors are pods of Kubernetes: their driver is killed, or an executor, or no executor can be made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.cluster.api_server import api_server
from tests.support.cluster.killed_driver import need_java, outlive_a_killed_driver
from tests.support.cluster.kubernetes import DRIVER, Cluster, kubernetes_cluster
from tests.support.cluster.node import NAMESPACE
from tests.support.cluster.s3_server import PASSWORD, object_store
from tests.support.spark.log_broker import Broker, broker
from tests.support.spark.spark_command import QUICK, SECONDS, started
from tests.support.spark.topic_log import TopicLog
from workers.quickstart.embedded.wait import wait_until

if TYPE_CHECKING:
    from tests.fix_pg import PgServer

__all__ = ["broker"]
pytestmark = pytest.mark.long


def names(cluster: Cluster) -> set[str]:
    return {each["metadata"]["name"] for kind in ("pods", "configmaps") for each in cluster.made(kind)}


@pytest.mark.pg(">= 18")
async def test_mirror_on_kubernetes_outlives_its_driver(broker: Broker, pg: PgServer, tmp_path: Path) -> None:
    need_java()
    with object_store(tmp_path) as store, kubernetes_cluster(tmp_path) as cluster:
        made: list[dict[str, Any]] = []

        def look() -> None:
            made.extend(cluster.made("pods") + cluster.made("configmaps"))

        await outlive_a_killed_driver(cluster, store, broker, pg, tmp_path, "sparkpods", look)
        # They go with the driver's pod, and only the driver tells the executors the settings of [spark].
        assert [each["metadata"]["ownerReferences"][0]["name"] for each in made] == [DRIVER] * 3
        assert PASSWORD not in repr(made)
        # The drivers that ended in order have deleted what they created.
        wait_until(lambda: names(cluster) == {each["metadata"]["name"] for each in made}, "the end of the last executors", SECONDS)


async def test_executor_that_is_lost_is_replaced(broker: Broker, tmp_path: Path) -> None:
    need_java()
    log = await filled(broker)
    with kubernetes_cluster(tmp_path) as cluster:
        settings = {**cluster.spark, "spark.executor.instances": "1", "spark.executor.memory": "512m"}
        async with started("mirror", "--config", configured(tmp_path, broker, log, cluster.master, settings)) as mirror:
            assert (await mirror.line("batch")).startswith("batch 0: 1 records of 1 tables"), mirror.said
            [lost] = cluster.made("pods")
            cluster.api.delete(f"{NAMESPACE}/pods/{lost['metadata']['name']}").raise_for_status()
            log.change("u", {"id": 1, "name": "changed"})
            await broker.write(log)
            assert (await mirror.line("batch")).startswith("batch 1: 1 records of 1 tables"), mirror.said
            wait_until(
                lambda: [pod["metadata"]["labels"]["spark-exec-id"] for pod in cluster.made("pods")] == ["2"], "another one", SECONDS
            )


async def test_executors_that_do_not_start_are_reported(broker: Broker, tmp_path: Path) -> None:
    need_java()
    log = await filled(broker)
    settings = {"spark.scheduler.maxRegisteredResourcesWaitingTime": "1s", "spark.starvation.timeout": "1s"}
    with api_server() as url:
        async with started("mirror", "--config", configured(tmp_path, broker, log, f"k8s://{url}", settings)) as mirror:
            for text in ("ExecutorPodsSnapshotsStoreImpl: ", "TaskSchedulerImpl: Initial job has not accepted any resources"):
                while text not in mirror.said:
                    await mirror.line("")
            [first, *_] = [line for line in mirror.said.splitlines() if "ExecutorPods" in line]
            assert first.endswith("Must specify the executor container image"), mirror.said
            assert "\tat " not in mirror.said


async def filled(broker: Broker) -> TopicLog:
    """A topic with one row."""
    log = TopicLog(None, topic=f"{uuid4().hex}.public.items")
    await broker.create(log)
    log.change("r", {"id": 1, "name": "read"})
    await broker.write(log)
    return log


def configured(folder: Path, broker: Broker, log: TopicLog, master: str, settings: Mapping[str, str]) -> str:
    config = folder / "mirror.toml"
    lines = "\n".join(f'"{name}" = "{value}"' for name, value in {"spark.driver.host": "127.0.0.1", **QUICK, **settings}.items())
    config.write_text(
        f"""
        name = "sparkpods"
        bootstrap = "{broker.bootstrap}"
        prefix = "{log.topic.partition(".")[0]}"
        checkpoint = "{folder}/checkpoint"
        master = "{master}"
        [sink]
        path = "{folder}/tables"
        [spark]
        {lines}
        """,
        encoding="utf-8",
    )
    return str(config)
