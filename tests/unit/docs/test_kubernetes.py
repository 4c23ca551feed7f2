"""The manifests are valid by Kubernetes' own schemas, fit each other, and configure a worker."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import pytest
import yaml

from connector.config.validation import validate
from tests.support.each_case import each_case
from tests.support.project import DOCS, ROOT
from tests.unit.test_requirements import stages
from workers.secret_stores.kubernetes import KubernetesStore
from workers.settings.worker_settings import WorkerSettings, worker_properties

FOLDER: Final = DOCS / "kubernetes"
CUSTOM: Final = {"Kustomization", "ServiceMonitor"}
"""Kinds without a schema among Kubernetes' own."""
LABELS: Final = {"app.kubernetes.io/name": "understudy"}


def documents() -> Iterator[tuple[str, Any]]:
    for file in sorted(FOLDER.glob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            yield file.name, document


MANIFESTS: Final = {document["kind"]: document for _, document in documents()}


def container() -> Any:
    [found] = MANIFESTS["Deployment"]["spec"]["template"]["spec"]["containers"]
    return found


@each_case("version", ["1.30", "1.37"])
@each_case(("name", "document"), list(documents()))
def test_a_manifest_has_the_form_of_its_kind(name: str, document: Any, version: str) -> None:
    if document["kind"] in CUSTOM:
        assert document["apiVersion"] in {"kustomize.config.k8s.io/v1beta1", "monitoring.coreos.com/v1"}, name
    else:
        kubernetes_validate.validate(document, version, strict=True)


def test_a_misspelled_field_would_be_found() -> None:
    wrong = json.loads(json.dumps(MANIFESTS["Deployment"]).replace("readinessProbe", "readynessProbe"))
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, "1.37", strict=True)


def test_all_manifests_are_applied() -> None:
    assert sorted(MANIFESTS["Kustomization"]["resources"]) == sorted({name for name, _ in documents()} - {"kustomization.yaml"})
    page = (DOCS / "kubernetes.md").read_text(encoding="utf-8")
    assert [name for name, _ in documents() if f"(kubernetes/{name})" not in page] == []


def test_the_image_is_the_project_s_version() -> None:
    [image] = MANIFESTS["Kustomization"]["images"]
    assert image["name"] == container()["image"]
    assert f'version = "{image["newTag"]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_everything_selects_the_pods() -> None:
    deployment = MANIFESTS["Deployment"]["spec"]
    assert deployment["selector"]["matchLabels"] == deployment["template"]["metadata"]["labels"] == LABELS
    assert MANIFESTS["Service"]["spec"]["selector"] == LABELS
    assert MANIFESTS["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == LABELS
    assert MANIFESTS["ServiceMonitor"]["spec"]["selector"]["matchLabels"] == MANIFESTS["Service"]["metadata"]["labels"]
    [port] = MANIFESTS["Service"]["spec"]["ports"]
    [scraped] = MANIFESTS["ServiceMonitor"]["spec"]["endpoints"]
    assert (scraped["port"], port["targetPort"], scraped["path"]) == (port["name"], container()["ports"][0]["name"], "/metrics")


def test_the_pods_are_restricted() -> None:
    pod = MANIFESTS["Deployment"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert f"USER {pod['securityContext']['runAsUser']}" in stages()["runtime"][1]
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_account_may_read_what_the_page_says() -> None:
    assert MANIFESTS["Role"]["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [MANIFESTS["Secret"]["metadata"]["name"]], "verbs": ["get"]}
    ]
    assert MANIFESTS["RoleBinding"]["roleRef"]["name"] == MANIFESTS["Role"]["metadata"]["name"]
    [subject] = MANIFESTS["RoleBinding"]["subjects"]
    pod = MANIFESTS["Deployment"]["spec"]["template"]["spec"]
    assert subject["name"] == pod["serviceAccountName"] == MANIFESTS["ServiceAccount"]["metadata"]["name"]
    assert pod["automountServiceAccountToken"]


def test_a_worker_starts_with_the_properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / Path(container()["args"][1]).name
    file.write_text(MANIFESTS["ConfigMap"]["data"][file.name])
    [variable] = container()["env"]
    monkeypatch.setenv(variable["name"], "10.1.2.3")
    settings = WorkerSettings.from_properties(worker_properties(file, {}))
    assert (settings.ignored, settings.unknown) == ((), ())
    assert settings.worker_id == f"10.1.2.3:{container()['ports'][0]['containerPort']}"
    assert [listener.port for listener in settings.http.listeners] == [container()["ports"][0]["containerPort"]]
    assert isinstance(settings.secrets.providers["secrets"].store, KubernetesStore)
    assert "${secrets:shop-db:password}" in (FOLDER / "secret.yaml").read_text(encoding="utf-8")
    assert settings.graceful_shutdown < MANIFESTS["Deployment"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]


def test_probes_ask_for_the_worker_s_health() -> None:
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container()[probe]["httpGet"] == {"path": "/health", "port": "http"}
    start = container()["startupProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] == 600


def test_a_resource_of_strimzi_becomes_the_body_of_the_page() -> None:
    page = (DOCS / "kubernetes.md").read_text(encoding="utf-8")
    [(resource, body)] = re.findall(
        r"<!-- strimzi: resource -->\n```yaml\n(.*?)```.*?<!-- strimzi: body -->\n```json\n(.*?)```", page, re.DOTALL
    )
    spec = yaml.safe_load(resource)["spec"]
    config = {"connector.class": spec["class"], "tasks.max": spec["tasksMax"], **spec["config"]}
    assert {key: str(value) for key, value in config.items()} == json.loads(body)
    assert [field.name for field in validate(json.loads(body) | {"name": "shop"}).fields if field.errors] == []
