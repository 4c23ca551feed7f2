"""A node of Kubernetes without containers: it runs each pod of Spark as a process, as the entry point of Spark's image would.

The pod's processes have no environment but the pod's, and no files but its volumes and the classes of the PySpark wheel.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from signal import Signals
from typing import Any

import httpx
import pyspark

from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until
from workers.spark.session import find_java

ADDRESS = "127.0.0.1"
NAMESPACE = "/api/v1/namespaces/default"
JARS = Path(pyspark.__file__).parent / "jars"
OPTION = "SPARK_JAVA_OPT_"
Pod = dict[str, Any]


@dataclass(frozen=True)
class Running:
    """A pod and its process."""

    pod: Pod
    process: Process


class Node:
    """Runs all pods of the default namespace. No scheduler divides them among several nodes."""

    def __init__(self, api: httpx.Client, folder: Path) -> None:
        self._api = api
        self._folder = folder
        self._running: dict[str, Running] = {}
        """By the pods' names."""
        self.ending = threading.Event()

    def run(self) -> None:
        """Serve pods until the node ends. Their processes end with it."""
        version = ""
        try:
            while not self.ending.is_set():
                for event in self._events(version):
                    version = event["object"]["metadata"]["resourceVersion"]
                    self._see(event["type"], event["object"])
                for name, each in list(self._running.items()):
                    if not each.process.running:
                        self._ended(name, each.process.stop())
        finally:
            for each in self._running.values():
                each.process.stop(Signals.SIGTERM)

    def _events(self, version: str) -> Iterator[dict[str, Any]]:
        """What happens within a second; after that it is time to look at the processes."""
        asked = {"watch": "true", "timeoutSeconds": "1", "resourceVersion": version}
        with self._api.stream("GET", f"{NAMESPACE}/pods", params=asked) as answer:
            answer.raise_for_status()
            yield from map(json.loads, filter(None, answer.iter_lines()))

    def _see(self, what: str, pod: Pod) -> None:
        name = pod["metadata"]["name"]
        if what == "DELETED":
            if name in self._running:
                self._running.pop(name).process.stop(Signals.SIGTERM)
        elif "deletionTimestamp" in pod["metadata"]:
            if name in self._running:
                self._ended(name, self._running[name].process.stop(Signals.SIGTERM, seconds=30))
                self._api.request("DELETE", f"{NAMESPACE}/pods/{name}", json={"gracePeriodSeconds": 0}).raise_for_status()
        elif "nodeName" not in pod["spec"]:
            target = {"apiVersion": "v1", "kind": "Node", "name": "here"}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
            self._api.post(f"{NAMESPACE}/pods/{name}/binding", json=binding).raise_for_status()
            self._running[name] = Running(pod, self._started(pod))
            say(self._api, pod, "Running", {"running": {"startedAt": _now()}})

    def _started(self, pod: Pod) -> Process:
        name, [container] = pod["metadata"]["name"], pod["spec"]["containers"]
        assert container["args"] == ["executor"], container
        mounted = self._mounted(pod, container)
        fields = {"status.podIP": ADDRESS, "metadata.name": name}
        environment = {}
        for variable in container["env"]:
            source = variable.get("valueFrom")
            value = fields[source["fieldRef"]["fieldPath"]] if source else variable.get("value", "")
            for place, folder in mounted.items():
                value = value.replace(place, str(folder))
            environment[variable["name"]] = value
        options = sorted((key for key in environment if key.startswith(OPTION)), key=lambda key: int(key.removeprefix(OPTION)))
        memory = environment["SPARK_EXECUTOR_MEMORY"]
        arguments = {
            "driver-url": "SPARK_DRIVER_URL",
            "executor-id": "SPARK_EXECUTOR_ID",
            "cores": "SPARK_EXECUTOR_CORES",
            "app-id": "SPARK_APPLICATION_ID",
            "hostname": "SPARK_EXECUTOR_POD_IP",
            "resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
            "podName": "SPARK_EXECUTOR_POD_NAME",
        }
        command = [find_java(), *(environment[key] for key in options), f"-Xms{memory}", f"-Xmx{memory}"]
        command += ["-cp", f"{environment['SPARK_CONF_DIR']}:{JARS}/*"]
        command += ["org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"]
        command += [part for argument, key in arguments.items() for part in (f"--{argument}", environment[key])]
        work = self._folder / name
        work.mkdir()
        return Process(command, work / "log", environment=environment)

    def _mounted(self, pod: Pod, container: dict[str, Any]) -> dict[str, Path]:
        """The folders of the pod's volumes, by the places that the container has them at."""
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        mounted = {}
        for mount in container["volumeMounts"]:
            folder = self._folder / "volumes" / pod["metadata"]["uid"] / mount["name"]
            folder.mkdir(parents=True)
            mounted[mount["mountPath"]] = folder
            match volumes[mount["name"]]:
                case {"configMap": {"name": name} as wanted}:
                    # Spark may create it after the pods.
                    found = wait_until(partial(self._config_map, name), f"the configmap {name}")
                    for item in wanted.get("items") or [{"key": key, "path": key} for key in found]:
                        (folder / item["path"]).write_text(found[item["key"]], encoding="utf-8")
                case {"emptyDir": _}:
                    pass
                case other:
                    raise AssertionError(f"A volume that the node does not have: {other}")
        return mounted

    def _config_map(self, name: str) -> dict[str, str] | None:
        answer = self._api.get(f"{NAMESPACE}/configmaps/{name}")
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        found: dict[str, str] = answer.raise_for_status().json()["data"]
        return found

    def _ended(self, name: str, code: int) -> None:
        pod = self._running.pop(name).pod
        say(self._api, pod, "Failed" if code else "Succeeded", {"terminated": {"exitCode": code % 256, "finishedAt": _now()}})


def say(api: httpx.Client, pod: Pod, phase: str, state: dict[str, Any]) -> None:
    """Report the phase of a pod and the state of its container."""
    runs = phase == "Running"
    [container] = pod["spec"]["containers"]
    told = {"name": container["name"], "image": container["image"], "imageID": "", "ready": runs, "restartCount": 0, "state": state}
    ready = {"type": "Ready", "status": str(runs)}
    status = {"phase": phase, "podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}], "conditions": [ready], "containerStatuses": [told]}
    address, content = f"{NAMESPACE}/pods/{pod['metadata']['name']}/status", json.dumps({"status": status})
    api.patch(address, content=content, headers={"Content-Type": "application/merge-patch+json"}).raise_for_status()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def node(api: httpx.Client, folder: Path) -> Iterator[None]:
    """A node that takes all pods, within the block. It fails at the end of the block if it failed before."""
    folder.mkdir()
    here, failures = Node(api, folder), list[BaseException]()

    def run() -> None:
        try:
            here.run()
        except BaseException as failure:  # noqa: BLE001 - it is the block's
            failures.append(failure)

    thread = threading.Thread(target=run, name="node", daemon=True)
    thread.start()
    try:
        yield
    finally:
        here.ending.set()
        thread.join()
    for failure in failures:
        raise failure
