"""Kubernetes on loopback addresses: an API, and a node that runs pods as processes.

Without containers there is no whole cluster to test on. The API is a stand-in, or Kubernetes' own server where there is one
(:mod:`tests.support.cluster.kube_apiserver`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.support.cluster.api_server import api_server
from tests.support.cluster.kube_apiserver import AUTHORITY, TOKEN, VARIABLE, kube_apiserver
from tests.support.cluster.node import NAMESPACE, node, say

DRIVER = "mirror"
"""The pod that the driver takes for its own."""
EXECUTORS = {"labelSelector": "spark-role=executor"}


@dataclass(frozen=True)
class Cluster:
    """A running cluster. ``spark`` are the settings of a session with two executors."""

    spark: Mapping[str, str]
    api: httpx.Client

    @property
    def master(self) -> str:
        """What Spark's sessions take."""
        return f"k8s://{self.api.base_url}"

    def made(self, kind: str) -> list[dict[str, Any]]:
        """What drivers have created of this kind, such as ``pods``, and nobody has deleted."""
        answer = self.api.get(f"{NAMESPACE}/{kind}", params=EXECUTORS).raise_for_status()
        found: list[dict[str, Any]] = answer.json()["items"]
        return found

    @property
    def full(self) -> list[int]:
        """What :meth:`busy` is while such a session runs."""
        return [1, 1]

    def busy(self) -> list[int]:
        """For each executor's pod whether it runs. A pod that has ended may stay."""
        return [int(pod["status"]["phase"] not in ("Succeeded", "Failed")) for pod in self.made("pods")]


@contextmanager
def kubernetes_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster without executors, within the block. It has a pod in which the driver could run."""
    programs = os.environ.get(VARIABLE)
    settings = {
        "spark.kubernetes.container.image": "spark",
        "spark.kubernetes.driver.pod.name": DRIVER,
        "spark.executor.instances": "2",
    }
    with ExitStack() as stack:
        if programs:
            api = stack.enter_context(kube_apiserver(Path(programs), folder / "api"))
            settings["spark.kubernetes.authenticate.caCertFile"] = str(AUTHORITY)
            settings["spark.kubernetes.authenticate.oauthToken"] = TOKEN
        else:
            api = stack.enter_context(httpx.Client(base_url=stack.enter_context(api_server()), timeout=60))
        spec = {"nodeName": "elsewhere", "containers": [{"name": "mirror", "image": "understudy"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": DRIVER}, "spec": spec}
        api.post(f"{NAMESPACE}/pods", json=pod).raise_for_status()
        say(api, pod, "Running", {"running": {}})
        stack.enter_context(node(api, folder / "node"))
        yield Cluster(settings, api)
